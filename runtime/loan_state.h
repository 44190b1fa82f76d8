// What a loan and its lane both have: whoever ends it first frees the block.
#ifndef GRAPHTREE_RUNTIME_LOAN_STATE_H_
#define GRAPHTREE_RUNTIME_LOAN_STATE_H_

#include <mutex>

#include "allocator/ids.h"
#include "device/address.h"
#include "graphs/tree.h"
#include "runtime/lending.h"
#include "runtime/watch/lane_watch.h"

namespace graphtree {

struct LoanState {
  // Any thread.
  void End();
  bool is_over();

  // Set by Lend.
  LoanUntil until = LoanUntil::kNextStep;
  AddressRange range;
  BlockId block;
  std::shared_ptr<LaneWatch> watch;
  std::mutex mutex;
  Tree* tree = nullptr;  // guarded by mutex; null: over
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_LOAN_STATE_H_
