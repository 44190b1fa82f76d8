// A Storage owns one allocation that tensors look into, and knows who still holds it.
//
//   caller's Tensor --+                                      outside: handles of the caller's
//   caller's Tensor --+--> Storage { range, counts, state }  inside:  the tree's own, a node's slot
//   node's slot     --+                                               or the path's list
//
//   count    | 1 if anything inside holds it | number of outside handles |     one atomic word
//
// The inside count itself is the tree's alone and not atomic, so that handing an output out and
// taking it back costs one atomic operation each.
//
// Liveness is "somebody outside holds it": one load. The tree keeps a short list of the outputs
// that it handed out on the current path and forgets those that died, so nothing is scanned.
//
//   states    kForeign   memory of the caller's; never stale
//             kOwning    a block of the tree's pool that is freed with the last handle
//             kView      an output of a replay: the address is the node's, and a drop frees nothing
//             kStale     its step ended and its bytes may be overwritten; every use is an error
//
//             kOwning <--restore-- kView --step ends while held--> kStale
//                |-------------------------step ends while held--> kStale
//
// What a part took along from its body goes stale with its step like any other tensor, and every
// replay makes its bytes again, for the part. While a replay runs the part (RemadeNow), it is not
// stale for whoever is called on that thread: the part, and the calls of other trees in it.
//
// Threads: handles may be dropped on any thread, also while the tree runs: the count is atomic, and
// the last drop tells the owner, which frees the block or queues it. While a drop is still under
// way the tree sees the storage as held: it learns of a death late, never early.
#ifndef GRAPHTREE_GRAPHS_STORAGE_H_
#define GRAPHTREE_GRAPHS_STORAGE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "device/address.h"

namespace graphtree {

class Storage;
class StreamLife;

// The maker of a storage. It is told when the last handle is gone, on the thread that dropped that
// handle, and outlives its storages.
class StorageOwner {
 public:
  virtual ~StorageOwner() = default;
  // No handle is left, outside or inside. The owner deletes or reuses the storage.
  virtual void Unreferenced(Storage* storage) = 0;
  // The same where the last handle was inside: this is the thread of the tree's call.
  virtual void UnreferencedInside(Storage* storage) { Unreferenced(storage); }
  // Why `storage` may not be used: who made it, when, and who overwrote it.
  virtual std::string WhyStale(const Storage& storage) const = 0;
  // Work on a stream of another tree uses a storage whose last handle may go now: its bytes may be
  // given away only after that work. The stream is one that its tree does not capture, or has
  // ended. Called on any thread.
  virtual void NoteUsedOn(const std::shared_ptr<StreamLife>& stream) {}
  // Whether somebody else gets the bytes of a storage that is still held, after a step of the
  // owner's ends. The answer stays the same while the storage is held and not stale.
  virtual bool EndsWithStep(const Storage&) const { return false; }
  // Whether the memory is parked: nobody may use the storages' bytes until it is woken. Called on
  // any thread.
  virtual bool is_parked() const { return false; }
  // A call of another tree uses the memory: it is not parked, whoever asks for that, and the owner
  // lives, until LetSleep was called as often. Whoever does not see the memory parked after
  // KeepAwake may use it. False: there is no memory that could be parked, and LetSleep must not be
  // called. Called on any thread, which holds a storage.
  virtual bool KeepAwake() { return false; }
  virtual void LetSleep() {}
  // The device that the storages lie on; empty for those that lie on none.
  virtual std::string DeviceName() const { return ""; }
};

enum class StorageState : uint8_t { kForeign, kOwning, kView, kStale };

// These stand for an output's number. kNotReturned: the body has stored the tensor somewhere and
// not returned it. kOfFailedRun: likewise, in a run that failed or a recording that was given up.
inline constexpr uint32_t kNotReturned = ~uint32_t{0};
inline constexpr uint32_t kOfFailedRun = kNotReturned - 1;
// kScratch: memory for one op, which has been launched (Launcher::Scratch).
inline constexpr uint32_t kScratch = kNotReturned - 2;

// A replay of the recording runs a part on this thread, while this object lives. `recording` is the
// name under which storages know it, or 0 for one that no storage knows.
class RemadeNow {
 public:
  explicit RemadeNow(uint64_t recording) : recording_(recording), outer_(innermost_) {
    innermost_ = this;
  }
  ~RemadeNow() { innermost_ = outer_; }
  RemadeNow(const RemadeNow&) = delete;
  RemadeNow& operator=(const RemadeNow&) = delete;

  static bool Is(uint64_t recording) {
    const RemadeNow* one = innermost_;
    while (one != nullptr && one->recording_ != recording) one = one->outer_;
    return recording != 0 && one != nullptr;
  }

 private:
  static inline constinit thread_local const RemadeNow* innermost_ = nullptr;

  const uint64_t recording_;
  const RemadeNow* const outer_;  // a part of that one calls the tree of this one
};

class Storage {
 public:
  // `place` is the id of a DevicePlace.
  Storage(StorageOwner* owner, AddressRange range, StorageState state,
          const void* place = nullptr)
      : owner_(owner), place_(place), range_(range), state_(state) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  AddressRange range() const { return range_; }
  StorageState state() const { return state_.load(std::memory_order_acquire); }
  // Whether nobody on this thread may use the bytes now.
  bool stale() const { return state() == StorageState::kStale && !RemadeNow::Is(remade_by); }
  StorageOwner* owner() const { return owner_; }
  bool IsElsewhere(const void* place) const { return place_ != nullptr && place_ != place; }

  bool held_outside() const { return outside() > 0; }
  // Whether one handle is all that holds it. For the one who has that handle the answer stays true
  // until it makes another: nobody else can.
  bool held_once() const { return count_.load(std::memory_order_acquire) == 1; }
  uint32_t outside() const {
    return static_cast<uint32_t>(count_.load(std::memory_order_acquire) & (kInside - 1));
  }

  // Handles come and go, on any thread.
  void AddOutside() { count_.fetch_add(1, std::memory_order_relaxed); }
  void DropOutside() {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) owner_->Unreferenced(this);
  }
  // The tree's thread only.
  void AddInside() {
    if (inside_++ == 0) count_.fetch_add(kInside, std::memory_order_relaxed);
  }
  // False if nobody holds the storage: its last handle may be going now, on another thread.
  bool TryAddInside() {
    uint64_t count = count_.load(std::memory_order_relaxed);
    while (inside_ == 0 && count != 0 &&
           !count_.compare_exchange_weak(count, count + kInside, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
    }
    if (inside_ == 0 && count == 0) return false;
    ++inside_;
    return true;
  }
  void DropInside() {
    if (--inside_ > 0) return;
    if (count_.fetch_sub(kInside, std::memory_order_acq_rel) == kInside) {
      owner_->UnreferencedInside(this);
    }
  }

  // What follows is for the owner.
  void set_state(StorageState state) { state_.store(state, std::memory_order_release); }
  // Back to a storage without handles. REQUIRES: no handle is left.
  void Reset(AddressRange range, StorageState state) {
    range_ = range;
    state_.store(state, std::memory_order_release);
  }

  // The owner's notes: the storage's block, and where the storage comes from.
  uint64_t block = 0;
  bool kept = false;       // outlives its step, and counts towards TreeOptions::kept_bytes
  uint64_t remade_by = 0;  // the recording whose every replay makes it (RemadeNow); or 0
  uint64_t serial = 0;     // differs for every use of this object
  uint64_t producer = 0;   // the function that made it
  uint32_t output = 0;     // which output of that function, or kNotReturned and so on
  uint64_t step = 0;       // the step in which it was made
  uint64_t ended_in = 0;   // the step whose begin made it stale
  uint32_t made_at = 0;    // the stack of the call that made it, in checked mode (call_stack.h)
  uint32_t ended_at = 0;   // likewise, of the call that ended its step
  Storage* next = nullptr;  // in the owner's list of spare ones

 private:
  static constexpr uint64_t kInside = uint64_t{1} << 32;

  StorageOwner* const owner_;
  const void* const place_;
  AddressRange range_;
  std::atomic<StorageState> state_;
  std::atomic<uint64_t> count_{0};
  uint32_t inside_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_STORAGE_H_
