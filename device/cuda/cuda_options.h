// Options of the CUDA device. They come from the command line: nothing below reads the environment.
#ifndef GRAPHTREE_DEVICE_CUDA_CUDA_OPTIONS_H_
#define GRAPHTREE_DEVICE_CUDA_CUDA_OPTIONS_H_

#include <string>

namespace graphtree {

struct CudaOptions {
  // The folder of libnvrtc.so.13; empty: where the system's loader looks, then the toolkit that
  // this program was built with. NVRTC is only loaded when a kernel's source has to be compiled.
  std::string nvrtc_folder = {};
  // The folder where compiled kernels are kept for later processes; empty: nowhere. Processes may
  // share a folder. A folder that cannot be written is no error: kernels are then compiled again.
  std::string kernel_cache_folder = {};
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_CUDA_OPTIONS_H_
