// A line through a few measured points, and how far off it may be elsewhere.
//
//   bytes |            /  :           :  error bar: from how far the points lie off the line, and
//         |       x  /    :              from how far away from them one asks
//         |    x /
//         |   /x
//         +------------------ size
//
//   points   guess                                             error
//   none     nothing                                           unknown
//   one      between the same and as much for each unit        half of what lies between
//   two      the line                                          half of what the line adds to the
//                                                              nearer point
//   more     the line                                          95 % of a further point's distance,
//                                                              by Student's distribution
//
// A guess is never negative. Pure. Cost: linear in the number of points.
#ifndef GRAPHTREE_RUNTIME_PLAN_LINE_FIT_H_
#define GRAPHTREE_RUNTIME_PLAN_LINE_FIT_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "runtime/plan/guess.h"

namespace graphtree {

class LineFit {
 public:
  void Add(double size, double bytes) { points_.push_back({size, bytes}); }
  size_t count() const { return points_.size(); }
  Guess At(double size) const;
  // The sum of the squares of how far the points lie off the line.
  double Scatter() const;

 private:
  struct Line {
    double mean_size = 0;
    double mean_bytes = 0;
    double slope = 0;
    double spread = 0;  // of the sizes: the sum of the squares around their mean
    double At(double size) const { return mean_bytes + slope * (size - mean_size); }
  };
  Line Fit() const;
  Guess FromNearest(double size, double bytes) const;

  std::vector<std::pair<double, double>> points_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_PLAN_LINE_FIT_H_
