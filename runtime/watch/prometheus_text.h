// Writes Prometheus' text format, 0.0.4: families of samples, with escaped labels.
//
//   PrometheusText text;
//   text.Family("graphtree_steps_total", "counter", "Steps that ran.");
//   text.Sample({{"lane", "0"}}, 12);
//
// Thread rule: like a container.
#ifndef GRAPHTREE_RUNTIME_WATCH_PROMETHEUS_TEXT_H_
#define GRAPHTREE_RUNTIME_WATCH_PROMETHEUS_TEXT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/watch/durations.h"

namespace graphtree {

class PrometheusText {
 public:
  using Labels = std::vector<std::pair<absl::string_view, std::string>>;

  // The samples that follow belong to it. `type`: "counter", "gauge" or "histogram".
  void Family(absl::string_view name, absl::string_view type, absl::string_view help);
  void Sample(const Labels& labels, uint64_t value);
  void Sample(const Labels& labels, double value);
  // Of a histogram, in seconds.
  void Histogram(const Labels& labels, const DurationCounts& durations);

  const std::string& text() const { return text_; }

 private:
  void Line(absl::string_view suffix, const Labels& labels, absl::string_view value);

  std::string name_;
  std::string text_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WATCH_PROMETHEUS_TEXT_H_
