// The names of the modes.
#include "profiler/profile_options.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace graphtree {
namespace {

struct ModeName {
  const char* name;
  ProfileMode mode;
};
constexpr ModeName kModes[] = {
    {"host", ProfileMode::kHost}, {"light", ProfileMode::kLight}, {"full", ProfileMode::kFull}};

}  // namespace

const char* ProfileModeName(ProfileMode mode) {
  for (const ModeName& known : kModes) {
    if (known.mode == mode) return known.name;
  }
  return "?";
}

absl::StatusOr<ProfileMode> ProfileModeFrom(absl::string_view name) {
  for (const ModeName& known : kModes) {
    if (known.name == name) return known.mode;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name, "\" is no mode of a profile; there are host, light and full"));
}

}  // namespace graphtree
