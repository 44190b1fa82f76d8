// The symbols of a build without CUDA: none.
#include "tests/kernels/symbols.h"

namespace graphtree {

TestKernelSymbols LinkedTestKernels() { return {}; }

}  // namespace graphtree
