// The native streams that a device made: those in use, and those whose owner is gone but whose work
// may still run.
//
// Destroying a stream never waits, so Close could not wait for work on one that is destroyed: such
// a stream is kept here until it is idle, and destroyed when the next one retires, or by Close. So
// the list stays as short as the work is behind, and the device as a whole is never synchronised.
//
// Threads: safe from all.
#ifndef GRAPHTREE_DEVICE_CUDA_STREAM_ROSTER_H_
#define GRAPHTREE_DEVICE_CUDA_STREAM_ROSTER_H_

#include <mutex>
#include <set>
#include <vector>

#include <cuda_runtime_api.h>

namespace graphtree {

class StreamRoster {
 public:
  void Joined(cudaStream_t stream);
  // Takes the stream over from its owner.
  void Retire(cudaStream_t stream);
  // Waits for every stream in use that is not capturing and for every retired one; destroys those.
  cudaError_t DrainAll();

 private:
  std::mutex mutex_;
  std::set<cudaStream_t> in_use_;
  std::vector<cudaStream_t> retired_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_STREAM_ROSTER_H_
