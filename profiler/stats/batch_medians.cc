// Every stride-th value goes into the open batch.
#include "profiler/stats/batch_medians.h"

#include <algorithm>

namespace graphtree::trace {

void BatchMedians::Add(int64_t value) {
  if (++skipped_ < stride_) return;
  skipped_ = 0;
  open_.push_back(value);
  if (open_.size() < kLookedAt) return;
  std::nth_element(open_.begin(), open_.begin() + kLookedAt / 2, open_.end());
  medians_.push_back(static_cast<double>(open_[kLookedAt / 2]));
  open_.clear();
  if (medians_.size() == kMostBatches) Halve();
}

void BatchMedians::Halve() {
  for (size_t i = 0; i < kMostBatches / 2; ++i) {
    medians_[i] = (medians_[2 * i] + medians_[2 * i + 1]) / 2;
  }
  medians_.resize(kMostBatches / 2);
  stride_ *= 2;
}

}  // namespace graphtree::trace
