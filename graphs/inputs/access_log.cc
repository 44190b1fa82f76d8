// Compares the ranges of accesses with those of the inputs.
#include "graphs/inputs/access_log.h"

namespace graphtree {

AccessLog::AccessLog(absl::Span<const Value> inputs)
    : written_(inputs.size(), false),
      uses_(inputs.size()),
      writers_(inputs.size()),
      last_op_(inputs.size(), 0) {
  for (const Value& input : inputs) {
    ranges_.push_back(RangeOf(input));
    storages_.push_back(input.storage());
    serials_.push_back(input.storage() == nullptr ? 0 : input.storage()->serial);
  }
}

void AccessLog::Accessed(Access access, const Tensor& tensor, int argument) {
  const bool writes = access == Access::kWrite || access == Access::kReadWrite;
  const AddressRange target = tensor.raw_bytes();
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (!ranges_[i].Overlaps(target)) continue;
    const bool both_known = storages_[i] != nullptr && tensor.storage() != nullptr;
    if (both_known && storages_[i] != tensor.storage()) continue;
    if (writes) written_[i] = true;
    if (writes && writers_[i].empty()) writers_[i] = argument < 0 ? "opaque work" : launching_;
    if (argument < 0) uses_[i].opaque = true;
    if (last_op_[i] != op_) ++uses_[i].ops;
    last_op_[i] = op_;
  }
}

void AccessLog::WrittenByPart(AddressRange range, uint64_t serial) {
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (!ranges_[i].Overlaps(range)) continue;
    if (serial != 0 && serials_[i] != 0 && serial != serials_[i]) continue;
    written_[i] = true;
    if (writers_[i].empty()) writers_[i] = launching_;
  }
}

std::optional<std::pair<size_t, size_t>> WrittenInputsThatOverlap(
    absl::Span<const Value> inputs, const std::vector<bool>& written) {
  for (size_t i = 0; i < inputs.size() && i < written.size(); ++i) {
    if (!written[i]) continue;
    for (size_t j = 0; j < inputs.size(); ++j) {
      if (j != i && RangeOf(inputs[i]).Overlaps(RangeOf(inputs[j]))) return std::pair(i, j);
    }
  }
  return std::nullopt;
}

}  // namespace graphtree
