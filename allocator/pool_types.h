// What a pool is told and what it tells: options, blocks, figures.
#ifndef GRAPHTREE_ALLOCATOR_POOL_TYPES_H_
#define GRAPHTREE_ALLOCATOR_POOL_TYPES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "allocator/ids.h"
#include "allocator/shared_bytes.h"
#include "device/address.h"
#include "device/memory.h"

namespace graphtree {

// A word (a tag, a note, a stack as text) in the pool's table; 0 is the empty word.
using WordId = uint32_t;

struct Block {
  BlockId id;
  AddressRange range;  // the bytes that were asked for; a block of no bytes has an address, too
};

struct BlockOptions {
  uint64_t alignment = 0;  // a power of two; less than 512, and 0, mean 512
  Region region = Region::kStep;
  WordId tag = 0;
  WordId note = 0;
};

// All off by default. They change addresses (guards) and cost time, never results.
struct PoolDebug {
  bool poison_on_free = false;    // freed bytes are overwritten, in stream order
  uint8_t poison = 0xDD;
  bool guard_gaps = false;        // a gap that belongs to nobody lies on either side of a block
  bool canaries = false;          // the gaps hold a pattern that CheckCanaries verifies
  bool seal_dead_memory = false;  // SealDeadMemory takes access rights from pieces nobody uses
  bool remember_frees = false;    // a stale handle names who freed it
};

// What a pool that is short of memory asks of its server before it gives up.
struct MemoryWanted {
  uint64_t bytes = 0;    // of the request
  uint64_t missing = 0;  // physical memory that could not be had; 0: addresses are used up
  int attempt = 0;       // 0, 1, ... for one request
  // The pool's own limit is reached, or what pools share is used up; not the device's memory.
  bool is_limit = false;
};
// Returns true if the server gave something back, so that another attempt makes sense. The callback
// may call the pool to free, to drop checkpoints and to trim; taking checkpoints, restoring,
// rolling back, parking, waking and closing are refused meanwhile. A callback that throws counts as
// one that gave nothing back.
using MemoryCallback = std::function<bool(const MemoryWanted&)>;

struct PoolOptions {
  std::string name = "pool";
  uint64_t limit_bytes = 0;    // of physical memory; 0: as much as the device gives
  // That this pool and others may map together, which have the same; null: limit_bytes alone.
  std::shared_ptr<SharedBytes> shared_bytes = nullptr;
  // Reserved for each region. 0: twice what the device has, so that memory is used up before
  // addresses are, however scattered the live blocks lie.
  uint64_t address_bytes = 0;
  // Mapped when the pool is made, as far as the device has so much; PoolStats counts what is short.
  uint64_t initial_bytes = 0;
  Address wished_base = 0;     // taken if it is free; 0: no wish
  uint64_t history_entries = 1 << 14;  // 0: no history
  // Launched graphs use memory which is free in the books: nobody can have memory given back that a
  // checkpoint holds.
  bool serves_recordings = false;
  PoolDebug debug = {};
  MemoryCallback before_out_of_memory = nullptr;
  // Tells a checking device (the host device) which bytes are live. Off: uses of dead memory go
  // unnoticed.
  bool tell_device = true;
};

struct PoolStats {
  // Another thread was inside a call: nothing else is filled in.
  bool is_busy = false;
  uint64_t allocations = 0;  // ever
  uint64_t frees = 0;
  uint64_t live_blocks = 0;
  uint64_t live_bytes = 0;       // of blocks, rounded up to quanta, guards included
  uint64_t requested_bytes = 0;  // what their callers asked for
  uint64_t peak_live_bytes = 0;
  uint64_t peak_requested_bytes = 0;
  uint64_t mapped_bytes = 0;     // physical memory
  uint64_t peak_mapped_bytes = 0;
  uint64_t pinned_bytes = 0;     // of the mapped ones, those that are never unmapped
  uint64_t lasting_bytes = 0;    // live, in the lasting region
  uint64_t parked_bytes = 0;     // to be woken
  uint64_t limit_bytes = 0;
  uint64_t address_bytes = 0;    // reserved, both regions
  uint64_t checkpoints = 0;      // alive
  uint64_t restores = 0;
  uint64_t cross_stream_reuses = 0;  // blocks that had to wait for another stream's work
  uint64_t queued_frees = 0;     // from other threads, not yet done
  uint64_t refused_queued_frees = 0;  // that were wrong; see PoolFailures
  uint64_t deferred = 0;         // driver work that waits for a capture to end
  uint64_t out_of_memory = 0;    // allocations that failed
  uint64_t initial_bytes = 0;    // asked for when the pool was made or by ReserveAhead
  uint64_t initial_shortfall = 0;  // of these, bytes that could not be mapped
  uint64_t bookkeeping_bytes = 0;
  uint64_t forgotten_words = 0;
  uint64_t unpoisoned_frees = 0;  // whose bytes could not be overwritten, with poison_on_free
};

// Failures that no caller could be told of; the first of each kind, OK if there was none.
struct PoolFailures {
  absl::Status refused_free;  // a free from another thread that was wrong
  // A second thread made a call that cannot return an error, and that did nothing: Word (which
  // returned the empty word), SetContext, Shield or Unshield.
  absl::Status refused_call;
  absl::Status deferred;      // queued work (a trim, a park, a close) that failed
};

struct RestoreOptions {
  absl::Span<const BlockId> surviving = {};  // live on, though the checkpoint may not know them
  absl::Span<const BlockId> dying = {};      // freed, though the checkpoint has them live
};

enum class ParkContents : uint8_t {
  kDrop,    // contents are lost: after waking the bytes are anything
  kToHost,  // bytes of blocks that are live, or that a restore may bring back, are copied to host
            // memory, and back at the wake
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_TYPES_H_
