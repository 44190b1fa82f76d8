// The switch of the library with planted bugs.
#include "runtime/slots/planted_bug.h"

#ifdef GRAPHTREE_PLANTED_BUGS
namespace graphtree {

RuntimeBug& TheRuntimeBug() {
  static RuntimeBug bug = RuntimeBug::kNone;
  return bug;
}

}  // namespace graphtree
#endif  // GRAPHTREE_PLANTED_BUGS
