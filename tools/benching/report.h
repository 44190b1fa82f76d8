// Runs rows and says what came out: a table for people, JSON for scripts.
#ifndef GRAPHTREE_TOOLS_BENCHING_REPORT_H_
#define GRAPHTREE_TOOLS_BENCHING_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/benching/row.h"

namespace graphtree::bench {

enum class Verdict { kMet, kMissed, kNoGoal, kSkipped, kFailed };

struct Result {
  RowSpec spec;
  Verdict verdict = Verdict::kFailed;
  std::string reason = {};  // why it was skipped or failed
  Measurement measurement = {};

  std::optional<double> ratio() const;
  std::optional<double> difference() const;
};

// Runs the row's body and judges what it returns.
Result RunRow(const Row& row);

// Aligned columns under a heading, one line for each row.
std::string Table(const std::vector<Result>& results);

// {"rows":[...]} with one row on each line, so that shell scripts can join several files.
std::string Json(const std::vector<Result>& results);

// "3 met, 1 missed, 0 without goal, 2 skipped, 0 failed"
std::string Count(const std::vector<Result>& results);

}  // namespace graphtree::bench

#endif  // GRAPHTREE_TOOLS_BENCHING_REPORT_H_
