// Which call used which bytes last.
//
//   |---- 'prefill' in step 3 ----|== 'decode' in step 4 ==|-- 'prefill' in step 3 --|
//
// For checked mode: who wrote over an output that went stale, and when outside memory that is dead
// was last seen alive. So many pieces are kept; when there are more, all is forgotten.
//
// Pure: no lock. Cost: a search in a tree per range.
#ifndef GRAPHTREE_GRAPHS_HISTORY_RANGE_USES_H_
#define GRAPHTREE_GRAPHS_HISTORY_RANGE_USES_H_

#include <cstdint>
#include <map>

#include "device/address.h"
#include "graphs/history/call_stack.h"

namespace graphtree {

struct RangeUse {
  uint32_t function = 0;
  uint64_t step = 0;
  StackId at = 0;
  uint64_t serial = 0;  // counts the notes
};

class RangeUses {
 public:
  explicit RangeUses(size_t most_pieces = 1 << 16) : most_pieces_(most_pieces) {}

  // In place of what was noted of these bytes before.
  void Note(AddressRange range, RangeUse use);
  // The latest of any of these bytes; null if there is none. Good until the next Note.
  const RangeUse* Find(AddressRange range) const;

 private:
  struct Piece {
    Address end = 0;
    RangeUse use;
  };

  // No piece goes on over this address.
  void Split(Address at);

  const size_t most_pieces_;
  uint64_t notes_ = 0;
  std::map<Address, Piece> pieces_;  // by where they begin
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_HISTORY_RANGE_USES_H_
