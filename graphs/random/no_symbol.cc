// The symbol of a build without CUDA: none.
#include "graphs/random/uniform_symbol.h"

namespace graphtree {

const void* LinkedUniformKernel() { return nullptr; }

}  // namespace graphtree
