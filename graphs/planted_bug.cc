// The switch of the library with planted bugs.
#include "graphs/planted_bug.h"

#include <atomic>

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
