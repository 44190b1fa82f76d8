// Knows which bytes that a body writes are not the body's own and so must be saved before the
// write. Each byte is told once.
//
//                                                     to be saved:
//   own region    |..own..|==shown==|.....own.....|   ranges that were shown
//   lent region   |..lent.|==shown==|..|==tensor==|   ranges that were shown, the tree's tensors
//   elsewhere     |===============================|   everything
//
//   1st write     |---------|                         Written() returns the bytes marked #:
//                 |#########|                         all of them
//   2nd write          |--------|
//                           |###|                     those that were not written before
//
// Memory in the lent region is foreign code's: it may be freed, and be somebody else's, before the
// body is over.
//
// Pure. Cost: a scan of the ranges that were told so far, for each write.
#ifndef GRAPHTREE_GRAPHS_MEMORY_SPOILT_RANGES_H_
#define GRAPHTREE_GRAPHS_MEMORY_SPOILT_RANGES_H_

#include <vector>

#include "device/address.h"

namespace graphtree {

class SpoiltRanges {
 public:
  explicit SpoiltRanges(AddressRange own, AddressRange lent = {}) : own_(own), lent_(lent) {}

  void Show(AddressRange range) { shown_.push_back(range); }

  // These bytes are saved already.
  void NoteSaved(AddressRange range) { told_.push_back(range); }

  // The parts of `range` that must be saved and were not returned before. `is_trees_tensor`: the
  // write is to a tensor with a storage.
  std::vector<AddressRange> Written(AddressRange range, bool is_trees_tensor = true);

 private:
  const AddressRange own_;
  const AddressRange lent_;
  std::vector<AddressRange> shown_;
  std::vector<AddressRange> told_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_SPOILT_RANGES_H_
