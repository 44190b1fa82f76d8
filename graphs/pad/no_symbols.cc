// The symbols of a build without CUDA: none.
#include "graphs/pad/pad_symbols.h"

namespace graphtree {

PadSymbols LinkedPadKernels() { return {}; }

}  // namespace graphtree
