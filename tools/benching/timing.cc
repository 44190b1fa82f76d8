// Finds a batch size, alternates the sides, takes medians.
#include "tools/benching/timing.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "device/base/check.h"
#include "tools/benching/statistics.h"

namespace graphtree::bench {
namespace {

bool smoke = false;

TimingOptions Effective(TimingOptions options) {
  GRAPHTREE_CHECK(options.batches > 0 && options.most_calls > 0 && options.warm_up_batches >= 0)
      << options.batches << " batches of at most " << options.most_calls << " calls";
  if (smoke) {
    options.batches = 2;
    options.most_calls = std::min<int64_t>(options.most_calls, 2);
    options.warm_up_batches = 0;
  }
  return options;
}

// One side of a comparison.
class Side {
 public:
  Side(const BatchTimer& timer, const TimingOptions& options) : timer_(timer), options_(options) {
    // Doubling until a batch is half as long as wished, then scaling once.
    double took = Time();
    while (took < options.batch_ns / 2 && calls_ < options.most_calls) {
      calls_ = std::min(calls_ * 2, options.most_calls);
      took = Time();
    }
    if (took > 0) {
      const double scaled = static_cast<double>(calls_) * options.batch_ns / took;
      calls_ =
          static_cast<int64_t>(std::clamp(scaled, 1.0, static_cast<double>(options.most_calls)));
    }
    for (int i = 0; i < options.warm_up_batches; ++i) Time();
  }

  void Sample() { samples_.push_back(Time() / static_cast<double>(calls_)); }
  const std::vector<double>& samples() const { return samples_; }

 private:
  double Time() {
    options_.between();
    return timer_(calls_);
  }

  const BatchTimer& timer_;
  const TimingOptions& options_;
  int64_t calls_ = 1;
  std::vector<double> samples_;
};

}  // namespace

void SetSmoke(bool on) { smoke = on; }
bool Smoke() { return smoke; }

Measurement MeasureBatches(const BatchTimer& ours, const TimingOptions& options) {
  const TimingOptions effective = Effective(options);
  Side side(ours, effective);
  for (int i = 0; i < effective.batches; ++i) side.Sample();
  effective.between();
  return {.ours = Median(side.samples()), .spread = Spread(side.samples())};
}

Measurement CompareBatches(const BatchTimer& ours, const BatchTimer& baseline,
                           const TimingOptions& options) {
  const TimingOptions effective = Effective(options);
  Side our_side(ours, effective);
  Side base_side(baseline, effective);
  for (int i = 0; i < effective.batches; ++i) {
    Side* first = &our_side;
    Side* second = &base_side;
    if (i % 2 == 1) std::swap(first, second);
    first->Sample();
    second->Sample();
  }
  effective.between();
  return {.ours = Median(our_side.samples()),
          .baseline = Median(base_side.samples()),
          .spread = Spread(our_side.samples())};
}

}  // namespace graphtree::bench
