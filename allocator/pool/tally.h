// The pool's counts: what is live, what ever was, and the peaks of both.
//
//               allocations  frees  live  peak
//   allocate         +1               +    raised
//   free                      +1      -
//   a restore brings back             +    raised at the end of the restore
//   a restore takes away              -
//
// Threads: as the pool. Cost: a few additions, inline.
#ifndef GRAPHTREE_ALLOCATOR_POOL_TALLY_H_
#define GRAPHTREE_ALLOCATOR_POOL_TALLY_H_

#include <algorithm>
#include <cstdint>

#include "allocator/books/block_record.h"
#include "allocator/placement/run.h"
#include "allocator/pool_types.h"

namespace graphtree {

class Tally {
 public:
  explicit Tally(uint64_t address_bytes) { counts_.address_bytes = address_bytes; }

  void CountAllocated(const BlockRecord& record) {
    ++counts_.allocations;
    CountBack(record);
    RaisePeaks();
  }
  void CountFreed(const BlockRecord& record) {
    CountGone(record);
    ++counts_.frees;
  }
  // Live again, or no longer, without a call for this block: neither an allocation nor a free.
  void CountBack(const BlockRecord& record) {
    ++counts_.live_blocks;
    counts_.requested_bytes += record.requested_bytes();
    counts_.live_bytes += uint64_t{record.length} * kQuantum;
  }
  void CountGone(const BlockRecord& record) {
    --counts_.live_blocks;
    counts_.requested_bytes -= record.requested_bytes();
    counts_.live_bytes -= uint64_t{record.length} * kQuantum;
  }
  void RaisePeaks() {
    PoolStats& c = counts_;
    if (c.requested_bytes > c.peak_requested_bytes) c.peak_requested_bytes = c.requested_bytes;
    if (c.live_bytes > c.peak_live_bytes) c.peak_live_bytes = c.live_bytes;
  }
  void RaiseMappedPeak(uint64_t mapped_bytes) {
    counts_.peak_mapped_bytes = std::max(counts_.peak_mapped_bytes, mapped_bytes);
  }

  // Fields of PoolStats that are not counted here are 0.
  PoolStats& counts() { return counts_; }
  const PoolStats& counts() const { return counts_; }

 private:
  PoolStats counts_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_TALLY_H_
