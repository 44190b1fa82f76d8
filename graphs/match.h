// May a recording serve this call? Pure: no device, no lock, no clock.
//
// A recording keeps one row for each input of the call that it was made from:
//
//   row      | layout | word             | mask          |
//   static   | f32[8] | 0x7f00...        | all ones      |  the address must be the recorded one
//   managed  | f32[8] | 0x6000...        | all ones      |  an output of this path, so likewise
//   integer  | int    | 17               | all ones      |  the value must be the recorded one
//   copied   | f32[8] | -                | 0             |  any address: the graph copies it first
//   patched  | f32[8] | 0x...0           | alignment - 1 |  any address as well aligned
//
// so that one loop over pairs of words, without a branch on the kind, decides. The hash over the
// same words finds a recording among many in one look-up.
#ifndef GRAPHTREE_GRAPHS_MATCH_H_
#define GRAPHTREE_GRAPHS_MATCH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graphs/tensor.h"

namespace graphtree {

enum class InputRole : uint8_t { kStatic, kManaged, kInteger, kNone, kCopied, kPatched };

struct RecordedInput {
  const Layout* layout = nullptr;
  uint64_t word = 0;
  uint64_t mask = ~uint64_t{0};
};

// The row for one input. For a patched input `alignment` is the power of two that the recorded
// address was a multiple of and the new one must be.
RecordedInput RowFor(InputRole role, const Value& input, uint64_t alignment = 1);

// REQUIRES: equally many.
inline bool InputsMatch(absl::Span<const RecordedInput> rows, absl::Span<const Value> inputs) {
  uint64_t differs = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    differs |= (inputs[i].word() ^ rows[i].word) & rows[i].mask;
    differs |= reinterpret_cast<uintptr_t>(inputs[i].layout()) ^
               reinterpret_cast<uintptr_t>(rows[i].layout);
  }
  return differs == 0;
}

// The first input that does not match, for messages and reasons; rows.size() if all do.
size_t FirstMismatch(absl::Span<const RecordedInput> rows, absl::Span<const Value> inputs);

// Equal for two calls that a recording with these roles cannot tell apart.
uint64_t HashInputs(absl::Span<const InputRole> roles, absl::Span<const Value> inputs);

// Which output of which level of a path. Levels count from the root.
struct OutputRef {
  uint32_t level = 0;
  uint32_t output = 0;
  friend bool operator==(OutputRef a, OutputRef b) {
    return a.level == b.level && a.output == b.output;
  }
  friend bool operator<(OutputRef a, OutputRef b) {
    return a.level != b.level ? a.level < b.level : a.output < b.output;
  }
};

// The outputs of a path that may be alive when a recording begins: its memory was laid out around
// them. Anything else alive would be overwritten; anything less leaves a hole that nobody uses.
class LiveSet {
 public:
  LiveSet() = default;
  explicit LiveSet(std::vector<OutputRef> live);

  bool Contains(OutputRef output) const {
    if (output.level >= first_bit_.size()) return false;
    const uint32_t begin = first_bit_[output.level];
    const uint32_t bits = bits_of_[output.level];
    if (output.output >= bits) return false;
    const uint32_t bit = begin + output.output;
    return (words_[bit / 64] >> (bit % 64) & 1) != 0;
  }
  const std::vector<OutputRef>& outputs() const { return outputs_; }

 private:
  std::vector<OutputRef> outputs_;   // sorted
  std::vector<uint32_t> first_bit_;  // by level
  std::vector<uint32_t> bits_of_;    // by level
  std::vector<uint64_t> words_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MATCH_H_
