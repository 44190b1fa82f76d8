// The home makes the storages of a tree, takes them back, and reuses them without a heap call.
//
//   tree thread                         any thread
//   New() <-- spare list <-- exchange -- returned stack <-- Unreferenced()
//
// The home outlives the tree for as long as handles do. The block of a storage in state kOwning
// goes back to the pool through the releaser, on the thread that dropped the last handle; the
// tree's call may be running and allocating on another thread then. If the tree's own hold was the
// last one, it is the thread of the call.
#ifndef GRAPHTREE_GRAPHS_MEMORY_STORAGE_HOME_H_
#define GRAPHTREE_GRAPHS_MEMORY_STORAGE_HOME_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "device/address.h"
#include "graphs/memory/device_place.h"
#include "graphs/storage.h"

namespace graphtree {

class StorageHome : public StorageOwner {
 public:
  enum class Dropped : uint8_t { kAnywhere, kInCall };

  // Frees the block of a storage in state kOwning. Called on the thread that dropped the last
  // handle.
  using Releaser = std::function<void(uint64_t block, Dropped dropped)>;
  // The sentence for a stale storage.
  using Explainer = std::function<std::string(const Storage&)>;

  // What a storage asks of its tree.
  struct Ground {
    DevicePlace place;
    // A storage in here ends with its step.
    AddressRange step;
    // Told of streams of other trees that use this memory (StorageOwner::NoteUsedOn). May be empty.
    std::function<void(const std::shared_ptr<StreamLife>& stream)> used;
    // Whether the memory is parked. May be empty: never.
    std::function<bool()> is_parked;
    // Keeps the memory from being parked, or ends that (StorageOwner::KeepAwake). May be empty.
    std::function<void(bool is_kept)> keep_awake;
  };

  // The home deletes itself once it is closed and its last storage has come back. All functions
  // must work until then, on any thread.
  static StorageHome* Make(Releaser release, Explainer explain, Ground ground = {});
  // The tree is gone. REQUIRES: no New after this.
  void Close();

  // A storage without handles. Tree thread only.
  Storage* New(AddressRange range, StorageState state, uint64_t block);
  // A storage that owns its block and counts as kept until its last handle goes.
  Storage* NewKept(AddressRange range, uint64_t block);
  // Makes a storage that owns its block already count as kept, likewise.
  void CountAsKept(Storage* storage);
  uint64_t kept_bytes() const { return kept_bytes_.load(std::memory_order_relaxed); }

  // How many storages have handles. Exact on the tree's thread when no handle is being dropped.
  int64_t outstanding() const { return holders_.load(std::memory_order_acquire) - 1; }

  void Unreferenced(Storage* storage) override { Reclaim(storage, Dropped::kAnywhere); }
  void UnreferencedInside(Storage* storage) override { Reclaim(storage, Dropped::kInCall); }
  void NoteUsedOn(const std::shared_ptr<StreamLife>& stream) override {
    if (ground_.used != nullptr) ground_.used(stream);
  }
  // What is no block of its own is an output of a replay, or stands for an input in a recording.
  bool EndsWithStep(const Storage& storage) const override {
    return storage.state() != StorageState::kOwning || ground_.step.Contains(storage.range());
  }
  bool is_parked() const override { return ground_.is_parked != nullptr && ground_.is_parked(); }
  bool KeepAwake() override;
  void LetSleep() override;
  std::string WhyStale(const Storage& storage) const override;
  std::string DeviceName() const override { return ground_.place.name; }

 private:
  StorageHome(Releaser release, Explainer explain, Ground ground);
  ~StorageHome() override;
  void Reclaim(Storage* storage, Dropped dropped);
  void LetGo();

  const Releaser release_;
  const Explainer explain_;
  const Ground ground_;
  std::atomic<Storage*> returned_{nullptr};
  std::atomic<uint64_t> kept_bytes_{0};
  // How many storages have handles, plus those who keep the memory awake, plus one while the home
  // is open.
  std::atomic<int64_t> holders_{1};

  // Tree thread only.
  Storage* spare_ = nullptr;
  uint64_t next_serial_;  // serials of different homes differ, too
  std::deque<Storage> storages_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_STORAGE_HOME_H_
