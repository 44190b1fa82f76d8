// What the CUDA device takes from outside. Nothing below the command line reads the environment.
#ifndef GRAPHTREE_DEVICE_CUDA_CUDA_OPTIONS_H_
#define GRAPHTREE_DEVICE_CUDA_CUDA_OPTIONS_H_

#include <string>

namespace graphtree {

struct CudaOptions {
  // The folder of libnvrtc.so.13; empty: where the system's loader looks, then the toolkit that
  // this program was built with. NVRTC is only loaded when a kernel's source has to be compiled.
  std::string nvrtc_folder = {};
  // Where compiled kernels are kept for later processes; empty: nowhere. It may be shared by
  // processes. One that cannot be written is not an error: kernels are then compiled again.
  std::string kernel_cache_folder = {};
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_CUDA_OPTIONS_H_
