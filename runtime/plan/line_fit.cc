// Least squares, and the error of a further point.
#include "runtime/plan/line_fit.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace graphtree {
namespace {

// Student's distribution: 95 % lie within so many standard errors, by degrees of freedom from 1 on.
double StudentOf(size_t freedom) {
  constexpr double kTable[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23};
  return freedom <= std::size(kTable) ? kTable[freedom - 1] : 2.1;
}

}  // namespace

LineFit::Line LineFit::Fit() const {
  Line line;
  const auto count = static_cast<double>(points_.size());
  for (const auto& [size, bytes] : points_) {
    line.mean_size += size / count;
    line.mean_bytes += bytes / count;
  }
  double together = 0;
  for (const auto& [size, bytes] : points_) {
    line.spread += (size - line.mean_size) * (size - line.mean_size);
    together += (size - line.mean_size) * (bytes - line.mean_bytes);
  }
  if (line.spread > 0) line.slope = together / line.spread;
  return line;
}

double LineFit::Scatter() const {
  const Line line = Fit();
  double scatter = 0;
  for (const auto& [size, bytes] : points_) {
    const double off = bytes - line.At(size);
    scatter += off * off;
  }
  return scatter;
}

Guess LineFit::FromNearest(double size, double bytes) const {
  const auto nearest = std::min_element(
      points_.begin(), points_.end(), [size](const auto& a, const auto& b) {
        return std::abs(a.first - size) < std::abs(b.first - size);
      });
  return {std::max(bytes, 0.0), std::abs(bytes - nearest->second) / 2};
}

Guess LineFit::At(double size) const {
  if (points_.empty()) return Guess::Unknown();
  const Line line = Fit();
  if (line.spread == 0) {
    const double ratio = line.mean_size > 0 ? size / line.mean_size : 1;
    const double more = line.mean_bytes * ratio;
    return {(line.mean_bytes + more) / 2,
            std::abs(more - line.mean_bytes) / 2 + std::sqrt(Scatter())};
  }
  if (points_.size() == 2) return FromNearest(size, line.At(size));
  const auto count = static_cast<double>(points_.size());
  const double deviation = std::sqrt(Scatter() / (count - 2));
  const double away = size - line.mean_size;
  const double reach = std::sqrt(1 + 1 / count + away * away / line.spread);
  return {std::max(line.At(size), 0.0), StudentOf(points_.size() - 2) * deviation * reach};
}

}  // namespace graphtree
