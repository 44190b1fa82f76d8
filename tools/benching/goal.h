// What a row promises, written as people write it:
//
//   ratio <= 1.2           ours / baseline
//   difference <= 30 ns    ours - baseline
//   value <= 200 ns        ours alone
//
// The relation is one of <=, <, >=, >. Times (ns, us, ms, s) and sizes (B, KiB, MiB, GiB) are
// turned into the row's unit, so a row in ns may promise "value <= 2 us".
#ifndef GRAPHTREE_TOOLS_BENCHING_GOAL_H_
#define GRAPHTREE_TOOLS_BENCHING_GOAL_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphtree::bench {

class Goal {
 public:
  // unit: the row's. Fails with a sentence where the text says something else than the above.
  static absl::StatusOr<Goal> Parse(absl::string_view text, absl::string_view unit);

  // Whether the numbers keep the promise. Only a goal on the value does without a baseline.
  bool Met(double ours, std::optional<double> baseline) const;

  bool needs_baseline() const { return subject_ != Subject::kValue; }

 private:
  enum class Subject { kRatio, kDifference, kValue };

  Subject subject_ = Subject::kValue;
  std::string relation_;
  double limit_ = 0;
};

// 1234.5, "ns" -> "1.23 us": three digits, in the unit that keeps the number short.
std::string FormatValue(double value, absl::string_view unit);

}  // namespace graphtree::bench

#endif  // GRAPHTREE_TOOLS_BENCHING_GOAL_H_
