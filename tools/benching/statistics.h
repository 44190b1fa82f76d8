// Middle and tail of many samples.
#ifndef GRAPHTREE_TOOLS_BENCHING_STATISTICS_H_
#define GRAPHTREE_TOOLS_BENCHING_STATISTICS_H_

#include <utility>
#include <vector>

namespace graphtree::bench {

// The value that the given share of samples (0 to 1) does not exceed, interpolated between the two
// nearest. There must be a sample.
double Percentile(std::vector<double> samples, double share);

inline double Median(std::vector<double> samples) { return Percentile(std::move(samples), 0.5); }

// How far the middle half of the samples spreads, as a share of their median: 0.02 is calm, 0.5 is
// a machine that does something else at the same time.
double Spread(const std::vector<double>& samples);

}  // namespace graphtree::bench

#endif  // GRAPHTREE_TOOLS_BENCHING_STATISTICS_H_
