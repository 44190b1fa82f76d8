// Makes rows, patterns, hashes and live sets.
#include "graphs/match/match.h"

#include <algorithm>
#include <utility>

#include "device/base/check.h"

namespace graphtree {
RecordedInput RowFor(InputRole role, const Value& input, uint64_t alignment) {
  RecordedInput row{input.layout(), input.word(), ~uint64_t{0}};
  if (role == InputRole::kCopied) row.mask = 0;
  if (role == InputRole::kOpaque && !input.has_version()) row.mask = 0;
  if (role == InputRole::kPatched) {
    row.mask = alignment - 1;
    row.word &= row.mask;
  }
  return row;
}

InputPattern::InputPattern(absl::Span<const InputRole> roles, absl::Span<const Value> inputs,
                           absl::Span<const uint64_t> alignments) {
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    rows_.push_back(RowFor(roles[i], inputs[i], i < alignments.size() ? alignments[i] : 1));
    pins_.push_back(PinHash::Pins(roles[i]));
    if (!pins_.back()) anywhere_.push_back(i);
    const bool exact = rows_.back().mask == ~uint64_t{0} && inputs[i].storage() == nullptr;
    if (!exact) {
      loose_.push_back(i);
      continue;
    }
    const auto* bytes = reinterpret_cast<const unsigned char*>(&inputs[i]);
    image_.insert(image_.end(), bytes, bytes + sizeof(Value));
    if (runs_.empty() || runs_.back().begin + runs_.back().count != i) runs_.push_back({i, 0});
    ++runs_.back().count;
  }
}

size_t FirstMismatch(absl::Span<const RecordedInput> rows, absl::Span<const Value> inputs) {
  GRAPHTREE_CHECK(rows.size() == inputs.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!InputsMatch(rows.subspan(i, 1), inputs.subspan(i, 1))) return i;
  }
  return rows.size();
}

uint64_t HashInputs(absl::Span<const InputRole> roles, absl::Span<const Value> inputs) {
  PinHash hash;
  for (size_t i = 0; i < roles.size(); ++i) hash.Add(roles[i], inputs[i]);
  return hash.value();
}

LiveSet::LiveSet(std::vector<OutputRef> live) : outputs_(std::move(live)) {
  std::sort(outputs_.begin(), outputs_.end());
  uint32_t next_bit = 0;
  for (size_t i = 0; i < outputs_.size();) {
    const uint32_t level = outputs_[i].level;
    size_t end = i;
    while (end < outputs_.size() && outputs_[end].level == level) ++end;
    first_bit_.resize(level + 1, next_bit);
    bits_of_.resize(level + 1, 0);
    bits_of_[level] = outputs_[end - 1].output + 1;
    next_bit += bits_of_[level];
    words_.resize((next_bit + 63) / 64, 0);
    for (; i < end; ++i) {
      const uint32_t bit = first_bit_[level] + outputs_[i].output;
      words_[bit / 64] |= uint64_t{1} << (bit % 64);
    }
  }
}

}  // namespace graphtree
