// Which call used which bytes last.
//
//   |---- 'prefill' in step 3 ----|== 'decode' in step 4 ==|-- 'prefill' in step 3 --|
//
// For checked mode: who wrote over an output that went stale, and when outside memory that is dead
// was last seen alive. When there are `most_pieces` pieces the next note forgets them all.
//
// Pure: no lock. Cost: a search in an ordered map for each range.
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

  // Replaces what was noted of these bytes before.
  void Note(AddressRange range, RangeUse use);
  // The latest use of any of these bytes; null if there is none. Good until the next Note.
  const RangeUse* Find(AddressRange range) const;

 private:
  struct Piece {
    Address end = 0;
    RangeUse use;
  };

  // Cuts the piece that goes over this address in two, if there is one.
  void Split(Address at);

  const size_t most_pieces_;
  uint64_t notes_ = 0;
  std::map<Address, Piece> pieces_;  // by where they begin
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_HISTORY_RANGE_USES_H_
