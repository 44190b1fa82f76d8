// Parking: the physical memory leaves, the addresses stay; waking brings memory back under them.
//
//              Park(kToHost)                              Wake
//   device   |[A A][B . ][   ]|  -->  |[hole][hole]|  -->  |[A A][B . ]|   the same addresses
//   host                               A A  B               (copied back)
//
//   Park(kDrop): nothing is saved, and after waking the bytes are anything
//
// What a piece needs at its wake stands in the piece itself (piece_row.h): `wake` says that memory
// must come back, `saved` holds contents. Parking saves the bytes that somebody may want again:
// those of live blocks, and of dead ones that a checkpoint remembers. While a piece has saved
// contents nobody may use its memory, not even if it is mapped.
//
// A pool that is parked as a whole refuses use until it is woken. Where only parts are parked,
// blocks in the other pieces stay usable. (A tree does not know which of its recordings need which
// pieces, and refuses use in both cases.) Parking waits for all work and then unmaps, so it is
// queued while a capture is open, and while a call is under way that uses the memory: a call of the
// tree that has the pool, or of another tree that has a tensor of it.
//
// Threads: as the pool.
#ifndef GRAPHTREE_ALLOCATOR_POOL_PARKING_H_
#define GRAPHTREE_ALLOCATOR_POOL_PARKING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "allocator/books/ledger.h"
#include "allocator/pool/arena.h"
#include "allocator/pool/door.h"
#include "allocator/pool/growth.h"
#include "allocator/pool/journal.h"
#include "allocator/pool/pool_streams.h"
#include "allocator/pool/watchers.h"
#include "allocator/pool_types.h"
#include "device/memory.h"

namespace graphtree {

class Parking {
 public:
  Parking(const Arena& arena, Door& door, const Ledger& ledger, PoolStreams& streams,
          Growth& growth, Journal& journal, Watchers& watchers);
  Parking(const Parking&) = delete;
  Parking& operator=(const Parking&) = delete;

  // For the pool's callers.
  //
  // Gives the physical memory back and keeps the addresses: of the whole pool, which then refuses
  // use until Wake, or of the pieces under the ranges. Pinned pieces stay, and so do pieces in
  // which a live block has bytes outside of the ranges. Queued while a capture is open, or a call
  // that uses the memory is under way.
  absl::Status Park(ParkContents contents, absl::Span<const AddressRange> ranges = {});
  // All or nothing: after a failure everything is parked as it was. While a capture is open a wake
  // that has to write (contents, canaries) is queued.
  absl::Status Wake();
  // Whether all of the memory is parked.
  bool is_parked() const { return door_.is_parked(); }
  // Whether any of it is.
  bool has_parked() const { return door_.has_parked(); }
  // Whether any of it is, or will be once a capture has ended.
  bool has_parked_or_will() const { return door_.has_parked_or_will(); }
  // Parks now where that has waited, and need not wait any more.
  void ParkIfDue();

  // For the pool's other parts, inside of a call.
  //
  // Bytes that a wake would map, after giving up parked pieces that nobody needs any more.
  uint64_t BytesToWake();
  uint64_t parked_bytes() const;

 private:
  // One for each piece; null where nothing is saved.
  using Buffers = std::vector<std::unique_ptr<HostBuffer>>;

  bool HasPiecesToWake() const;
  absl::Status ParkNow(ParkContents contents, const std::vector<AddressRange>& ranges);
  std::vector<bool> PiecesToPark(Region region, const std::vector<AddressRange>& ranges) const;
  std::vector<AddressRange> PartsOfValue(Region region) const;
  absl::Status SaveAll(const std::vector<AddressRange>& ranges);
  absl::Status SaveContents(Region region, const std::vector<AddressRange>& ranges,
                            Buffers* saved);
  absl::Status CopyParts(Region region, const std::vector<HostBuffer*>& buffers, bool to_host);
  absl::Status ReleaseParked(Region region, const std::vector<AddressRange>& ranges);
  absl::Status ReleaseSpan(Region region, uint32_t first, uint32_t end);

  bool MustWriteToWake() const;
  absl::Status WakeAll();
  absl::Status WakeNow();
  absl::Status WakePieces(Region region);
  absl::Status BringBack(Region region);
  absl::Status RewriteCanaries();
  void ParkAgain(Region region, const std::vector<bool>& was_mapped);

  const Arena& arena_;
  Door& door_;
  const Ledger& ledger_;
  PoolStreams& streams_;
  Growth& growth_;
  Journal& journal_;
  Watchers& watchers_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_PARKING_H_
