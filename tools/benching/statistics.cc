// Percentiles by sorting: there are hundreds of samples, not millions.
#include "tools/benching/statistics.h"

#include <algorithm>
#include <cmath>

#include "device/base/check.h"

namespace graphtree::bench {

double Percentile(std::vector<double> samples, double share) {
  GRAPHTREE_CHECK(!samples.empty() && share >= 0 && share <= 1)
      << samples.size() << " samples, share " << share;
  std::sort(samples.begin(), samples.end());
  const double place = share * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<size_t>(std::floor(place));
  const size_t above = std::min(below + 1, samples.size() - 1);
  const double weight = place - static_cast<double>(below);
  return samples[below] * (1 - weight) + samples[above] * weight;
}

double Spread(const std::vector<double>& samples) {
  const double median = Median(samples);
  if (median == 0) return 0;
  return (Percentile(samples, 0.75) - Percentile(samples, 0.25)) / std::abs(median);
}

}  // namespace graphtree::bench
