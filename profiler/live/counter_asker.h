// Asks counters now and then, on a thread of its own.
//
//   asker    | ask | rest | ask ============ (waits for a step) ==== | over: goes
//   profile  rounds go on                          Stop: waits a while, and then no longer
//
// Whoever answers may wait for a step to end, and that step may be the one that ends the profile.
// So the profile's other thread does not ask, and Stop does not wait for an answer for ever: a
// thread that is left behind holds what it needs, hands nothing over any more, and ends when it is
// answered.
//
// Threads: Start and Stop by one at a time. Cost: what the counters take.
#ifndef GRAPHTREE_PROFILER_LIVE_COUNTER_ASKER_H_
#define GRAPHTREE_PROFILER_LIVE_COUNTER_ASKER_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "profiler/profile_options.h"

namespace graphtree::live {

class CounterAsker {
 public:
  // Called on the asker's thread, and never once Stop has returned.
  using Sink = std::function<void(const ProfileCounter& counter, double value)>;

  CounterAsker() = default;
  ~CounterAsker() { Stop(std::chrono::seconds(2)); }
  CounterAsker(const CounterAsker&) = delete;
  CounterAsker& operator=(const CounterAsker&) = delete;

  // An error if the system has no thread. Without counters nothing is started.
  absl::Status Start(std::vector<ProfileCounter> counters, std::chrono::nanoseconds every,
                     Sink sink);
  // Asks once more, and ends. False if a counter did not answer in that time.
  bool Stop(std::chrono::nanoseconds patience);

  // How many threads were left behind and are not done by now; those that are done are joined.
  static size_t LeftBehind();

 private:
  struct State;
  struct Left;
  static void Run(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace graphtree::live

#endif  // GRAPHTREE_PROFILER_LIVE_COUNTER_ASKER_H_
