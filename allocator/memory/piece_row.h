// Physical memory under one region's addresses, in few large pieces mapped in address order.
//
//   base                                                     covered_bytes        capacity
//   |[ 2 ][ 2 ] ... [  16  ] ... [       64       ]|. . . . . . . . . . . . . . . |
//      ^ a hole: its memory was released; the addresses and the piece's borders stay
//
// One driver call costs 10 to 60 microseconds whatever its size, so pieces grow with the region:
// 2 MiB while it is small, then 16, then 64; a large request gets large pieces at once. Rounding up
// wastes a sixteenth of the region at most. A block holds the whole piece that it lies in, so where
// memory is limited a piece is a sixteenth of that, if it can be so small. A released piece can be
// mapped again under the same addresses, so everything that was made with them stays valid.
//
// A failed call leaves what was there before, unless it says otherwise. Threads: none of its own.
#ifndef GRAPHTREE_ALLOCATOR_MEMORY_PIECE_ROW_H_
#define GRAPHTREE_ALLOCATOR_MEMORY_PIECE_ROW_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "allocator/shared_bytes.h"
#include "device/address.h"
#include "device/memory.h"

namespace graphtree {

struct Piece {
  bool is_mapped() const { return memory != nullptr; }
  // Nobody may use the memory, even if it is mapped, before saved contents are copied back.
  bool is_usable() const { return accessible && saved == nullptr; }

  uint64_t offset = 0;  // in bytes, from the row's base
  uint64_t bytes = 0;
  BytesShare::Claim claim;                 // on what pools share, while there is memory
  std::unique_ptr<PhysicalMemory> memory;  // null: a hole
  std::unique_ptr<HostBuffer> saved;       // the contents of a parked piece; null: not saved
  bool accessible = false;
  uint32_t pins = 0;            // a pinned piece is never unmapped
  bool is_pinned_for_good = false;  // one of these pins has no end
  bool wake = false;            // parked: a wake maps it again
  uint64_t contents_lost = 0;   // Growth's clock when the contents were last lost
};

// How large a piece may be where so many bytes may be mapped; 0: any number.
uint64_t MostPieceBytes(uint64_t limit_bytes);
// How large the next piece should be in a row that covers `covered` bytes and needs `needed` more.
uint64_t NextPieceBytes(uint64_t covered, uint64_t needed, uint64_t granularity,
                        uint64_t most_bytes);

class PieceRow {
 public:
  PieceRow(Memory* memory, AddressRange addresses, std::shared_ptr<BytesShare> share)
      : memory_(*memory),
        granularity_(memory->granularity()),
        addresses_(addresses),
        share_(std::move(share)) {}
  PieceRow(const PieceRow&) = delete;
  PieceRow& operator=(const PieceRow&) = delete;

  // True if [begin, end) can be used as it is. One compare in the usual case.
  bool IsReady(uint64_t begin, uint64_t end) const {
    return end <= covered_bytes_ && (unready_ == 0 || RangeIsReady(begin, end));
  }
  // How much of [begin, end) has memory.
  uint64_t MappedIn(uint64_t begin, uint64_t end) const;
  // Bytes of physical memory that Ready would create.
  uint64_t MissingBytes(uint64_t begin, uint64_t end) const;
  // Maps what is missing in [begin, end), all or nothing; without `may_unmap` a failure leaves what
  // it had mapped, for the next call to use. `mapped` receives the ranges that were mapped and
  // stay. Pieces with saved contents are mapped, too, but not ready.
  absl::Status Ready(uint64_t begin, uint64_t end, bool may_unmap,
                     std::vector<AddressRange>* mapped);

  // Gives a piece's memory back; the addresses stay. REQUIRES: mapped and not pinned.
  absl::Status Release(uint32_t index);
  // The same for the pieces [first, behind), with one driver call.
  absl::Status ReleaseSpan(uint32_t first, uint32_t behind);
  absl::Status ReleaseAll();
  // Hands over everything that is mapped, for the caller to unmap. The row is left without pieces.
  struct Mapping {
    AddressRange range;
    BytesShare::Claim claim;
    std::unique_ptr<PhysicalMemory> memory;
  };
  std::vector<Mapping> TakeMappings();
  // Releases the last pieces and forgets their borders, until `count` pieces are left; stops at one
  // that is pinned or cannot be unmapped.
  absl::Status ShrinkTo(uint32_t count);
  // Gives a piece its saved contents; null takes them away.
  void SetSaved(uint32_t index, std::unique_ptr<HostBuffer> saved);
  // Takes a piece's access rights away, or gives them back.
  absl::Status SetAccessible(uint32_t index, bool accessible);
  // Joins neighbouring holes that a wake treats alike, so that mapping them again takes fewer,
  // larger pieces. Returns whether indexes of pieces have changed.
  bool JoinHoles();
  // From here on no new piece is larger, as far as granularity allows.
  void LimitPieces(uint64_t most_bytes) { most_bytes_ = most_bytes; }

  // REQUIRES: offset < covered_bytes().
  uint32_t PieceAt(uint64_t offset) const { return piece_of_[offset / granularity_]; }
  const Piece& piece(uint32_t index) const { return pieces_[index]; }
  Piece& piece(uint32_t index) { return pieces_[index]; }
  uint32_t count() const { return static_cast<uint32_t>(pieces_.size()); }
  // That somebody has yet to unpin.
  uint32_t pinned_count() const;
  uint64_t pinned_bytes() const;
  AddressRange RangeOf(uint32_t index) const {
    return {addresses_.base + pieces_[index].offset, pieces_[index].bytes};
  }

  AddressRange addresses() const { return addresses_; }
  uint64_t covered_bytes() const { return covered_bytes_; }
  uint64_t mapped_bytes() const { return mapped_bytes_; }

 private:
  bool RangeIsReady(uint64_t begin, uint64_t end) const;
  absl::Status MapMissing(uint32_t first, uint32_t last, std::vector<uint32_t>* mapped);
  absl::Status GrantMissing(uint32_t first, uint32_t last);
  absl::Status GrantAccess(uint32_t first, uint32_t behind);
  absl::Status MapPiece(Piece* piece);
  absl::Status UnmapPiece(Piece* piece);
  void Unmapped(Piece* piece);
  void ListRanges(const std::vector<uint32_t>& indexes, std::vector<AddressRange>* ranges) const;
  void Append(uint64_t bytes);
  void RemoveLast();

  Memory& memory_;
  const uint64_t granularity_;
  const AddressRange addresses_;
  const std::shared_ptr<BytesShare> share_;  // of the pool, for all its rows
  uint64_t most_bytes_ = MostPieceBytes(0);  // of a new piece
  std::vector<Piece> pieces_;
  std::vector<uint32_t> piece_of_;  // for each granule
  uint64_t covered_bytes_ = 0;
  uint64_t mapped_bytes_ = 0;
  uint32_t unready_ = 0;  // pieces that are not usable
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_MEMORY_PIECE_ROW_H_
