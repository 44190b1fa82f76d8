// Every call to a pool comes through here first: the door refuses the call, or lets it in after
// doing the work that waits for the next call.
//
//   call --> is another thread inside? --> is work waiting? --> is the pool closed? --> the call
//              refused                       done first           refused
//
// IsUnusual asks for all three; usually none holds. Every public function of the pool and of its
// parts begins with
//
//   const Door::Entry entry(door_.guard());
//   GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
//
// A pool is open; or parked, and its bytes cannot be used; or asking its server for memory in the
// middle of an allocation; or closing, until a capture has ended; or closed. The door knows which,
// and writes the refusal's message.
//
// Threads: a second thread that comes in is refused, and never waits (thread_guard.h). Any thread
// may add waiting work (waiting_work.h).
#ifndef GRAPHTREE_ALLOCATOR_POOL_DOOR_H_
#define GRAPHTREE_ALLOCATOR_POOL_DOOR_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "allocator/books/block_record.h"
#include "allocator/order/thread_guard.h"
#include "allocator/pool/arena.h"
#include "allocator/pool/waiting_work.h"

namespace graphtree {

class Door {
 public:
  using Entry = ThreadGuard::Entry;
  // Does the work that waits. Called for an unusual entry, unless it is a second thread's.
  using WhatWaits = std::function<absl::Status(const Entry&)>;

  Door(const Arena& arena, WhatWaits what_waits)
      : name_(arena.name()), waiting_(&arena.device()), what_waits_(std::move(what_waits)) {}
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  ThreadGuard& guard() const { return guard_; }
  // True if a call must look more closely before it does its work.
  bool IsUnusual(const Entry& entry) const {
    return !entry.ok() || is_special_ || waiting_.any();
  }
  absl::Status Enter(const Entry& entry) {
    return IsUnusual(entry) ? EnterUnusual(entry) : absl::OkStatus();
  }
  absl::Status EnterUnusual(const Entry& entry);
  // For a call that cannot return an error: true if a second thread made it. The first such call is
  // kept as an error.
  bool IsRefused(const Entry& entry, absl::string_view call);
  absl::Status first_refused_call() const;

  WaitingWork& waiting() { return waiting_; }
  const WaitingWork& waiting() const { return waiting_; }

  // How far the memory is parked. May be asked on any thread.
  bool is_parked() const { return (parked_.load(std::memory_order_acquire) & kAll) != 0; }
  bool has_parked() const {
    return (parked_.load(std::memory_order_acquire) & (kAll | kPart)) != 0;
  }
  bool has_parked_or_will() const { return parked_.load(std::memory_order_acquire) != 0; }
  void SetParked(bool parked) { Set(kAll, parked); }
  void SetPartParked(bool parked) { Set(kPart, parked); }
  // A park waits for a capture to end.
  void SetParkWaits(bool waits) { Set(kWaits, waits); }
  absl::Status UsedWhileParked(absl::string_view what) const;

  // Between the two the server is asked for memory, and an allocation is half done. `block` is the
  // one that is being made; no block if it has no place yet.
  void BeginAsking(BlockId block);
  void EndAsking() { is_asking_ = is_special_ = false; }
  bool is_asking() const { return is_asking_; }
  bool IsAskedFor(BlockId block) const { return is_asking_ && block == asked_for_; }
  absl::Status NotWhileAsking(absl::string_view what) const;

  // From here on every call is refused, and no free is queued.
  void BeginClosing();
  void SetClosed();
  bool is_closed() const { return is_closed_; }
  bool is_closing() const { return is_closing_; }
  absl::Status Closed() const;

 private:
  enum ParkState : uint8_t { kAll = 1, kPart = 2, kWaits = 4 };

  void Set(ParkState state, bool holds) {
    if (holds) {
      parked_.fetch_or(state, std::memory_order_acq_rel);
    } else {
      parked_.fetch_and(static_cast<uint8_t>(~state), std::memory_order_acq_rel);
    }
  }

  // For the thread inside of the pool.
  mutable ThreadGuard guard_;
  bool is_special_ = false;  // asking, closing or closed: one test for the three
  std::atomic<uint8_t> parked_{0};  // ParkStates
  bool is_asking_ = false;
  bool is_closing_ = false;
  bool is_closed_ = false;
  BlockId asked_for_;
  const std::string name_;
  // For any thread.
  WaitingWork waiting_;
  const WhatWaits what_waits_;
  mutable std::mutex mutex_;
  absl::Status first_refused_call_;  // guarded by mutex_
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_DOOR_H_
