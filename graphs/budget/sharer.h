// One tree's part in a budget that several share (graphs/shared_budget.h): what it has taken covers
// what it holds, and what it is about to make.
//
//   held                |-- made --|
//   Cover(held + new)   |-- made --|-- new --|      taken, if that is free
//   Settle(held)        |-- made --|                what was not made, or was evicted, goes back
//
// Threads: the tree's caller. Without a shared budget all of it is free.
#ifndef GRAPHTREE_GRAPHS_BUDGET_SHARER_H_
#define GRAPHTREE_GRAPHS_BUDGET_SHARER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "graphs/shared_budget.h"

namespace graphtree {

class Sharer {
 public:
  // May be null: the tree shares nothing.
  explicit Sharer(std::shared_ptr<SharedBudget> budget) : budget_(std::move(budget)) {
    if (budget_ != nullptr) budget_->Join();
  }
  ~Sharer() {
    if (budget_ == nullptr) return;
    budget_->Give(taken_);
    budget_->Leave();
  }
  Sharer(const Sharer&) = delete;
  Sharer& operator=(const Sharer&) = delete;

  // The most that the tree could hold now: its share, and all that is free.
  Share Most() const {
    constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
    return budget_ == nullptr ? Share{kNoLimit, kNoLimit, kNoLimit} : taken_ + budget_->free();
  }
  // Takes what is missing to hold so much. False, and nothing is taken, if it is not free: another
  // tree has taken it.
  bool Cover(const Share& held) {
    if (budget_ == nullptr) return true;
    const Share missing = held.Beyond(taken_);
    if (!budget_->Take(missing)) return false;
    taken_ = taken_ + missing;
    return true;
  }
  void Settle(const Share& held) {
    if (budget_ == nullptr) return;
    const Share back = taken_.Beyond(held);
    taken_ = taken_.Beyond(back);
    budget_->Give(back);
  }
  // The tree wants to hold so much, and others have too much for that.
  void NoteNoRoom(const Share& wanted) {
    if (budget_ != nullptr && wanted.FitsInto(budget_->fair_share())) budget_->NoteShort();
  }

 private:
  const std::shared_ptr<SharedBudget> budget_;
  Share taken_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BUDGET_SHARER_H_
