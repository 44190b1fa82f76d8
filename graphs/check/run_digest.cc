// Compares the digests of outputs, one by one.
#include "graphs/check/run_digest.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {

absl::StatusOr<RunDigest> RunDigest::Of(ContentReader& reader, absl::Span<const Value> outputs) {
  RunDigest digest;
  for (const Value& output : outputs) {
    Row row;
    row.bytes = RangeOf(output).bytes;
    GRAPHTREE_ASSIGN_OR_RETURN(row.digest, reader.Read(RangeOf(output)));
    digest.rows_.push_back(std::move(row));
  }
  return digest;
}

void RunDigest::ForgetUnsettled(const RunDigest& again) {
  for (size_t i = 0; i < rows_.size() && i < again.rows_.size(); ++i) {
    Row& row = rows_[i];
    const ContentDigest& other = again.rows_[i].digest;
    row.unsettled.assign(row.digest.size(), row.digest.size() != other.size());
    for (size_t part = 0; part < row.digest.size() && part < other.size(); ++part) {
      if (row.digest[part] != other[part]) row.unsettled[part] = true;
    }
  }
}

std::string RunDigest::DifferenceOf(const RunDigest& replay) const {
  if (rows_.size() != replay.rows_.size()) {
    return absl::StrCat("it has ", replay.rows_.size(), " outputs, and not ", rows_.size());
  }
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const std::string name = absl::StrCat("output ", i);
    if (row.bytes != replay.rows_[i].bytes) return absl::StrCat(name, " has another size");
    for (size_t part = 0; part < row.digest.size(); ++part) {
      if (!row.unsettled.empty() && row.unsettled[part]) continue;
      if (row.digest[part] == replay.rows_[i].digest[part]) continue;
      const uint64_t first = part * kDigestedBytes;
      return absl::StrCat(name, " at bytes ", first, " to ",
                          std::min(first + kDigestedBytes, row.bytes) - 1);
    }
  }
  return "";
}

}  // namespace graphtree
