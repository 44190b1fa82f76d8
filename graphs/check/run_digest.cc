// Compares the digests of outputs, one by one.
#include "graphs/check/run_digest.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {

absl::StatusOr<RunDigest> RunDigest::Of(ContentReader& reader, absl::Span<const Value> outputs) {
  RunDigest digest;
  digest.forms_ = digest.again_ = FormsOf(outputs);
  for (const Value& output : outputs) {
    Row row;
    row.bytes = RangeOf(output).bytes;
    GRAPHTREE_ASSIGN_OR_RETURN(row.digest, reader.Read(RangeOf(output)));
    digest.rows_.push_back(std::move(row));
  }
  return digest;
}

void RunDigest::ForgetUnsettled(const RunDigest& again) {
  again_ = again.forms_;
  for (size_t i = 0; i < rows_.size() && i < again.rows_.size(); ++i) {
    Row& row = rows_[i];
    const ContentDigest& other = again.rows_[i].digest;
    row.unsettled.assign(row.digest.size(), row.digest.size() != other.size());
    for (size_t part = 0; part < row.digest.size() && part < other.size(); ++part) {
      if (row.digest[part] != other[part]) row.unsettled[part] = true;
    }
  }
}

std::string RunDigest::FormDifferenceOf(const RunDigest& replay) const {
  return FirstFormDifference(forms_, again_, replay.forms_);
}

std::string RunDigest::ByteDifferenceOf(const RunDigest& replay) const {
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (!HaveOneForm(i, forms_, again_, replay.forms_)) continue;
    const Row& row = rows_[i];
    for (size_t part = 0; part < row.digest.size(); ++part) {
      if (!row.unsettled.empty() && row.unsettled[part]) continue;
      if (row.digest[part] == replay.rows_[i].digest[part]) continue;
      const uint64_t first = part * kDigestedBytes;
      return absl::StrCat("output ", i, " at bytes ", first, " to ",
                          std::min(first + kDigestedBytes, row.bytes) - 1);
    }
  }
  return "";
}

}  // namespace graphtree
