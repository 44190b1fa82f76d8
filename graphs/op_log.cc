// Accesses come before the launch that names them.
#include "graphs/op_log.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace graphtree {
namespace {

constexpr size_t kMostNames = 4;

bool Writes(Access access) { return access == Access::kWrite || access == Access::kReadWrite; }

}  // namespace

void OpLog::Accessed(Access access, const Tensor& tensor, int argument) {
  accesses_.push_back({argument < 0 ? "opaque work" : "", access, tensor.raw_bytes()});
  next_->Accessed(access, tensor, argument);
}

void OpLog::Launched(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) {
  Name(kernel.name());
  next_->Launched(kernel, shape, arguments);
}

void OpLog::Copied(const CopyParams& params) {
  Name("copy");
  next_->Copied(params);
}

void OpLog::Filled(const FillParams& params) {
  Name("fill");
  next_->Filled(params);
}

void OpLog::Broke(absl::string_view why) {
  Name(why);
  next_->Broke(why);
}

void OpLog::Name(absl::string_view op) {
  for (; unnamed_ < accesses_.size(); ++unnamed_) {
    std::string& name = accesses_[unnamed_].op;
    if (name.empty()) name.assign(op.data(), op.size());
  }
}

std::string OpLog::OpsThatTouch(AddressRange range) const {
  std::vector<std::string> names;
  for (const LoggedAccess& access : accesses_) {
    if (!access.range.Overlaps(range)) continue;
    const bool known = std::find(names.begin(), names.end(), access.op) != names.end();
    if (!known) names.push_back(access.op);
  }
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMostNames; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", "'", names[i],
                    "'");
  }
  if (names.size() > kMostNames) {
    absl::StrAppend(&text, " and ", names.size() - kMostNames, " more");
  }
  return text;
}

bool OpLog::DeclaresWriteTo(AddressRange range) const {
  return std::any_of(accesses_.begin(), accesses_.end(), [range](const LoggedAccess& access) {
    return Writes(access.access) && access.range.Overlaps(range);
  });
}

}  // namespace graphtree
