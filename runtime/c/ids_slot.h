// A slot for programs of tests and benches: "ids", words of i32, one row for each token.
#ifndef GRAPHTREE_RUNTIME_C_IDS_SLOT_H_
#define GRAPHTREE_RUNTIME_C_IDS_SLOT_H_

#include <cstdint>

#include "runtime/c/graphtree.h"

namespace graphtree::c {

// At most `*most` of them, which lives as long as the slot.
inline gt_slot IdsSlot(const int64_t* most) {
  gt_slot slot = GT_INIT(gt_slot);
  slot.name = "ids";
  slot.dtype = GT_I32;
  slot.rank = 1;
  slot.sizes = most;
  slot.rows = GT_TOKENS;
  return slot;
}

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_IDS_SLOT_H_
