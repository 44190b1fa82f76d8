// The symbols of a build without CUDA: none.
#include "runtime/slots/unpack_symbols.h"

namespace graphtree {

UnpackSymbols LinkedUnpackKernels() { return {}; }

}  // namespace graphtree
