// Asks without a lock, hands over under one.
#include "profiler/live/counter_asker.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "device/base/guarded_call.h"

namespace graphtree::live {

struct CounterAsker::State {
  std::vector<ProfileCounter> counters;  // used by the thread alone
  std::chrono::nanoseconds every;
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex:
  Sink sink;  // null once nothing is handed over any more
  bool stops = false;
  bool is_done = false;
};

// The threads that were left behind, until they are done.
struct CounterAsker::Left {
  struct One {
    std::shared_ptr<State> state;
    std::thread thread;
  };
  std::mutex mutex;
  std::vector<One> all;  // guarded by mutex

  // Such a thread may be there to the end of the process.
  static Left& OfProcess() {
    static auto* const left = new Left;
    return *left;
  }
};

size_t CounterAsker::LeftBehind() {
  Left& left = Left::OfProcess();
  const std::lock_guard<std::mutex> lock(left.mutex);
  const auto is_gone = [](Left::One& one) {
    {
      const std::lock_guard<std::mutex> of_one(one.state->mutex);
      if (!one.state->is_done) return false;
    }
    one.thread.join();
    return true;
  };
  left.all.erase(std::remove_if(left.all.begin(), left.all.end(), is_gone), left.all.end());
  return left.all.size();
}

void CounterAsker::Run(const std::shared_ptr<State>& state) {
  for (bool is_last = false; !is_last;) {
    {
      const std::lock_guard<std::mutex> lock(state->mutex);
      is_last = state->stops;
    }
    for (const ProfileCounter& counter : state->counters) {
      const double value = counter.value();
      const std::lock_guard<std::mutex> lock(state->mutex);
      if (state->sink != nullptr) state->sink(counter, value);
    }
    std::unique_lock<std::mutex> lock(state->mutex);
    if (!is_last) state->changed.wait_for(lock, state->every, [&] { return state->stops; });
  }
  // What the counters hold goes with the thread: nobody may come for one that was left behind.
  state->counters.clear();
  const std::lock_guard<std::mutex> lock(state->mutex);
  state->is_done = true;
  state->changed.notify_all();
}

absl::Status CounterAsker::Start(std::vector<ProfileCounter> counters,
                                 std::chrono::nanoseconds every, Sink sink) {
  LeftBehind();
  if (counters.empty()) return absl::OkStatus();
  state_ = std::make_shared<State>();
  state_->counters = std::move(counters);
  state_->every = every;
  state_->sink = std::move(sink);
  return GuardedBy("starting the thread that asks counters", [this] {
    thread_ = std::thread([state = state_] { Run(state); });
  });
}

bool CounterAsker::Stop(std::chrono::nanoseconds patience) {
  if (!thread_.joinable()) return true;
  bool is_done = false;
  {
    std::unique_lock<std::mutex> lock(state_->mutex);
    state_->stops = true;
    state_->changed.notify_all();
    is_done = state_->changed.wait_for(lock, patience, [this] { return state_->is_done; });
    state_->sink = nullptr;
  }
  if (is_done) {
    thread_.join();
    return true;
  }
  Left& left = Left::OfProcess();
  const std::lock_guard<std::mutex> lock(left.mutex);
  left.all.push_back({state_, std::move(thread_)});
  return false;
}

}  // namespace graphtree::live
