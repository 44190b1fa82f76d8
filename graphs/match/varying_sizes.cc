// Compares each call's sizes with those of the first call.
#include "graphs/match/varying_sizes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphs/layout.h"

namespace graphtree {

std::string VaryingSizes::Size::Text() const {
  return is_integer ? absl::StrCat(numbers[0])
                    : absl::StrCat("[", absl::StrJoin(numbers, ", "), "]");
}

VaryingSizes::Size VaryingSizes::SizeOf(const Value& value) {
  if (value.is_integer()) return {true, {value.integer()}, true};
  if (!value.is_tensor()) return {};
  const absl::Span<const int64_t> sizes = value.layout()->sizes();
  return {true, {sizes.begin(), sizes.end()}, false};
}

bool VaryingSizes::SeenIn(absl::Span<const Value> inputs) {
  if (varied_) return true;
  if (!has_first_) {
    has_first_ = true;
    for (const Value& input : inputs) first_.push_back(SizeOf(input));
    return false;
  }
  const size_t differs = FirstThatDiffers(inputs);
  if (differs == inputs.size()) return false;
  varied_ = true;
  input_ = differs;
  const Size now = SizeOf(inputs[differs]);
  how_ = absl::StrCat(now.is_integer ? "is " : "has sizes ", now.Text(), " after ",
                      first_[differs].Text());
  return true;
}

size_t VaryingSizes::FirstThatDiffers(absl::Span<const Value> inputs) const {
  for (size_t i = 0; i < std::min(inputs.size(), first_.size()); ++i) {
    const Size& first = first_[i];
    const Size now = SizeOf(inputs[i]);
    if (!first.has_any || !now.has_any || first.is_integer != now.is_integer) continue;
    if (first.numbers != now.numbers) return i;
  }
  return inputs.size();
}

}  // namespace graphtree
