// Throws, as other people's code does.
#include "tests/outsider/throws.h"

#include <stdexcept>

namespace graphtree::outsider {

void ThrowSomething(int what) {
  if (what % 2 == 0) throw std::runtime_error("the program says so");
  throw what;
}

}  // namespace graphtree::outsider
