// Sees whether the sizes of a function's calls vary: an integer among its inputs, or a dimension of
// an input. For functions that are not recorded if they do (FunctionOptions::skip_varying_sizes).
//
//   call (x f32[8,64], 3)     the first one: kept to compare with
//   call (x f32[8,64], 3)     nothing varies
//   call (x f32[9,64], 3)     "input 0 has sizes [9, 64] after [8, 64]"; for ever from here on
//
// Types, strides and addresses do not count as sizes. Thread rule: like a container.
#ifndef GRAPHTREE_GRAPHS_MATCH_VARYING_SIZES_H_
#define GRAPHTREE_GRAPHS_MATCH_VARYING_SIZES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graphs/tensor.h"

namespace graphtree {

class VaryingSizes {
 public:
  // Whether an input had another size than in the first call, or has in this one.
  bool VaryWith(absl::Span<const Value> inputs) const {
    return varied_ || FirstThatDiffers(inputs) < inputs.size();
  }
  // The same, and notes the inputs.
  bool SeenIn(absl::Span<const Value> inputs);
  bool any() const { return varied_; }
  // The input that varied first.
  size_t input() const { return input_; }
  // "has sizes [9, 64] after [8, 64]", "is 7 after 5". REQUIRES: any().
  const std::string& how() const { return how_; }

 private:
  struct Size {
    bool has_any = false;  // neither opaque nor nothing
    std::vector<int64_t> numbers;
    bool is_integer = false;
    std::string Text() const;
  };

  static Size SizeOf(const Value& value);
  // Among the inputs of this call; inputs.size() if none does.
  size_t FirstThatDiffers(absl::Span<const Value> inputs) const;

  bool has_first_ = false;
  std::vector<Size> first_;
  bool varied_ = false;
  size_t input_ = 0;
  std::string how_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MATCH_VARYING_SIZES_H_
