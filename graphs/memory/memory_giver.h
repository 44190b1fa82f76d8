// Where a tree's call finds no memory in the pool, recordings are given up for it, as they hold
// memory that nobody else can have (budget/keeper.h). The giver knows which calls may have that:
//
//   run at once, part, kept output --allocate--> pool: none --Ask--> giver --> keeper: a recording
//                                                 ^                                  |
//                                                 `------------- tries again <-------'
//
// A recording that is made takes none: nothing can be unmapped before its capture has ended. Nor
// does foreign code, which may be on another thread.
//
// Threads: Ask by any; all else by the tree's caller. The pool may outlive the tree: then nobody
// takes.
#ifndef GRAPHTREE_GRAPHS_MEMORY_MEMORY_GIVER_H_
#define GRAPHTREE_GRAPHS_MEMORY_MEMORY_GIVER_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

#include "allocator/pool_types.h"

namespace graphtree {

struct Function;
struct Node;

class MemoryGiver {
 public:
  // Who takes.
  struct Taker {
    const Function* function = nullptr;
    const Node* replays = nullptr;  // a recording that is under way, and stays; or null
  };
  using Give = std::function<bool(const MemoryWanted&, const Taker&)>;

  MemoryGiver() = default;
  MemoryGiver(const MemoryGiver&) = delete;
  MemoryGiver& operator=(const MemoryGiver&) = delete;

  // While a Taking lives, allocations of its thread may take memory of recordings. May be nested:
  // what an outer one replays is under way in the inner one, too.
  class Taking {
   public:
    Taking(MemoryGiver& giver, Taker taker)
        : giver_(giver), before_(giver.taker_), thread_before_(giver.thread_.load()) {
      if (taker.replays == nullptr) taker.replays = before_.replays;
      giver_.taker_ = taker;
      giver_.thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }
    ~Taking() {
      giver_.thread_.store(thread_before_, std::memory_order_relaxed);
      giver_.taker_ = before_;
    }
    Taking(const Taking&) = delete;
    Taking& operator=(const Taking&) = delete;

   private:
    MemoryGiver& giver_;
    const Taker before_;
    const std::thread::id thread_before_;
  };

  void SetGive(Give give) { give_ = std::move(give); }
  // True if something was given up.
  bool Ask(const MemoryWanted& wanted) {
    // Relaxed order is enough: no thread stores an id but its own.
    if (thread_.load(std::memory_order_relaxed) != std::this_thread::get_id()) return false;
    const bool gives = give_(wanted, taker_);
    if (!gives) lacked_bytes_ = std::max(wanted.missing, wanted.bytes);
    return gives;
  }
  // The bytes that the last unsuccessful Ask wanted.
  uint64_t lacked_bytes() const { return lacked_bytes_; }

 private:
  std::atomic<std::thread::id> thread_{};  // that takes; none: nobody does
  Taker taker_;
  Give give_;
  uint64_t lacked_bytes_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_MEMORY_GIVER_H_
