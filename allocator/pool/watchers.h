// Tells three watchers what happens to a pool's blocks: the history, a device that checks what its
// ops use (the host device), and the debug modes.
//
//   allocated   history entry   device: live     debugger: the guards are written
//   freed       two entries     device: dead     debugger: the bytes are poisoned, who freed it
//   restored    gone and back   dead and live    debugger: the guards are written again
//
// With canaries a block lies between two guards, whose bytes hold a pattern:
//
//   | C3 C3 C3 ... | the block | C3 C3 C3 ... |       CheckCanaries names what was written over
//
// A shielded range holds bytes that a captured graph will read, though the books have given them to
// other blocks: the device is not told that they are dead, and so does not poison them.
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
  // Fails with every guard that was written over. A restore writes the guards of the blocks that it
  // brings back anew, so damage done to those before is not seen.
  absl::Status CheckCanaries(Stream& stream);
  // Waits for the pool's work and takes away the access rights of pieces that no live block, no
  // checkpoint and no pin uses, so that a stale use faults. Allocating gives the rights back. Does
  // nothing without PoolDebug::seal_dead_memory.
  absl::Status SealDeadMemory();
  // Shields `range` until Unshield, which ends all shields.
  void Shield(AddressRange range);
  void Unshield();

  // For the pool's other parts, inside of a call.
  bool any() const { return any_; }
  bool debugs() const { return debugger_.any(); }
  bool has_canaries() const { return debugger_.modes().canaries; }
  // Writes the block's guards, before it is used. A failure may leave some of that work queued.
  absl::Status BeforeUse(const BlockRecord& record, Stream& stream);
  void TellOfAllocation(const BlockRecord& record);
  void TellOfFree(BlockId id, const BlockRecord& record);
  // For a block that TellOfRestore told to be back, but whose free by another thread stays.
  void TellOfFreeAgain(const BlockRecord& record);
  // The blocks that went (`dies`) and came back (`wakes`) by a restore.
  void TellOfRestore(absl::Span<const uint32_t> dies, absl::Span<const uint32_t> wakes);
  // Who freed the block, as the end of a message; empty if that is not known.
  std::string WhoFreed(BlockId id) const { return debugger_.WhoFreed(id); }
  // The guards in front of the block and after it. REQUIRES: the block has guards.
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
