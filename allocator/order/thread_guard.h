// Notices a second thread that calls a pool while one is inside, at nearly no cost.
//
//   ThreadGuard::Entry entry(guard_);
//   if (!entry.ok()) return entry.status();
//
// The guard looks for a caller's mistake, so it may miss two calls that begin within a nanosecond;
// it never blocks, and what it reports did happen. The thread that entered last is the owner, whose
// frees are done at once; other threads' frees are queued.
#ifndef GRAPHTREE_ALLOCATOR_ORDER_THREAD_GUARD_H_
#define GRAPHTREE_ALLOCATOR_ORDER_THREAD_GUARD_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"

namespace graphtree {

class ThreadGuard {
 public:
  // This thread, as a number that is not zero.
  static uintptr_t ThisThread() {
    static thread_local char address_is_the_name;
    return reinterpret_cast<uintptr_t>(&address_is_the_name);
  }

  class Entry {
   public:
    enum class Kind : uint8_t {
      kOutermost,
      kInner,  // a callback inside the owner's own call
      kSecondThread,
    };

    [[gnu::always_inline]] explicit Entry(ThreadGuard& guard) : guard_(guard) {
      const uintptr_t me = ThisThread();
      const uintptr_t inside = guard.inside_.load(std::memory_order_relaxed);
      if (inside != 0) {
        kind_ = inside == me ? Kind::kInner : Kind::kSecondThread;
        return;
      }
      kind_ = Kind::kOutermost;
      guard.inside_.store(me, std::memory_order_relaxed);
      guard.owner_.store(me, std::memory_order_relaxed);
    }
    [[gnu::always_inline]] ~Entry() {
      if (is_outermost()) guard_.inside_.store(0, std::memory_order_release);
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    Kind kind() const { return kind_; }
    bool ok() const { return kind_ != Kind::kSecondThread; }
    bool is_outermost() const { return kind_ == Kind::kOutermost; }
    static absl::Status TwoThreads() {
      return absl::FailedPreconditionError(
          "two threads use one pool at the same time. Let one call end before the other begins; "
          "only Free may come from any thread.");
    }

   private:
    ThreadGuard& guard_;
    Kind kind_;
  };

  bool IsOwner() const { return owner_.load(std::memory_order_relaxed) == ThisThread(); }

 private:
  std::atomic<uintptr_t> inside_{0};
  std::atomic<uintptr_t> owner_{0};
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_ORDER_THREAD_GUARD_H_
