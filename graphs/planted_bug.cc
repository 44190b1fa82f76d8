// The switch of the library with planted bugs.
#include "graphs/planted_bug.h"

namespace graphtree {

PlantedBug& ThePlantedBug() {
  static PlantedBug bug = PlantedBug::kNone;
  return bug;
}

}  // namespace graphtree
