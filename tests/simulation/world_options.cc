// Which tree a program is run with: its seed decides.
#include "graphs/budget.h"
#include "graphs/tree.h"
#include "tests/simulation/world.h"

namespace graphtree::simulation {
namespace {

// Every third seed has little room, so that what it recorded goes and comes back.
TreeBudget BudgetFor(uint32_t seed) {
  if (seed % 3 != 0) return {};
  return {.nodes = 4 + seed % 4,
          .executables = 1 + seed / 3 % 4,
          .executable_bytes = uint64_t{400} << 10,
          .siblings = 1 + seed % 2,
          .shapes_of_function = 1 + seed % 2,
          .shapes = 3,
          .half_life = 8,
          .retry_after = 4};
}

}  // namespace

bool HasLittleMemory(uint32_t seed) { return seed % 8 == 5; }

TreeOptions OptionsFor(const Program& program) {
  TreeOptions options;
  options.pool_bytes = HasLittleMemory(program.seed) ? (uint64_t{1} + program.seed / 8 % 3) << 21
                                                     : uint64_t{64} << 20;
  options.budget = BudgetFor(program.seed);
  if (program.patches_all) options.patch_bytes = 1;
  // Executables take turns as soon as they can.
  options.spare_after = program.seed % 4 == 1 ? 2 : 1;
  return options;
}

}  // namespace graphtree::simulation
