// Whoever watches the blocks of a pool is told what happens to them here: the history, a device
// that checks what its ops use (the host device), and the debug modes.
//
//   allocated   history entry   device: live     debugger: the guards are written
//   freed       two entries     device: dead     debugger: the bytes are poisoned, who freed it
//   restored    gone and back   both             debugger: the guards are written again
//
// With canaries a block lies between two guards, whose bytes hold a pattern:
//
//   | C3 C3 C3 ... | the block | C3 C3 C3 ... |       CheckCanaries names what was written over
//
// Shielded ranges are bytes that a captured graph will read, though their block was given to others
// in the books: they are not told as dead, and not poisoned by the device.
//
// Threads: as the pool. Cost: one test where nobody watches.
#ifndef GRAPHTREE_ALLOCATOR_POOL_WATCHERS_H_
#define GRAPHTREE_ALLOCATOR_POOL_WATCHERS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "allocator/books/block_record.h"
#include "allocator/books/ledger.h"
#include "allocator/pool/arena.h"
#include "allocator/pool/door.h"
#include "allocator/pool/growth.h"
#include "allocator/pool/journal.h"
#include "allocator/pool/pool_debug.h"
#include "allocator/pool/pool_streams.h"
#include "allocator/pool/tally.h"
#include "device/stream.h"

namespace graphtree {

class Watchers {
 public:
  Watchers(const Arena& arena, Door& door, Ledger& ledger, PoolStreams& streams, Growth& growth,
           Journal& journal, Tally& tally);
  Watchers(const Watchers&) = delete;
  Watchers& operator=(const Watchers&) = delete;

  // For the pool's callers.
  //
  // Fails with every guard that was written over. A block that a restore brings back has its guards
  // written anew, so what was written over them before that is not told.
  absl::Status CheckCanaries(Stream& stream);
  // Waits for the pool's work and takes the access rights of pieces without a live block, so that a
  // stale use faults. Allocating gives them back. With seal_dead_memory only.
  absl::Status SealDeadMemory();
  // Until Unshield a device that poisons fresh and freed bytes leaves these: see above.
  void Shield(AddressRange range);
  void Unshield();

  // For the pool's other parts, inside of a call.
  bool any() const { return any_; }
  bool debugs() const { return debugger_.any(); }
  bool has_canaries() const { return debugger_.modes().canaries; }
  // What must be done before the block can be used. Where it fails, some of it may be on its way.
  absl::Status BeforeUse(const BlockRecord& record, Stream& stream);
  void TellOfAllocation(const BlockRecord& record);
  void TellOfFree(BlockId id, const BlockRecord& record);
  // Of a block that was told to come back, but whose free by another thread stays.
  void TellOfFreeAgain(const BlockRecord& record);
  // What came and went by a restore.
  void TellOfRestore(absl::Span<const uint32_t> dies, absl::Span<const uint32_t> wakes);
  // What is known about who freed the block, as the end of a sentence; empty if nothing is.
  std::string WhoFreed(BlockId id) const { return debugger_.WhoFreed(id); }
  // In front of the block and after it. REQUIRES: it has guards.
  std::array<AddressRange, 2> GuardsOf(const BlockRecord& record) const;
  absl::Status WriteGuard(AddressRange guard, Stream& stream) {
    return debugger_.WriteCanary(guard, stream);
  }

 private:
  bool IsShielded(AddressRange range) const;
  void TellOfLife(const BlockRecord& record);
  absl::Status WriteGuards(const BlockRecord& record, Stream& stream);
  void WriteGuardsAgain(absl::Span<const uint32_t> blocks);
  absl::Status ListGuards(Stream& stream, std::vector<PoolDebugger::Guard>* guards);
  void DebugFreed(BlockId id, const BlockRecord& record);
  absl::Status AfterItsUsers(const BlockRecord& record,
                             const std::function<absl::Status(Stream&)>& work);

  const Arena& arena_;
  Door& door_;
  Ledger& ledger_;
  PoolStreams& streams_;
  Growth& growth_;
  Journal& journal_;
  Tally& tally_;
  PoolDebugger debugger_;
  std::vector<AddressRange> shielded_;
  const bool any_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_WATCHERS_H_
