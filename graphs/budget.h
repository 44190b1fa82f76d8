// How much a tree may hold, by cause. When a budget is full the least valuable thing goes (keep.h),
// never one that is in flight or on the path in force. Everything that goes comes back when it is
// called again:
//
//   budget               full: goes                             comes back by
//   executables, bytes   an executable; its graph stays         instantiating the graph again
//   nodes                a recording with none below it         recording
//   siblings             a recording and those below it         recording
//   shapes               all recordings of a shape              recording, once it is used twice
//                                                               as often as another
//
// A path needs all its own recordings at once. A call for which there is no room beside them runs
// eagerly, with a reason, and is tried again later. Budgets are positive: Tree::Create refuses 0.
#ifndef GRAPHTREE_GRAPHS_BUDGET_H_
#define GRAPHTREE_GRAPHS_BUDGET_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace graphtree {

struct TreeBudget {
  uint64_t nodes = 4096;
  uint64_t executables = 2048;
  uint64_t executable_bytes = uint64_t{1} << 30;  // device memory
  // Recordings of one shape of a function after one node: they differ in addresses and in what is
  // alive. A static input that is written to and may not be patched makes one for each address, up
  // to TreeOptions::rerecord_limit.
  uint64_t siblings = 128;
  // Shapes (combinations of layouts and integers) that may be recorded, of one function and of the
  // tree. Others run eagerly until they have earned the place of one (admission.h): however many
  // come in rotation, churn costs at most a constant factor.
  uint64_t shapes_of_function = 128;
  uint64_t shapes = 1024;
  // After so many calls of the tree a use counts half.
  uint64_t half_life = 4096;
  // A function that is refused because it was recorded too often, because its recordings fail, or
  // because an address that would have to be patched is hidden, is recorded again after so many
  // calls at the latest.
  uint64_t retry_after = 1024;
};

inline absl::Status CheckBudget(const TreeBudget& budget) {
  const struct {
    const char* name;
    uint64_t value;
  } rows[] = {
      {"nodes", budget.nodes},
      {"executables", budget.executables},
      {"executable_bytes", budget.executable_bytes},
      {"siblings", budget.siblings},
      {"shapes_of_function", budget.shapes_of_function},
      {"shapes", budget.shapes},
      {"half_life", budget.half_life},
      {"retry_after", budget.retry_after},
  };
  for (const auto& row : rows) {
    if (row.value > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("making a tree with a budget of 0 ", row.name,
                     ": it could record nothing; set TreeOptions::enabled to false to run "
                     "everything eagerly"));
  }
  return absl::OkStatus();
}

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BUDGET_H_
