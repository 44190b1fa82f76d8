// The symbols of a build without CUDA: none.
#include "tools/demo_model/kernels/symbols.h"

namespace graphtree::demo {

ModelSymbols LinkedModelKernels() { return {}; }

}  // namespace graphtree::demo
