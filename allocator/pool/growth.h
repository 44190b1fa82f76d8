// The physical memory of a pool: pieces that are mapped under its addresses, and unmapped again.
//
//   step region     |[piece][piece][ hole ][    piece    ]. . . . . . |  one row of pieces for each
//   lasting region  |[piece]. . . . . . . . . . . . . . . . . . . . . |  region (piece_row.h)
//                     live    live   parked  only a checkpoint needs it
//
// Memory is mapped where a block needs it, within the limit. A piece can be unmapped if nobody uses
// it: no live block, no checkpoint that remembers a block there or whose way touched the piece, and
// no pin. Before a piece is unmapped, the work that may still use its bytes is waited for.
//
// While a capture is open nothing may be unmapped: what was mapped in vain then is unmapped later.
//
// Threads: as the pool.
#ifndef GRAPHTREE_ALLOCATOR_POOL_GROWTH_H_
#define GRAPHTREE_ALLOCATOR_POOL_GROWTH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "allocator/books/block_record.h"
#include "allocator/books/ledger.h"
#include "allocator/memory/piece_row.h"
#include "allocator/pool/arena.h"
#include "allocator/pool/door.h"
#include "allocator/pool/journal.h"
#include "allocator/pool/pool_streams.h"
#include "allocator/pool/tally.h"
#include "allocator/shared_bytes.h"

namespace graphtree {

// What an allocation lacks.
struct Shortage {
  uint64_t missing = 0;
  bool is_limit = false;  // a limit is reached (LimitNow), not the device's memory
};

// What was mapped at some time: everything below `covered` but the holes, which are named by their
// offsets.
struct MappedThen {
  uint64_t covered = 0;
  std::vector<uint64_t> holes;
};

class Growth {
 public:
  // Bits that say who uses a piece.
  static constexpr uint8_t kUsedByLive = 1;
  static constexpr uint8_t kUsedByCheckpoint = 2;

  Growth(const Arena& arena, Door& door, const Ledger& ledger, PoolStreams& streams,
         Journal& journal, Tally& tally);
  Growth(const Growth&) = delete;
  Growth& operator=(const Growth&) = delete;

  PieceRow& row(Region region) { return region == Region::kStep ? step_ : lasting_; }
  const PieceRow& row(Region region) const { return region == Region::kStep ? step_ : lasting_; }
  // For any thread.
  uint64_t mapped_bytes() const { return share_->taken(); }
  // The pool's own limit; 0: none.
  uint64_t limit_bytes() const { return limit_bytes_; }
  void SetLimit(uint64_t bytes);
  // What the pool may have mapped just now: its own limit, or what it has and what is left of the
  // bytes that pools share. 0: as much as the device has.
  uint64_t LimitNow() const;
  // Grows by one with every piece whose contents are lost.
  uint64_t clock() const { return clock_; }

  bool IsReady(const RegionExtent& extent) const {
    return row(extent.region).IsReady(extent.begin, extent.end);
  }
  // Maps what is missing under the extent, within the limit; a failure fills in `shortage`.
  absl::Status Grow(const RegionExtent& extent, Shortage* shortage);
  // The same; where memory is short it unmaps pieces that nobody uses, and tries again.
  absl::Status GrowAfterReleasing(const RegionExtent& extent, Shortage* shortage);
  static bool IsShortage(const absl::Status& status) {
    return status.code() == absl::StatusCode::kResourceExhausted;
  }
  // Whether a part of the extent has saved contents, which only a wake brings back.
  bool IsBarred(const RegionExtent& extent) const;

  // Who uses each piece of a region: one pass over what is live, remembered or touched.
  std::vector<uint8_t> PieceUses(Region region) const;
  // Bytes of the pieces that nobody uses; with `break_checkpoints` of those that only checkpoints
  // use, too.
  uint64_t FreePieceBytes(bool break_checkpoints) const;
  // Bytes of the pieces that nobody would use if checkpoints held the memory of these sectors of
  // the step region, and no more.
  uint64_t FreePieceBytesBut(const std::vector<uint32_t>& sectors) const;
  // Of one region, that nobody uses.
  uint64_t FreePieceBytesOf(Region region) const;
  // Unmaps such pieces until at most `goal_bytes` are mapped; returns what was unmapped. REQUIRES:
  // the work on the pool's memory was waited for.
  uint64_t ReleaseFreePieces(uint64_t goal_bytes, bool break_checkpoints);
  // Unmaps one piece whose contents somebody may still want. Saved contents stay with the piece.
  absl::Status Unmap(Region region, uint32_t index);

  MappedThen MappedNow(Region region) const;
  // Unmaps what was not mapped then, unless a block lives there now.
  absl::Status ReturnSince(Region region, const MappedThen& then);

  // Unmaps everything and gives the addresses back.
  absl::Status ReleaseEverything();
  // Hands over everything that is mapped, for the caller to unmap.
  std::vector<PieceRow::Mapping> TakeMappings();

 private:
  // OK if so many bytes more may be mapped.
  absl::Status CheckLimits(uint64_t wanted, Shortage* shortage) const;
  // Of one region, without the pieces that reach into `kept_sectors`.
  uint64_t FreePieceBytesIn(Region region, bool break_checkpoints,
                            const std::vector<uint32_t>& kept_sectors) const;
  bool ReleaseForGrowth(uint64_t bytes);
  absl::Status LoseContents(Region region, uint32_t index);
  static bool MayGo(const Piece& piece, uint8_t uses, bool break_checkpoints);

  const Arena& arena_;
  Door& door_;
  const Ledger& ledger_;
  PoolStreams& streams_;
  Journal& journal_;
  Tally& tally_;
  const std::shared_ptr<BytesShare> share_;
  PieceRow step_;
  PieceRow lasting_;
  uint64_t limit_bytes_;
  uint64_t clock_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_GROWTH_H_
