// A row is one figure that the project promises: our number, what it is held against, the goal.
//
// A bench file declares rows; bench_main.cc runs them, prints a table and writes JSON. The file is
// built by cc_bench (bazel/bench_rules.bzl) and found by `tools/bench` by its tag.
//
//   GRAPHTREE_ROW(CheckPasses, {.name = "base.check.passes",
//                               .ours = "a loop with a check",
//                               .against = "the same loop without",
//                               .goal = "difference <= 1 ns"}) {
//     return ComparePair([&] { ... }, [&] { ... });
//   }
//
// The body returns one of three things:
//   - a Measurement: numbers in the row's unit. ComparePair and Measure (timing.h) make them; any
//     other source is fine, as long as both numbers come from the same run;
//   - Skipped("needs a GPU: " + why): what the row needs is not on this machine;
//   - an absl::Status that is not OK: the row should have worked and did not.
// Rows that come in sizes register themselves in a loop with RegisterRow.
#ifndef GRAPHTREE_TOOLS_BENCHING_ROW_H_
#define GRAPHTREE_TOOLS_BENCHING_ROW_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/benching/timing.h"

namespace graphtree::bench {

struct RowSpec {
  std::string name = {};     // "device.cuda.launch": folder, part, figure
  std::string ours = {};     // what our number is, in a few words
  std::string against = {};  // what the other number is; empty for a row with ours alone
  std::string unit = "ns";
  std::string goal = {};  // see goal.h; empty: the figure is only reported
};

// What a row's body returns.
class Outcome {
 public:
  Outcome(Measurement measurement) : measurement_(measurement) {}  // NOLINT: bodies return either
  Outcome(absl::Status status) : status_(std::move(status)) {}     // NOLINT
  Outcome(absl::StatusOr<Measurement> either)                      // NOLINT
      : status_(either.status()),
        measurement_(either.ok() ? std::optional<Measurement>(*either) : std::nullopt) {}

  static Outcome Skip(std::string reason);

  const absl::Status& status() const { return status_; }
  const std::string& skip_reason() const { return skip_reason_; }
  const std::optional<Measurement>& measurement() const { return measurement_; }

 private:
  absl::Status status_;
  std::string skip_reason_;
  std::optional<Measurement> measurement_;
};

inline Outcome Skipped(std::string reason) { return Outcome::Skip(std::move(reason)); }

using RowBody = std::function<Outcome()>;

struct Row {
  RowSpec spec;
  RowBody body;
};

// Adds a row to this binary. The name must be new and the goal readable; both are checked. Returns
// true, so that it can initialise a global.
bool RegisterRow(RowSpec spec, RowBody body);

// All rows of this binary, sorted by name.
std::vector<Row> RegisteredRows();

#define GRAPHTREE_ROW(id, ...)                                        \
  static ::graphtree::bench::Outcome GraphtreeRow##id();              \
  [[maybe_unused]] static const bool graphtree_row_registered_##id =  \
      ::graphtree::bench::RegisterRow(__VA_ARGS__, GraphtreeRow##id); \
  static ::graphtree::bench::Outcome GraphtreeRow##id()

}  // namespace graphtree::bench

#endif  // GRAPHTREE_TOOLS_BENCHING_ROW_H_
