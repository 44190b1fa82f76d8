// What several trees may hold together, beside what each of them may by its own budget (budget.h).
//
//   limit   |-- tree A has taken --|-- tree B has taken --|........ free ........|
//
// A tree takes before it makes something, and gives back what it has evicted or has not made. So
// the limits are never exceeded, whatever threads the trees run on, and a tree alone may have all.
//
// A tree that finds nothing left evicts of its own. If it has less than its fair share, the limit
// by the number of trees, it also notes that it is short: then whoever owns the trees has others
// give up what they have beyond theirs (Tree::GiveUp).
//
// Threads: any. Cost: a lock, in calls that are no replays.
#ifndef GRAPHTREE_GRAPHS_SHARED_BUDGET_H_
#define GRAPHTREE_GRAPHS_SHARED_BUDGET_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>

namespace graphtree {

// So many things that trees make and that a budget counts.
struct Share {
  uint64_t nodes = 0;
  uint64_t executables = 0;
  uint64_t executable_bytes = 0;  // device memory

  bool FitsInto(const Share& other) const {
    return nodes <= other.nodes && executables <= other.executables &&
           executable_bytes <= other.executable_bytes;
  }
  Share operator+(const Share& more) const {
    return {nodes + more.nodes, executables + more.executables,
            executable_bytes + more.executable_bytes};
  }
  // By how much each of these numbers is larger than the other's; 0 where it is not.
  Share Beyond(const Share& other) const {
    return {std::max(nodes, other.nodes) - other.nodes,
            std::max(executables, other.executables) - other.executables,
            std::max(executable_bytes, other.executable_bytes) - other.executable_bytes};
  }
};

class SharedBudget {
 public:
  // 0 is no limit.
  explicit SharedBudget(const Share& limits)
      : limits_{OrNone(limits.nodes), OrNone(limits.executables), OrNone(limits.executable_bytes)} {
  }
  SharedBudget(const SharedBudget&) = delete;
  SharedBudget& operator=(const SharedBudget&) = delete;

  const Share& limits() const { return limits_; }
  // All of it, or nothing and false.
  bool Take(const Share& more) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!more.FitsInto(limits_.Beyond(taken_))) return false;
    taken_ = taken_ + more;
    return true;
  }
  // REQUIRES: it was taken.
  void Give(const Share& back) {
    const std::lock_guard<std::mutex> lock(mutex_);
    taken_ = taken_.Beyond(back);
  }
  Share free() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return limits_.Beyond(taken_);
  }

  // A tree comes, or goes.
  void Join() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++trees_;
  }
  void Leave() {
    const std::lock_guard<std::mutex> lock(mutex_);
    --trees_;
  }
  // The limits, by the number of trees: no less than one of each.
  Share fair_share() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto part = [this](uint64_t limit) {
      return std::max<uint64_t>(limit / std::max<uint64_t>(trees_, 1), 1);
    };
    return {part(limits_.nodes), part(limits_.executables), part(limits_.executable_bytes)};
  }

  // A tree that has less than its fair share has found nothing left.
  void NoteShort() {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_short_ = true;
  }
  // Whether one was short since the last time.
  bool TakeShort() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool was_short = is_short_;
    is_short_ = false;
    return was_short;
  }

 private:
  static uint64_t OrNone(uint64_t limit) {
    return limit > 0 ? limit : std::numeric_limits<uint64_t>::max();
  }

  const Share limits_;
  mutable std::mutex mutex_;
  Share taken_;
  uint64_t trees_ = 0;
  bool is_short_ = false;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_SHARED_BUDGET_H_
