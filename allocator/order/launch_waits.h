// Whom the launches of a graph wait for: the earlier users of what a capture took from the pool.
//
//   Enter             a capture's scope opens             awaited: none
//   Note({A})         the scope was given A's bytes       awaited: A
//     Enter, Note({B})   a scope within it                awaited: B, and of the outer one A and B
//   Leave             the scope ends                      returns its streams
//
// It is not known where the graph will be launched, so it counts for nothing whom the capture's own
// streams have waited for.
//
// Pure. Threads: as the table of streams that has it.
#ifndef GRAPHTREE_ALLOCATOR_ORDER_LAUNCH_WAITS_H_
#define GRAPHTREE_ALLOCATOR_ORDER_LAUNCH_WAITS_H_

#include <cstdint>
#include <vector>

namespace graphtree {

class LaunchWaits {
 public:
  // Whether a scope is open.
  bool is_open() const { return !awaited_.empty(); }
  void Enter() {
    awaited_.push_back(0);
    untold_ = ~0u;
  }
  // The bits of the innermost scope, which ends. REQUIRES: one is open.
  uint32_t Leave() {
    const uint32_t awaited = awaited_.back();
    awaited_.pop_back();
    untold_ = awaited_.empty() ? 0 : ~awaited_.back();
    return awaited;
  }
  // The bits of the innermost scope. REQUIRES: one is open.
  uint32_t awaited() const { return awaited_.back(); }
  // Every open scope waits for these bits. Nothing happens where none is open.
  void Note(uint32_t streams) {
    if (awaited_.empty()) return;
    for (uint32_t& awaited : awaited_) awaited |= streams;
    untold_ &= ~streams;
  }
  // Whether Note would add one of these bits.
  bool MustNote(uint32_t streams) const { return (streams & untold_) != 0; }

 private:
  std::vector<uint32_t> awaited_;  // for each open scope
  uint32_t untold_ = 0;            // in a scope: bits that are not in its `awaited_`
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_ORDER_LAUNCH_WAITS_H_
