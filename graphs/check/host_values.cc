// Goes through both runs side by side.
#include "graphs/check/host_values.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace graphtree {
namespace {

// Small values as whole numbers, larger ones as their first bytes.
std::string ValueText(const std::string& bytes) {
  constexpr size_t kShown = 16;
  if (bytes.size() > sizeof(uint64_t)) {
    return absl::StrCat(bytes.size(), " bytes 0x",
                        absl::BytesToHexString(bytes.substr(0, kShown)),
                        bytes.size() > kShown ? "..." : "");
  }
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return absl::StrCat(value);
}

std::string Named(size_t number, const LoggedLaunch& launch) {
  return absl::StrCat("op ", number + 1, " ('", launch.site.op, "')");
}

std::optional<HostValue> FindIn(size_t number, const LoggedLaunch& before,
                                const LoggedLaunch& now) {
  if (before.site.op != now.site.op) {
    return HostValue{absl::StrCat("op ", number + 1, " was '", before.site.op, "', and is '",
                                  now.site.op, "' now"),
                     now.site};
  }
  if (before.grid_and_block != now.grid_and_block) {
    return HostValue{absl::StrCat(Named(number, now), " was launched with another grid or block"),
                     now.site};
  }
  for (size_t i = 0; i < std::min(before.values.size(), now.values.size()); ++i) {
    if (before.values[i] == now.values[i]) continue;
    return HostValue{absl::StrCat(Named(number, now), " was given ", ValueText(before.values[i]),
                                  " as argument ", i, ", and ", ValueText(now.values[i]), " now"),
                     now.site};
  }
  return std::nullopt;
}

}  // namespace

std::optional<HostValue> FindHostValue(absl::Span<const LoggedLaunch> before,
                                       absl::Span<const LoggedLaunch> now) {
  const size_t both = std::min(before.size(), now.size());
  for (size_t i = 0; i < both; ++i) {
    if (std::optional<HostValue> found = FindIn(i, before[i], now[i])) return found;
  }
  if (before.size() == now.size()) return std::nullopt;
  return HostValue{absl::StrCat("it launched ", before.size(), " ops, and ", now.size(), " now"),
                   both < now.size() ? now[both].site : OpSite{}};
}

}  // namespace graphtree
