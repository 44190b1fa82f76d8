// Chooses the unit by what is left after rounding.
#include "profiler/stats/time_text.h"

#include <cmath>

#include "absl/strings/str_format.h"

namespace graphtree::trace {

std::string TimeText(double ns) {
  const double size = std::abs(ns);
  if (size < 999.5) return absl::StrFormat("%.0f ns", ns);
  if (size < 9.995e3) return absl::StrFormat("%.2f us", ns / 1e3);
  if (size < 999.5e3) return absl::StrFormat("%.1f us", ns / 1e3);
  if (size < 999.5e6) return absl::StrFormat("%.2f ms", ns / 1e6);
  return absl::StrFormat("%.3f s", ns / 1e9);
}

}  // namespace graphtree::trace
