// The pool as the tree uses it: storages over blocks, in two regions.
//
//   step region      what functions allocate; follows the path, shared by all branches
//   lasting region   memory of eager runs, of parts, of kept outputs and of foreign code, and bytes
//                    that are saved; no restore touches it
//
// A storage in state kOwning owns one block, which is freed when the last handle goes: at once in a
// call of the tree; outside of calls, where any thread may drop a handle, by the next call.
// Storages, and with them the pool, outlive the tree while somebody holds an output.
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
#include "absl/types/span.h"
#include "allocator/order/deferred.h"
#include "allocator/order/stream_users.h"
#include "allocator/pool.h"
#include "device/device.h"
#include "graphs/launcher.h"
#include "graphs/match/match.h"
#include "graphs/memory/awake_memory.h"
#include "graphs/memory/storage_home.h"
#include "graphs/memory/stray_forks.h"
#include "graphs/tensor.h"

namespace graphtree {

// A block's handle in the one word that a storage keeps.
inline uint64_t Pack(BlockId id) { return uint64_t{id.generation} << 32 | id.index; }
inline BlockId Unpack(uint64_t word) {
  return {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)};
}

class StepMemory {
 public:
  // While an InCall lives this thread is in a call of the tree, and blocks that the thread lets go
  // are free at once. May be nested. (Relaxed order is enough: another thread must only not read
  // this thread's id, and no thread stores an id but its own.)
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

  // While a StaysAwake lives a call runs, and the memory that it uses is not parked: this tree's,
  // and that of other trees (awake_memory.h).
  class StaysAwake {
   public:
    StaysAwake(StepMemory& memory, absl::Span<const Value> inputs);
    ~StaysAwake();
    StaysAwake(const StaysAwake&) = delete;
    StaysAwake& operator=(const StaysAwake&) = delete;

   private:
    StepMemory& memory_;
    const DeferredQueue::NoParking no_parking_;
  };

  // While a Recording lives, blocks that were made before it and whose storages die stay live in
  // the books: after the rollback of a capture that failed such a block would be live there, and no
  // storage would own it. End frees them.
  class Recording {
   public:
    explicit Recording(StepMemory& memory);
    ~Recording() { End(); }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    // The capture was committed or rolled back: frees the blocks that waited.
    void End();

   private:
    StepMemory& memory_;
  };

  // `options` say how much the pool may map, and whom it asks where there is no memory.
  static absl::StatusOr<std::unique_ptr<StepMemory>> Create(Device& device, PoolOptions options,
                                                            StorageHome::Explainer explain);
  // Waits for all work on the memory, so that streams may go although outputs live on.
  ~StepMemory();

  // Aligned as the pool aligns everything, or to a larger power of two.
  absl::StatusOr<Storage*> Allocate(Region region, WordId tag, uint64_t bytes, Stream& stream,
                                    uint64_t alignment = 0);
  // Memory for a kept output, in the lasting region. Fails beyond `limit` bytes of such outputs; 0:
  // no limit.
  absl::StatusOr<Storage*> AllocateKept(WordId tag, uint64_t bytes, Stream& stream,
                                        uint64_t limit);
  // That limit's error, if so many bytes more would pass it.
  absl::Status MayKeep(uint64_t bytes, uint64_t limit) const;
  // The same limit for an output that an eager run has made in the lasting region.
  absl::Status CountAsKept(Storage* storage, uint64_t limit);
  bool InLastingRegion(AddressRange range) const { return lasting_.Contains(range); }
  uint64_t kept_bytes() const { return home_->kept_bytes(); }
  // A storage for a replay's output, which has an address and owns no block.
  Storage* View(AddressRange range) { return home_->New(range, StorageState::kView, 0); }

  absl::StatusOr<CheckpointId> Take();
  absl::Status Restore(CheckpointId checkpoint, absl::Span<const BlockId> dying);
  // A pool that refuses it now, since foreign code on another thread takes memory just then, drops
  // the checkpoint with the next one.
  void Drop(CheckpointId checkpoint);

  // The role that an input has by itself for a recording that is made now.
  InputRole RoleOf(const Value& input, bool is_static) const;
  bool InStepRegion(AddressRange range) const { return step_.Contains(range); }
  bool IsOwn(AddressRange range) const { return InStepRegion(range) || InLastingRegion(range); }
  // The owner of this memory's storages.
  const StorageOwner* owner() const { return home_; }
  // Whether another tree owns the storage.
  bool IsOthers(const Storage& storage) const { return storage.owner() != home_; }
  // Keeps memory of other trees awake until the call is over. REQUIRES: a StaysAwake lives.
  void KeepAwake(absl::Span<const Value> used);
  void KeepAwake(const Storage& used) const {
    if (IsOthers(used)) caller_->awake.Add(*used.owner());
  }
  // Adds a tensor that another tree owns, if it is not among those that are held already.
  void HoldOfOthers(const Tensor& tensor, Values* held) const;
  // Tells other trees, which own tensors among the values, that work on the stream uses these:
  // their memory may leave, or be given away, only after all work that is on the stream when its
  // tree goes on. A tree that goes on in the middle of a run forgets the stream, so they are told
  // once more at the end of the run.
  void TellOwners(absl::Span<const Value> values, Stream& stream) const {
    TellOwners(values, stream.life());
  }
  void TellOwners(absl::Span<const Value> values, const std::shared_ptr<StreamLife>& stream) const;
  StreamUsers& other_users() { return caller_->others; }
  StrayForks& stray_forks() { return stray_forks_; }
  Pool& pool() { return *pool_; }
  const std::shared_ptr<Pool>& shared_pool() const { return pool_; }

 private:
  // What a storage that dies has to know: the call that runs, if any, and the streams of other
  // trees in whose calls it died. Storages share it, as they outlive this object.
  struct Caller {
    // Used by any thread.
    std::atomic<std::thread::id> thread;  // of the call; while an InCall lives
    StreamUsers others;
    // Used by the thread of the call only, and so inside of a call only.
    AwakeMemory awake;
    bool records = false;
    absl::flat_hash_set<uint64_t> fresh;  // blocks that the recording made
    std::vector<BlockId> waiting;         // older ones, which died meanwhile
  };

  StepMemory(std::shared_ptr<Pool> pool, StorageHome* home, std::shared_ptr<Caller> caller)
      : pool_(std::move(pool)),
        home_(home),
        caller_(std::move(caller)),
        step_(pool_->arena().range_of(Region::kStep)),
        lasting_(pool_->arena().range_of(Region::kLasting)) {}

  // Used by any thread, since handles die on any; what each thread may ask of the pool and of the
  // home their headers say. The pointers and the ranges never change.
  const std::shared_ptr<Pool> pool_;
  StorageHome* const home_;
  const std::shared_ptr<Caller> caller_;
  const AddressRange step_;     // the step region
  const AddressRange lasting_;  // the lasting region
  StrayForks stray_forks_;      // used by the tree's caller
};

// Holds storages: none of them goes while this object lives.
class StorageHolds {
 public:
  StorageHolds() = default;
  StorageHolds(StorageHolds&&) = default;
  StorageHolds& operator=(StorageHolds&&) = delete;
  ~StorageHolds() {
    for (Storage* storage : storages_) storage->DropInside();
  }

  // Does nothing if nobody holds the storage any more.
  void Add(Storage* storage) {
    if (storage->TryAddInside()) storages_.push_back(storage);
  }
  std::vector<Storage*>::const_iterator begin() const { return storages_.begin(); }
  std::vector<Storage*>::const_iterator end() const { return storages_.end(); }

 private:
  std::vector<Storage*> storages_;
};

// Memory for a body: from `region` while there is room, else from the lasting region, so that a
// body that has begun can end. Then `spilled` says that the run may not become a recording, and
// `HasMade` knows which memory there is the body's.
//
// Scratch comes from the same region as all other memory of the body. A run that is not recorded
// must not use the step region: replays have memory there that the books do not show.
class StepAllocator : public BodyAllocator {
 public:
  // `function` is the producer that errors about the storages name.
  StepAllocator(StepMemory* memory, Region region, WordId tag, uint32_t function)
      : memory_(memory), region_(region), tag_(tag), function_(function) {}
  absl::StatusOr<Storage*> Allocate(uint64_t bytes, Stream& stream) override {
    return Make(bytes, 0, 0, stream);
  }
  absl::StatusOr<Storage*> AllocateAligned(uint64_t bytes, uint64_t alignment, Stream& stream) {
    return Make(bytes, 0, alignment, stream);
  }
  // Where the region has no such room, without it: room is not worth a recording.
  absl::StatusOr<Storage*> AllocateWithRoom(uint64_t bytes, uint64_t room,
                                            Stream& stream) override {
    return Make(bytes, room, 0, stream);
  }
  absl::StatusOr<Storage*> Scratch(uint64_t bytes, Stream& stream) override;
  void EndScratch(Storage* scratch) override;
  absl::Status UseOn(Storage* storage, Stream& stream) override;
  void WillUse(const Storage& storage) override { memory_->KeepAwake(storage); }
  void NoteUse(const Storage& storage, Stream& stream) override;
  void HoldUsed(const Tensor& tensor) override { memory_->HoldOfOthers(tensor, &held_); }
  void LeftBeside(const std::shared_ptr<StreamLife>& fork, const absl::Status& why) override;
  absl::Status Pin(const Tensor& tensor) override;
  // Tells other trees that work on the stream, all work of a run or part, uses what HoldUsed holds.
  void TellOwners(Stream& stream) const { memory_->TellOwners(held_, stream); }
  // The tensors that HoldUsed holds: those of other trees.
  const Values& held() const { return held_; }
  bool spilled() const { return !spilled_.empty(); }
  // Whether all of these bytes came from here, in the region or outside. They may be free again.
  bool HasMade(AddressRange range) const;
  Region region() const { return region_; }
  // The storages from here that somebody holds now. Other threads may let go of them meanwhile.
  StorageHolds Held() const;
  // All memory that was allocated in the region so far, dead or alive: in whole quanta, in address
  // order, adjacent ranges joined.
  std::vector<AddressRange> Used() const;
  // From now on every block is filled with the byte before the body gets it.
  void set_paint(uint8_t byte) { paint_ = byte; }
  // `make_room` is called before every allocation, to free what has died by then.
  void set_make_room(std::function<void()> make_room) { make_room_ = std::move(make_room); }

 private:
  StepMemory* const memory_;
  const Region region_;
  const WordId tag_;
  const uint32_t function_;
  struct Made {
    Storage* storage;
    uint64_t serial;  // if the storage has another serial by now, another allocation uses it
  };

  absl::StatusOr<Storage*> Make(uint64_t bytes, uint64_t room, uint64_t alignment, Stream& stream);
  // Allocates in the region, with room or else without it; or, where that is full, in the lasting
  // one, without it.
  absl::StatusOr<Storage*> Place(uint64_t bytes, uint64_t room, uint64_t alignment,
                                 Stream& stream);

  std::optional<uint8_t> paint_;
  std::function<void()> make_room_;
  std::vector<Made> made_;
  std::vector<AddressRange> used_;
  std::vector<AddressRange> spilled_;
  Values held_;  // tensors of other trees
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_STEP_MEMORY_H_
