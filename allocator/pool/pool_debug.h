// The pool's debug modes: poison, canaries, and who freed what.
//
//   | guard: C3 C3 ... | the block's bytes | guard: C3 C3 ... |     canaries in guard gaps
//
// Poison and canaries are written by work on a stream, which may be captured and replayed like any
// other. Checking canaries launches a small kernel for each guard and waits for the counts.
//
// Threads: as the pool.
#ifndef GRAPHTREE_ALLOCATOR_POOL_POOL_DEBUG_H_
#define GRAPHTREE_ALLOCATOR_POOL_POOL_DEBUG_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "allocator/memory/scratch_memory.h"
#include "allocator/pool_types.h"
#include "device/device.h"
#include "device/memory.h"
#include "device/stream.h"

namespace graphtree {

class PoolDebugger {
 public:
  PoolDebugger(Device* device, const PoolDebug& modes) : device_(*device), modes_(modes) {}

  const PoolDebug& modes() const { return modes_; }
  bool any() const { return any_; }

  absl::Status WriteCanary(AddressRange guard, Stream& stream);
  absl::Status Poison(AddressRange range, Stream& stream);

  // One guard that must hold the pattern, and the block that it guards.
  struct Guard {
    AddressRange range;
    std::string block;
    bool is_front = false;
  };
  // Fails (DataLoss) with every guard that was written over, and how many of its bytes. REQUIRES:
  // whoever destroys the debugger waits for the stream before.
  absl::Status CheckCanaries(const std::vector<Guard>& guards, Stream& stream);

  // The last 16,384 frees are remembered.
  void RememberFree(BlockId id, std::string by);
  // Who freed the block, as the end of a message; empty if that is not known.
  std::string WhoFreed(BlockId id) const;

 private:
  // The device counts in `on_device`; the host reads the counts from `on_host`.
  struct Counts {
    Counts(Memory* memory, const Stream& written_on)
        : on_device(memory), stream(written_on.life()) {}
    ScratchMemory on_device;
    const std::shared_ptr<const StreamLife> stream;
    std::unique_ptr<HostBuffer> on_host;
  };
  static absl::Status QueueCounts(const std::vector<Guard>& guards, const Counts& counts,
                                  Stream& stream);

  Device& device_;
  const PoolDebug modes_;
  const bool any_ = modes_.poison_on_free || modes_.guard_gaps || modes_.canaries ||
                    modes_.seal_dead_memory || modes_.remember_frees;
  std::unordered_map<uint64_t, std::string> freed_by_;
  std::vector<std::unique_ptr<Counts>> left_;  // kernels may still write to them
  std::deque<uint64_t> in_order_;  // the keys of freed_by_, oldest first
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_POOL_DEBUG_H_
