// The gate lets one thread at a time into a tree: a caller, or a thread that only looks.
//
//   free --TryEnter--> called --Leave--> free        a second caller gets false
//   free --Look------> looked at --Leave--> free     a caller that comes waits: a look is short
//   free --Change----> changed ----Leave--> free     as a look, for who uses the tree's memory
//
//                   while it is called           while it is looked at, or changed
//   TryEnter        false                        waits; false on the thread that is in
//   Enter           waits; false on its thread   waits; false on the thread that is in
//   Look, Change    waits; false on its thread   waits; false on the thread that is in
//
// A caller may make several calls of which each relies on what the one before has seen. Then it
// keeps the tree: until it lets go, Change waits on other threads, also between those calls.
//
// So a thread that asks for figures makes no call fail, and no thread waits for itself.
//
// Threads: any. Cost: entering is one atomic operation.
#ifndef GRAPHTREE_GRAPHS_RUN_GATE_H_
#define GRAPHTREE_GRAPHS_RUN_GATE_H_

#include <atomic>
#include <cstdint>
#include <thread>

namespace graphtree {

class Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  bool TryEnter() {
    State seen = State::kFree;
    if (!state_.compare_exchange_strong(seen, State::kCalled, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
      if (seen == State::kCalled || !EnterAfterLook()) return false;
    }
    thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    return true;
  }
  // For a thread that closes the tree: enters after the call that runs.
  bool Enter() { return WaitFor(State::kCalled); }
  bool Look() { return WaitFor(State::kLookedAt); }
  bool Change();
  // For the tree's caller, between calls. Does nothing if another thread keeps the tree.
  void Keep() {
    std::thread::id nobody;
    keeper_.compare_exchange_strong(nobody, std::this_thread::get_id());
  }
  void LetGo() {
    std::thread::id mine = std::this_thread::get_id();
    keeper_.compare_exchange_strong(mine, std::thread::id());
  }
  // REQUIRES: this thread has entered, or looks.
  void Leave() {
    thread_.store(std::thread::id(), std::memory_order_relaxed);
    state_.store(State::kFree, std::memory_order_release);
  }

  // Relaxed order is enough: no thread stores an id but its own.
  bool is_mine() const {
    return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  // A call runs, or a change, on another thread than this one: the tree's memory is in use there.
  bool is_used_elsewhere() const {
    const State state = state_.load(std::memory_order_acquire);
    return (state == State::kCalled || state == State::kChanged) && !is_mine();
  }
  // Whether another thread is in, for whatever. If two threads are each in one of two gates and ask
  // this of the other gate, at least one of them gets true.
  bool IsOthers() const {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return state_.load(std::memory_order_acquire) != State::kFree && !is_mine();
  }
  // The thread that is in has made no call.
  bool is_looked_at() const {
    const State state = state_.load(std::memory_order_relaxed);
    return state == State::kLookedAt || state == State::kChanged;
  }

 private:
  enum class State : uint8_t { kFree, kCalled, kLookedAt, kChanged };

  bool EnterAfterLook();
  bool WaitFor(State wanted);

  std::atomic<State> state_{State::kFree};
  std::atomic<std::thread::id> thread_{};  // the thread that is in
  std::atomic<std::thread::id> keeper_{};
};

// Looks for as long as it lives. Does nothing if its thread is in the tree already.
class Looking {
 public:
  explicit Looking(Gate& gate) : Looking(gate, gate.Look()) {}
  ~Looking() {
    if (looks_) gate_.Leave();
  }
  Looking(const Looking&) = delete;
  Looking& operator=(const Looking&) = delete;
  // False: this is the thread of a call that runs, or of somebody who looks already.
  bool is_outermost() const { return looks_; }

 protected:
  Looking(Gate& gate, bool looks) : gate_(gate), looks_(looks) {}

 private:
  Gate& gate_;
  const bool looks_;
};

// The same, with Change.
class Changing : public Looking {
 public:
  explicit Changing(Gate& gate) : Looking(gate, gate.Change()) {}
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_GATE_H_
