// The pool as the tree uses it: storages over blocks, and the books of the step region.
//
//   step region   what functions allocate; follows the path, shared by all branches
//   kept region   what eager runs outside the tree allocate; no restore touches it
//
// A storage in state kOwning owns one block; the block is freed when its last handle goes: at once
// in a call of the tree, and else, as any thread may drop it, by the next one. Storages, and with
// them the pool, outlive the tree while somebody holds an output.
#ifndef GRAPHTREE_GRAPHS_MEMORY_STEP_MEMORY_H_
#define GRAPHTREE_GRAPHS_MEMORY_STEP_MEMORY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allocator/pool.h"
#include "device/device.h"
#include "graphs/launcher.h"
#include "graphs/match/match.h"
#include "graphs/memory/other_users.h"
#include "graphs/memory/storage_home.h"

namespace graphtree {

// A block's handle in the one word that a storage keeps.
inline uint64_t Pack(BlockId id) { return uint64_t{id.generation} << 32 | id.index; }
inline BlockId Unpack(uint64_t word) {
  return {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)};
}

class StepMemory {
 public:
  // While it lives this thread is in a call of the tree, and what it lets go is free at once. May
  // be nested. (Relaxed: another thread need only not read this one's id, which it never can.)
  class InCall {
   public:
    explicit InCall(StepMemory& memory)
        : caller_(memory.caller_->thread), before_(caller_.load(std::memory_order_relaxed)) {
      caller_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }
    ~InCall() { caller_.store(before_, std::memory_order_relaxed); }
    InCall(const InCall&) = delete;
    InCall& operator=(const InCall&) = delete;

   private:
    std::atomic<std::thread::id>& caller_;
    const std::thread::id before_;
  };

  // While it lives, what was there before it and dies is not free: a capture that fails is rolled
  // back, and the books would have it again, and nobody else.
  class Recording {
   public:
    explicit Recording(StepMemory& memory);
    ~Recording() { End(); }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    // The books are what they will be.
    void End();

   private:
    StepMemory& memory_;
  };

  // `bytes` at most, of which `initial_bytes` are mapped now as far as there is so much.
  static absl::StatusOr<std::unique_ptr<StepMemory>> Create(Device& device, uint64_t bytes,
                                                            uint64_t initial_bytes,
                                                            StorageHome::Explainer explain);
  // Waits for all work on the memory: streams may go now, though outputs live on.
  ~StepMemory();

  // Aligned as the pool aligns everything, or to a larger power of two.
  absl::StatusOr<Storage*> Allocate(Region region, WordId tag, uint64_t bytes, Stream& stream,
                                    uint64_t alignment = 0);
  // Memory for an output that outlives its step, in the kept region; refused beyond `limit` bytes
  // of such outputs, if there is one.
  absl::StatusOr<Storage*> AllocateKept(WordId tag, uint64_t bytes, Stream& stream,
                                        uint64_t limit);
  // The same for what an eager run made in the kept region.
  absl::Status CountAsKept(Storage* storage, uint64_t limit);
  bool InKeptRegion(AddressRange range) const { return kept_.Contains(range); }
  uint64_t kept_bytes() const { return home_->kept_bytes(); }
  // A storage of a replay's output: an address, no block.
  Storage* View(AddressRange range) { return home_->New(range, StorageState::kView, 0); }

  absl::StatusOr<CheckpointId> Take();
  absl::Status Restore(CheckpointId checkpoint, absl::Span<const BlockId> dying);
  void Drop(CheckpointId checkpoint);

  // What an input is to a recording that is made now.
  InputRole RoleOf(const Value& input, bool is_static) const;
  bool InStepRegion(AddressRange range) const { return step_.Contains(range); }
  bool IsOwn(AddressRange range) const { return InStepRegion(range) || InKeptRegion(range); }
  // Whose storages these are.
  const StorageOwner* owner() const { return home_; }
  OtherUsers& other_users() { return caller_->others; }
  Pool& pool() { return *pool_; }
  const std::shared_ptr<Pool>& shared_pool() const { return pool_; }

 private:
  // What is known of the call that runs, for storages that die in it, and of the other trees whose
  // calls they died in.
  struct Caller {
    std::atomic<std::thread::id> thread;  // for as long as it may allocate
    OtherUsers others;
    bool records = false;
    absl::flat_hash_set<uint64_t> fresh;  // the recording's own blocks
    std::vector<BlockId> waiting;         // others, that died meanwhile
  };

  StepMemory(std::shared_ptr<Pool> pool, StorageHome* home, std::shared_ptr<Caller> caller)
      : pool_(std::move(pool)),
        home_(home),
        caller_(std::move(caller)),
        step_(pool_->arena().range_of(Region::kStep)),
        kept_(pool_->arena().range_of(Region::kKept)) {}

  const std::shared_ptr<Pool> pool_;
  StorageHome* const home_;
  const std::shared_ptr<Caller> caller_;
  absl::Status MayKeep(uint64_t bytes, uint64_t limit) const;

  const AddressRange step_;  // the step region
  const AddressRange kept_;  // the kept region
};

// Storages that cannot go as long as this lives.
class StorageHolds {
 public:
  StorageHolds() = default;
  StorageHolds(StorageHolds&&) = default;
  StorageHolds& operator=(StorageHolds&&) = delete;
  ~StorageHolds() {
    for (Storage* storage : storages_) storage->DropInside();
  }

  // Unless it is gone already.
  void Add(Storage* storage) {
    if (storage->TryAddInside()) storages_.push_back(storage);
  }
  std::vector<Storage*>::const_iterator begin() const { return storages_.begin(); }
  std::vector<Storage*>::const_iterator end() const { return storages_.end(); }

 private:
  std::vector<Storage*> storages_;
};

// Memory for a body. In its region while there is room, else in the kept region, so that a body
// that has begun can end; `spilled` then says that nothing may be recorded from it, and `HasMade`
// knows which memory there is the body's.
//
// Scratch comes from the same region as everything else of the body. In the step region of a run
// that is not recorded it would lie over what replays have there: the books do not know of it.
class StepAllocator : public BodyAllocator {
 public:
  // `function` is for errors.
  StepAllocator(StepMemory* memory, Region region, WordId tag, uint32_t function)
      : memory_(memory), region_(region), tag_(tag), function_(function) {}
  absl::StatusOr<Storage*> Allocate(uint64_t bytes, Stream& stream) override {
    return AllocateAligned(bytes, 0, stream);
  }
  absl::StatusOr<Storage*> AllocateAligned(uint64_t bytes, uint64_t alignment, Stream& stream);
  absl::StatusOr<Storage*> Scratch(uint64_t bytes, Stream& stream) override;
  void EndScratch(Storage* scratch) override;
  absl::Status UseOn(Storage* storage, Stream& stream) override;
  void NoteUse(const Storage& storage, Stream& stream) override;
  bool spilled() const { return !spilled_.empty(); }
  // Whether it gave out all of these bytes, in its region or beside it. They may be free again.
  bool HasMade(AddressRange range) const;
  Region region() const { return region_; }
  // Of the storages that were allocated, those that somebody holds now; other threads may let go of
  // them meanwhile.
  StorageHolds Held() const;
  // All that was allocated so far, dead or alive, whole quanta, in address order and joined.
  std::vector<AddressRange> Used() const;
  // Every block is filled with the byte before the body has it.
  void set_paint(uint8_t byte) { paint_ = byte; }
  // Called before every allocation: what has died by then makes room.
  void set_make_room(std::function<void()> make_room) { make_room_ = std::move(make_room); }

 private:
  StepMemory* const memory_;
  const Region region_;
  const WordId tag_;
  const uint32_t function_;
  struct Made {
    Storage* storage;
    uint64_t serial;  // another one means that it is another allocation's by now
  };

  bool IsOthers(const Storage& storage) const { return storage.owner() != memory_->owner(); }
  // In the region or, where that is full, in the kept one.
  absl::StatusOr<Storage*> Place(uint64_t bytes, uint64_t alignment, Stream& stream);

  std::optional<uint8_t> paint_;
  std::function<void()> make_room_;
  std::vector<Made> made_;
  std::vector<AddressRange> used_;
  std::vector<AddressRange> spilled_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_STEP_MEMORY_H_
