// The CUDA device's options as the environment gives them to the command line: the library itself
// reads no environment.
//
//   GRAPHTREE_NVRTC          the folder of libnvrtc.so.13
//   GRAPHTREE_KERNEL_CACHE   where compiled kernels are kept, "" for nowhere; without it
//                            $XDG_CACHE_HOME/graphtree/kernels or ~/.cache/graphtree/kernels
#ifndef GRAPHTREE_TOOLS_VERBS_CUDA_ENVIRONMENT_H_
#define GRAPHTREE_TOOLS_VERBS_CUDA_ENVIRONMENT_H_

#include "device/cuda/cuda_options.h"

namespace graphtree {

CudaOptions CudaOptionsOfEnvironment();

}  // namespace graphtree

#endif  // GRAPHTREE_TOOLS_VERBS_CUDA_ENVIRONMENT_H_
