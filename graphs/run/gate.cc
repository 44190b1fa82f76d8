// Waits in short naps: no thread is in for long, and a caller must not pay for waking others.
#include "graphs/run/gate.h"

#include <chrono>

namespace graphtree {
namespace {

constexpr std::chrono::microseconds kPause(50);

}  // namespace

bool Gate::EnterAfterLook() {
  for (;;) {
    if (is_mine()) return false;
    std::this_thread::yield();
    State seen = State::kFree;
    if (state_.compare_exchange_strong(seen, State::kCalled, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      return true;
    }
    if (seen == State::kCalled) return false;
  }
}

// This thread looks for a keeper after it has entered the gate. There are two cases:
//   the keeper's call came first       then this thread sees the keeper here, and leaves
//   this thread entered first          then the keeper's call waits, and sees what was changed
bool Gate::Change() {
  for (;;) {
    if (!WaitFor(State::kChanged)) return false;
    const std::thread::id keeper = keeper_.load();
    if (keeper == std::thread::id() || keeper == std::this_thread::get_id()) return true;
    Leave();
    std::this_thread::sleep_for(kPause);
  }
}

bool Gate::WaitFor(State wanted) {
  constexpr int kTriesInARow = 64;  // there is little time between two calls of a busy caller
  if (is_mine()) return false;
  for (int tries = 1;; ++tries) {
    State seen = State::kFree;
    if (state_.compare_exchange_strong(seen, wanted, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      break;
    }
    if (tries % kTriesInARow == 0) std::this_thread::sleep_for(kPause);
  }
  thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  return true;
}

}  // namespace graphtree
