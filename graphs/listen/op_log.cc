// Joins each access with the op that was named before it.
#include "graphs/listen/op_log.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace graphtree {
namespace {

constexpr size_t kMostNames = 4;

bool Has(const std::vector<OpSite>& sites, const OpSite& site) {
  return std::any_of(sites.begin(), sites.end(), [&site](const OpSite& one) {
    return one.at == site.at && one.op == site.op;
  });
}

bool Writes(Access access) { return access == Access::kWrite || access == Access::kReadWrite; }

}  // namespace

void OpLog::Launching(absl::string_view op) {
  launching_ = {std::string(op), Here()};
  if (!Has(sites_, launching_)) sites_.push_back(launching_);
  PassingObserver::Launching(op);
}

void OpLog::Accessed(Access access, const Tensor& tensor, int argument) {
  if (argument < 0) launching_ = {"opaque work", Here()};
  accesses_.push_back({launching_.op, access, tensor.raw_bytes(), launching_.at});
  PassingObserver::Accessed(access, tensor, argument);
}

void OpLog::Launched(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) {
  PassingObserver::Launched(kernel, shape, arguments);
  if (stacks_ == nullptr || kernel.owner() == KernelOwner::kLibrary) return;
  LoggedLaunch launch;
  launch.site = launching_;
  launch.grid_and_block = {shape.grid.x,  shape.grid.y,  shape.grid.z,
                           shape.block.x, shape.block.y, shape.block.z};
  for (const Argument& argument : arguments) {
    launch.values.push_back(
        argument.is_comparable()
            ? std::string(static_cast<const char*>(argument.data()), argument.bytes())
            : "");
  }
  launches_.push_back(std::move(launch));
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

std::vector<OpSite> OpLog::SitesThatTouch(AddressRange range) const {
  std::vector<OpSite> sites;
  for (const LoggedAccess& access : accesses_) {
    const OpSite site = {access.op, access.at};
    if (!access.range.Overlaps(range) || Has(sites, site)) continue;
    sites.push_back(site);
    if (sites.size() == kMostNames) break;
  }
  return sites;
}

bool OpLog::DeclaresWriteTo(AddressRange range) const {
  return std::any_of(accesses_.begin(), accesses_.end(), [range](const LoggedAccess& access) {
    return Writes(access.access) && access.range.Overlaps(range);
  });
}

}  // namespace graphtree
