// Torch's random numbers in a recording: the kernels of a capture read seed and offset from two
// words of the tree's, and each replay takes its piece of torch's own generator, so that numbers
// and the generator's place are those of eager runs.
//
//   call: torch's (seed, offset) --> the tree's generator --> words --> kernels --> offset back
//
// A torch up to 2.11 has one state for a generator, which is exchanged while the capture is open:
// another thread that draws then gets torch's error, as in captures of torch's. A newer one has a
// state for each capture.
//
// Threads: the body's.
#ifndef GRAPHTREE_RUNTIME_TORCH_GENERATOR_H_
#define GRAPHTREE_RUNTIME_TORCH_GENERATOR_H_

#include <cstdint>
#include <memory>

#include <c10/core/Device.h>
#include <c10/cuda/CUDAStream.h>

namespace graphtree::torch_adaptor {

struct RandomPlace {
  uint64_t seed = 0;
  uint64_t offset = 0;
};
RandomPlace TorchRandomPlace(c10::DeviceIndex device);
void SetTorchRandomOffset(c10::DeviceIndex device, uint64_t offset);

// From making to End the device's default generator gives the capture its numbers from the words.
class CapturedRandom {
 public:
  CapturedRandom(c10::DeviceIndex device, uint64_t words, uint64_t offset,
                 c10::cuda::CUDAStream stream);
  ~CapturedRandom();
  CapturedRandom(const CapturedRandom&) = delete;
  CapturedRandom& operator=(const CapturedRandom&) = delete;

  // How many numbers the capture took.
  uint64_t End();

 private:
  struct State;
  const c10::DeviceIndex device_;
  const uint64_t offset_;
  std::unique_ptr<State> state_;
};

}  // namespace graphtree::torch_adaptor

#endif  // GRAPHTREE_RUNTIME_TORCH_GENERATOR_H_
