// Names of modes, and what makes no sense.
#include "runtime/serving.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "device/base/known_enum.h"

namespace graphtree {
namespace {

constexpr Serving kAll[] = {Serving::kOff, Serving::kShadow, Serving::kReplay, Serving::kStrict};

}  // namespace

const char* ServingName(Serving serving) {
  switch (serving) {
    case Serving::kOff:
      return "off";
    case Serving::kShadow:
      return "shadow";
    case Serving::kReplay:
      return "replay";
    case Serving::kStrict:
      return "strict";
  }
  return "?";
}

absl::StatusOr<Serving> ServingFrom(absl::string_view name) {
  for (const Serving serving : kAll) {
    if (name == ServingName(serving)) return serving;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no mode \"", name, "\"; there are off, shadow, replay and strict"));
}

std::string ToString(const ServingMode& mode) {
  std::string text = ServingName(mode.serving);
  if (mode.parity_every > 0) {
    absl::StrAppend(&text, ", parity 1 in ", mode.parity_every, " within ",
                    mode.tolerance.absolute, " absolute, ", mode.tolerance.relative, " relative");
  }
  return text;
}

absl::Status CheckServing(const ServingMode& mode) {
  if (!IsKnown(mode.serving, Serving::kStrict)) {
    return absl::InvalidArgumentError(NotKnown("a mode of serving,", mode.serving));
  }
  if (mode.parity_every > 0 && !ServesGraphs(mode.serving)) {
    return absl::InvalidArgumentError(
        absl::StrCat("mode ", ServingName(mode.serving), " with parity 1 in ", mode.parity_every,
                     ": nothing is replayed in that mode, so nothing can be compared"));
  }
  for (const double bound : {mode.tolerance.absolute, mode.tolerance.relative}) {
    if (std::isfinite(bound) && bound >= 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a tolerance of ", bound, ": it is a number that is not negative"));
  }
  return absl::OkStatus();
}

}  // namespace graphtree
