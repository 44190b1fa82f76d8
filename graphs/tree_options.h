// How a tree is to behave.
#ifndef GRAPHTREE_GRAPHS_TREE_OPTIONS_H_
#define GRAPHTREE_GRAPHS_TREE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "graphs/budget.h"
#include "graphs/moving.h"

namespace graphtree {

class SharedBudget;
class SharedBytes;

struct TreeOptions {
  // Device memory that the tree may use, for what it records and for runs at once; 0: as much as
  // the device has. A run that lacks some has what recordings hold (match/given_up.h).
  uint64_t pool_bytes = 0;
  // A limit on device memory for several trees together: all that are given the same object. Null:
  // pool_bytes alone limits this tree.
  std::shared_ptr<SharedBytes> shared_bytes = nullptr;
  // How much of that is mapped when the tree is made, as far as the device has so much then
  // (PoolStats::initial_shortfall).
  uint64_t initial_bytes = 0;
  // False: every call runs eagerly, with the same results.
  bool enabled = true;
  // So many times a function may be recorded again after one node. A recording that is made because
  // a static input moved, and that takes the input at any address, does not count. Beyond the limit
  // the function runs eagerly there.
  uint64_t rerecord_limit = 128;
  // An input of the caller's with at least so many bytes for each op that takes it is patched into
  // those ops when it moves; a smaller one is copied by the graph's first op.
  uint64_t patch_bytes = kDefaultPatchBytes;
  // When the patched addresses of a recording went back to where they were before, in so many
  // replays in a row, the recording gets a second executable, if the budget has room: the two take
  // turns and are not patched. 0: never.
  uint64_t spare_after = 4;
  // Bytes of outputs that are kept beyond their step at a time; 0: no limit. A call that would need
  // more is an error.
  uint64_t kept_bytes = 0;
  // The tree may allocate so many bytes in each run of a function beyond what the body asked for:
  // room behind tensors that earlier runs have padded (Launcher::Pad); 0: none. Room that a body
  // asks for does not count.
  uint64_t pad_room_bytes = uint64_t{64} << 20;
  // How much the tree may hold (budget.h).
  TreeBudget budget = {};
  // A budget for several trees together: all that are given the same object. May be null.
  std::shared_ptr<SharedBudget> shared_budget = nullptr;
  // A function that comes in more shapes than this is warned of, once.
  uint64_t shape_warn_limit = 8;
  // So many runs of one function in a row may ask for another warm-up; then it is left eager until
  // a run does not ask. If strict, every call of the function is an error from then on: it is not
  // run any more, so no run can show that it has settled.
  uint64_t warm_up_limit = 16;
  // A call that cannot be recorded is an error instead of an eager run.
  bool strict = false;
  // Checked mode, which waits for the device in every call. An eager run or a warm-up that changes
  // an input without declaring it is warned of (an error if strict), and the input counts as
  // mutated from then on. Memory of the caller's that is gone is an error that names it, before
  // anything is launched on it. A failure of the device names the function in which it happened,
  // and the op: a GPU does not say which, so there it is one of those that the error names. A body
  // that gives an op another value when it is recorded than in the run before, or launches other
  // ops, is warned of (an error if strict): it computes on the host what no replay computes. These
  // errors, and those of stale outputs, come with call stacks (call_stack.h): both ends of what
  // went wrong.
  bool check = false;
  // In checked mode: the first replay of a recording that writes to nothing of its caller's is
  // compared with two runs of its body on the same inputs, as far as these two leave the same
  // bytes. A difference is warned of (an error if strict). A body that changes variables of the
  // program does so twice more then. Functions that break are not compared.
  bool compare_replays = false;
  // FunctionOptions::skip_varying_sizes for all functions.
  bool skip_varying_sizes = false;
  // Called with each warning, once per function and reason. May be empty. An exception of it is
  // caught and counted (TreeStats::thrown).
  std::function<void(const std::string&)> warn = {};
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_TREE_OPTIONS_H_
