// The samples of a text in Prometheus' format, to be asked by name and label.
//
//   graphtree_pool_bytes{device="0",lane="0",state="live"} 4096
//
// Pure.
#ifndef GRAPHTREE_TOOLS_WATCH_SAMPLES_H_
#define GRAPHTREE_TOOLS_WATCH_SAMPLES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphtree::watch {

struct Sample {
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;

  // Empty, if there is no such label.
  absl::string_view Label(absl::string_view wanted) const;
};

class Samples {
 public:
  // An error names the line that is none.
  static absl::StatusOr<Samples> Parse(absl::string_view text);

  const std::vector<Sample>& all() const { return all_; }
  bool Has(absl::string_view name) const;
  // Over all samples of that name; and over those whose label has that value.
  double Sum(absl::string_view name) const;
  double Sum(absl::string_view name, absl::string_view label, absl::string_view value) const;

 private:
  std::vector<Sample> all_;
};

}  // namespace graphtree::watch

#endif  // GRAPHTREE_TOOLS_WATCH_SAMPLES_H_
