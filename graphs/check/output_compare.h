// Compares what outputs are, apart from the bytes of tensors: how many there are, the kind of each,
// integers, versions of objects, layouts, and which memory of the caller's a tensor is.
//
//   a run of the body       7    f32[4]   object 3   i32[0]
//   the same once more      7    f32[4]   object 3   i32[0]
//   a replay                7    f32[2]   object 3   i32[0]      output 1 differs
//
// A body that makes another output in each run is told of only if neither run makes the replay's.
// Objects themselves are not compared, as most bodies make a new one in each run; nor are integers
// within a tolerance, as they are no measurements. Whose bytes may be compared is told by
// HaveOneForm.
//
// A form holds no tensor, so a run's outputs may go before they are compared.
//
// Pure.
#ifndef GRAPHTREE_GRAPHS_CHECK_OUTPUT_COMPARE_H_
#define GRAPHTREE_GRAPHS_CHECK_OUTPUT_COMPARE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graphs/layout.h"
#include "graphs/tensor.h"

namespace graphtree {

struct OutputForm {
  ValueKind kind = ValueKind::kNothing;
  const Layout* layout = nullptr;
  // The integer, the version, or the address of memory of the caller's; else 0.
  uint64_t word = 0;

  bool operator==(const OutputForm& other) const {
    return kind == other.kind && layout == other.layout && word == other.word;
  }
};

using OutputForms = std::vector<OutputForm>;

OutputForms FormsOf(absl::Span<const Value> outputs);

// "output 1 is the integer 7 in the replay, and the integer 8 in a run of its body": the first
// output that differs from both runs; empty if there is none.
std::string FirstFormDifference(const OutputForms& run, const OutputForms& again,
                                const OutputForms& replay);

// Whether the output is there in all of them, as a tensor of one layout.
bool HaveOneForm(size_t output, const OutputForms& run, const OutputForms& again,
                 const OutputForms& replay);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_CHECK_OUTPUT_COMPARE_H_
