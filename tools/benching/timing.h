// Times calls, alone or against a baseline in the same run.
//
// A single call is too short for a clock, and a machine drifts: the clock speed, the caches and the
// neighbours of one second are not those of the next. So calls are timed in batches, the batches of
// the two sides alternate, and the median of many batches is what counts:
//
//   ours    ####      ####  ####      ####
//   base        ####  ####      ####  ####     <- order swaps, so that neither always comes second
//   time ------------------------------------>
//
//   Measurement pair = ComparePair([&] { ours(); }, [&] { bare(); });
//   Measurement alone = Measure([&] { ours(); });
//
// A call's cost includes the loop around it (about 0.3 ns), on both sides alike. What a call
// computes must be used, or the compiler removes it: DoNotOptimize(result); what it only writes to
// memory is used by ClobberMemory().
//
// Asynchronous work: set `between` to whatever drains the queue, and `most_calls` below the number
// of launches that the queue takes before a launch waits (about 1000 for a CUDA stream).
#ifndef GRAPHTREE_TOOLS_BENCHING_TIMING_H_
#define GRAPHTREE_TOOLS_BENCHING_TIMING_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>

namespace graphtree::bench {

struct TimingOptions {
  int batches = 101;             // of each side
  double batch_ns = 500'000;     // how long a batch should take; its number of calls follows
  int64_t most_calls = 1 << 24;  // in one batch
  int warm_up_batches = 3;       // run and thrown away
  std::function<void()> between = [] {};  // before every batch, not timed
};

// All times in nanoseconds for one call.
struct Measurement {
  double ours = 0;
  std::optional<double> baseline = std::nullopt;
  double spread = 0;  // of our side, see Spread()
};

// For calls that are timed one by one.
inline double NowNs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::nano>(now).count();
}

// Set by a bench's --smoke: everything runs once or twice, only to see that it runs.
void SetSmoke(bool smoke);
bool Smoke();

// Runs a batch of that many calls and returns how long it took, in nanoseconds.
using BatchTimer = std::function<double(int64_t calls)>;

// The core, which tests drive with a clock of their own.
Measurement MeasureBatches(const BatchTimer& ours, const TimingOptions& options);
Measurement CompareBatches(const BatchTimer& ours, const BatchTimer& baseline,
                           const TimingOptions& options);

// The value must be computed, as if somebody read it here. Memory is not touched: what a loop keeps
// in registers stays there.
template <typename T>
inline void DoNotOptimize(const T& value) {
  if constexpr (std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(void*)) {
    asm volatile("" : : "r"(value));
  } else {
    asm volatile("" : : "m"(value));
  }
}

// Everything in memory may have been read or written here.
inline void ClobberMemory() { asm volatile("" : : : "memory"); }

template <typename Call>
BatchTimer TimerOf(Call& call) {
  return [&call](int64_t calls) {
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < calls; ++i) call();
    const auto end = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::nano>(end - start).count();
  };
}

template <typename Ours>
Measurement Measure(Ours ours, const TimingOptions& options = {}) {
  return MeasureBatches(TimerOf(ours), options);
}

template <typename Ours, typename Baseline>
Measurement ComparePair(Ours ours, Baseline baseline, const TimingOptions& options = {}) {
  return CompareBatches(TimerOf(ours), TimerOf(baseline), options);
}

}  // namespace graphtree::bench

#endif  // GRAPHTREE_TOOLS_BENCHING_TIMING_H_
