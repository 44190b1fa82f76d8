// The switch of the library with planted bugs.
#include "graphs/run/planted_bug.h"

#include <atomic>

#ifdef GRAPHTREE_PLANTED_BUGS
namespace graphtree {

PlantedBug& ThePlantedBug() {
  static PlantedBug bug = PlantedBug::kNone;
  return bug;
}

bool CameLast(const void* tree) {
  static std::atomic<const void*> last{nullptr};
  const void* const before = last.exchange(tree);
  return before == nullptr || before == tree;
}

}  // namespace graphtree
#endif  // GRAPHTREE_PLANTED_BUGS
