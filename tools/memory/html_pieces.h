// HtmlPieces: which address ranges an allocator held from the driver, and when.
//
//   segment_alloc [0, 8)      |########|            one piece, from event 1 on
//   segment_unmap [2, 4)      |##|  |####|          ends it at event 5; two pieces from there on
//   held at the end [20, 24)                |####|  no event made it: it was there before
//
// Events come in order; then comes what is held at the end. A range that is released or held though
// no event made it belongs to a piece from before the history. Pure; not thread-safe; a step costs
// the logarithm of the pieces that are open, and the pieces that it touches.
#ifndef GRAPHTREE_TOOLS_MEMORY_HTML_PIECES_H_
#define GRAPHTREE_TOOLS_MEMORY_HTML_PIECES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace graphtree::memory {

// What the page shows of a piece besides its range; numbers of tables.
struct HtmlPieceTags {
  uint64_t pool = 0;
  uint64_t stream = 0;
  uint64_t stack = 0;
  uint64_t type = 1;  // 0 small, 1 large, 2 part of an expandable segment
};

struct HtmlPiece {
  static constexpr int64_t kBefore = -1;
  static constexpr int64_t kNever = -1;

  uint64_t address = 0;
  uint64_t size = 0;
  int64_t start = kBefore;  // the event
  int64_t end = kNever;
  HtmlPieceTags tags;
};

class HtmlPieces {
 public:
  void Hold(uint64_t address, uint64_t size, int64_t event, const HtmlPieceTags& tags);
  void Release(uint64_t address, uint64_t size, int64_t event, const HtmlPieceTags& tags);
  void HeldAtEnd(uint64_t address, uint64_t size, const HtmlPieceTags& tags);

  // Sorted by start.
  std::vector<HtmlPiece> Take();

 private:
  void Open(uint64_t from, uint64_t to, int64_t start, const HtmlPieceTags& tags);
  // Calls for each gap of [from, to) that no open piece covers.
  template <typename Visit>
  void ForGaps(uint64_t from, uint64_t to, Visit visit) const;

  std::vector<HtmlPiece> pieces_;
  std::map<uint64_t, size_t> open_;  // by address
};

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_HTML_PIECES_H_
