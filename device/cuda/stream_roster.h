// The native streams that a device made: those in use, and those whose owner is gone but whose work
// may still run.
//
// Destroying a native stream does not wait for its work, and Close could not wait for that work
// afterwards. So a stream whose owner is gone is kept here until it is idle, and destroyed when the
// next one retires, or by Close: the list has only streams whose work was yet to run, and the
// device as a whole is never synchronised.
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
