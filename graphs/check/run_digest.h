// A run digest has the form of each output (output_compare.h), and a digest of each tensor that a
// run left in memory, so that two runs can be compared.
//
//   run of the body   output 0: d0 d1 d2   output 1: d3   output 2: 7
//   replay            output 0: d0 d4 d2   output 1: d3   output 2: 7
//                                  output 0 differs at bytes 256 to 511
//
// Checked mode compares a recording's first replay with two runs of its body on the same inputs.
// Where these two differ the bytes say nothing: nobody writes them, or the body is not
// deterministic. Where they agree and the replay differs, a value that the body computed on the
// host has changed since it was recorded, or work went to another stream and is not in the graph.
#ifndef GRAPHTREE_GRAPHS_CHECK_RUN_DIGEST_H_
#define GRAPHTREE_GRAPHS_CHECK_RUN_DIGEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphs/check/content_digest.h"
#include "graphs/check/output_compare.h"
#include "graphs/tensor.h"

namespace graphtree {

class RunDigest {
 public:
  // Reads in the order of the reader's stream, and waits.
  static absl::StatusOr<RunDigest> Of(ContentReader& reader, absl::Span<const Value> outputs);

  // From now on pieces are not compared where `again`, another run of the same body, differs; and
  // an output's form may be that of either.
  void ForgetUnsettled(const RunDigest& again);
  // The first output that is another one in `replay`, as FirstFormDifference says it; empty if none
  // is.
  std::string FormDifferenceOf(const RunDigest& replay) const;
  // "output 0 at bytes 256 to 511": the first place that differs; empty if there is none.
  std::string ByteDifferenceOf(const RunDigest& replay) const;

 private:
  struct Row {
    uint64_t bytes = 0;
    ContentDigest digest;
    std::vector<bool> unsettled;  // by piece of 256 bytes; empty: none is
  };

  std::vector<Row> rows_;  // by output
  OutputForms forms_;
  OutputForms again_;  // those of the other run; until there is one, the same
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_CHECK_RUN_DIGEST_H_
