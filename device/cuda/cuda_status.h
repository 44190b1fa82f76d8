// Turns what a CUDA call returned into a Status.
//
//   return ToStatus(context.health(), cudaStreamSynchronize(stream),
//                   [&] { return absl::StrCat("waiting for ", name); });
//
// The sentence is only made when the call failed. A code that kills the context marks the device as
// lost. Works for both the Runtime's and the driver's codes: their numbers mean the same.
//
// Cost where all is well: one compare.
#ifndef GRAPHTREE_DEVICE_CUDA_CUDA_STATUS_H_
#define GRAPHTREE_DEVICE_CUDA_CUDA_STATUS_H_

#include <string>
#include <type_traits>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "device/cuda/health.h"

namespace graphtree {

// The failure of a call that was doing `what`, with CUDA's own words; tells `health`. The Runtime
// keeps the code of a failed call as the thread's last error; FailedCall clears that, so that other
// users of the Runtime in this process do not find it.
absl::Status FailedCall(Health& health, int code, bool of_runtime, absl::string_view what);

template <typename Result, typename Describe>
inline absl::Status ToStatus(Health& health, Result result, const Describe& describe) {
  static_assert(std::is_same_v<Result, CUresult> || std::is_same_v<Result, cudaError_t>);
  if (__builtin_expect(result == static_cast<Result>(0), 1)) return absl::OkStatus();
  return FailedCall(health, static_cast<int>(result), std::is_same_v<Result, cudaError_t>,
                    describe());
}

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_CUDA_STATUS_H_
