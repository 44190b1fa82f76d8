// Which bytes of other people's a body has written so far, each told once.
//
//   own region    |..own..|==shown==|....own....|     only what is shown is somebody's beside it
//   lent region   |..lent.|==shown==|..|==tensor=|     what is shown, and tensors of the tree's
//   elsewhere     |==============================|     all of it is somebody's
//
//   writes   ---------      ------                    Written() returns the parts marked #
//   first    ####     then       ##                   what was written before is not told again
//
// What is lent is foreign code's: it may be free, and somebody else's, before the body is over.
//
// Pure. Cost: a scan of what was told so far for each write.
#ifndef GRAPHTREE_GRAPHS_MEMORY_SPOILT_RANGES_H_
#define GRAPHTREE_GRAPHS_MEMORY_SPOILT_RANGES_H_

#include <vector>

#include "device/address.h"

namespace graphtree {

class SpoiltRanges {
 public:
  explicit SpoiltRanges(AddressRange own, AddressRange lent = {}) : own_(own), lent_(lent) {}

  void Show(AddressRange range) { shown_.push_back(range); }

  // Somebody else has seen to these bytes.
  void NoteSaved(AddressRange range) { told_.push_back(range); }

  // The parts of `range` that are somebody's and were not returned before.
  std::vector<AddressRange> Written(AddressRange range, bool is_trees_tensor = true);

 private:
  const AddressRange own_;
  const AddressRange lent_;
  std::vector<AddressRange> shown_;
  std::vector<AddressRange> told_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_SPOILT_RANGES_H_
