// Reads arguments half a word at a time.
#include "graphs/inputs/address_search.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/algorithm/container.h"
#include "graphs/inputs/op_words.h"

namespace graphtree {
namespace {

constexpr size_t kHalf = sizeof(uint32_t);

bool IsSlot(uint32_t argument, absl::Span<const PointerSlot> slots) {
  return absl::c_any_of(
      slots, [argument](const PointerSlot& slot) { return slot.argument == argument; });
}

}  // namespace

void AddressSearch::Look(uint64_t word) {
  for (const InputRange& range : ranges_) {
    const bool is_inside = word >= range.range.base && word - range.range.base < range.range.bytes;
    if (!is_inside || absl::c_linear_search(hidden_, range.input)) continue;
    hidden_.push_back(range.input);
  }
}

void AddressSearch::Append(const Argument& argument, bool is_slot) {
  const size_t begin = halves_.size();
  halves_.resize(begin + (argument.bytes() + kHalf - 1) / kHalf, 0);
  begins_slot_.resize(halves_.size(), false);
  if (argument.bytes() == 0) return;
  std::memcpy(halves_.data() + begin, argument.data(), argument.bytes());
  begins_slot_[begin] = is_slot;
}

void AddressSearch::Launched(Arguments arguments, absl::Span<const PointerSlot> slots) {
  ++ops_;
  if (ranges_.empty()) return;
  halves_.clear();
  begins_slot_.clear();
  for (uint32_t i = 0; i < arguments.size(); ++i) Append(arguments[i], IsSlot(i, slots));
  for (size_t i = 0; i + 1 < halves_.size(); ++i) {
    if (!begins_slot_[i]) Look(uint64_t{halves_[i + 1]} << 32 | halves_[i]);
  }
}

// A copy or a fill of no bytes captures nothing.
void AddressSearch::Copied(const CopyParams& params, absl::Span<const PointerSlot> slots) {
  if (params.bytes == 0) return;
  ++ops_;
  if (!IsSlot(kTargetArgument, slots)) Look(params.target);
  if (!IsSlot(kSourceArgument, slots)) Look(params.source);
}

void AddressSearch::Filled(const FillParams& params, absl::Span<const PointerSlot> slots) {
  if (params.count == 0) return;
  ++ops_;
  if (!IsSlot(kTargetArgument, slots)) Look(params.target);
}

bool AddressSearch::EndSection(uint64_t ops, uint64_t own) {
  const bool is_told = ops == ops_ + own;
  ops_ = 0;
  return is_told;
}

}  // namespace graphtree
