// Which bytes of other people's a body has written so far, each told once.
//
//   step region   |..own..|==shown==|....own....|     only what is shown is somebody's beside it
//   elsewhere     |==============================|     all of it is
//
//   writes   ---------      ------                    Written() returns the parts marked #
//   first    ####     then       ##                   what was written before is not told again
//
// Pure. Cost: a scan of what was told so far for each write.
#ifndef GRAPHTREE_GRAPHS_SPOILT_RANGES_H_
#define GRAPHTREE_GRAPHS_SPOILT_RANGES_H_

#include <vector>

#include "device/address.h"

namespace graphtree {

class SpoiltRanges {
 public:
  // Memory in `own` is the body's unless it is shown.
  explicit SpoiltRanges(AddressRange own) : own_(own) {}

  void Show(AddressRange range) { shown_.push_back(range); }

  // Somebody else has seen to these bytes.
  void NoteSaved(AddressRange range) { told_.push_back(range); }

  // The parts of `range` that are not the body's and were not returned before.
  std::vector<AddressRange> Written(AddressRange range);

 private:
  const AddressRange own_;
  std::vector<AddressRange> shown_;
  std::vector<AddressRange> told_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_SPOILT_RANGES_H_
