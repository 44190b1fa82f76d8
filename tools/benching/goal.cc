// Reads goals, and turns times and sizes from one unit into another.
#include "tools/benching/goal.h"

#include <cmath>
#include <cstdio>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "device/base/check.h"

namespace graphtree::bench {
namespace {

struct Unit {
  absl::string_view name;
  absl::string_view base;  // what it counts: units of one base can be turned into each other
  double scale;
};

// Ascending within a base: FormatValue relies on it.
constexpr Unit kUnits[] = {
    {"ns", "ns", 1}, {"us", "ns", 1e3},     {"ms", "ns", 1e6},     {"s", "ns", 1e9},
    {"B", "B", 1},   {"KiB", "B", 1 << 10}, {"MiB", "B", 1 << 20}, {"GiB", "B", 1 << 30},
};

const Unit* FindUnit(absl::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

// How many of `to` one `from` is, or nothing where they count different things.
std::optional<double> Conversion(absl::string_view from, absl::string_view to) {
  if (from == to) return 1;
  const Unit* a = FindUnit(from);
  const Unit* b = FindUnit(to);
  if (a == nullptr || b == nullptr || a->base != b->base) return std::nullopt;
  return a->scale / b->scale;
}

std::string ThreeDigits(double value) {
  const double magnitude = std::abs(value);
  const int decimals = magnitude >= 99.95 || value == 0 ? 0 : magnitude >= 9.995 ? 1 : 2;
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

}  // namespace

absl::StatusOr<Goal> Goal::Parse(absl::string_view text, absl::string_view unit) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("goal \"", text, "\" of a row in ", unit, ": ", why));
  };
  Goal goal;
  if (words.size() < 3 || words.size() > 4) {
    return refuse("write it like \"ratio <= 1.2\" or \"value <= 200 ns\"");
  }
  if (words[0] == "ratio") {
    goal.subject_ = Subject::kRatio;
  } else if (words[0] == "difference") {
    goal.subject_ = Subject::kDifference;
  } else if (words[0] != "value") {
    return refuse("it must speak of ratio, difference or value");
  }
  goal.relation_ = words[1];
  if (words[1] != "<=" && words[1] != "<" && words[1] != ">=" && words[1] != ">") {
    return refuse("the relation must be <=, <, >= or >");
  }
  if (!absl::SimpleAtod(words[2], &goal.limit_) || !std::isfinite(goal.limit_)) {
    return refuse("the limit is not a number");
  }
  if (goal.subject_ == Subject::kRatio) {
    if (words.size() == 4) return refuse("a ratio has no unit");
    return goal;
  }
  if (words.size() < 4) return unit.empty() ? absl::StatusOr<Goal>(goal) : refuse("no unit");
  const std::optional<double> scale = Conversion(words[3], unit);
  if (!scale.has_value()) return refuse("the units do not fit");
  goal.limit_ *= *scale;
  return goal;
}

bool Goal::Met(double ours, std::optional<double> baseline) const {
  GRAPHTREE_CHECK(baseline.has_value() || !needs_baseline()) << "this goal needs a baseline";
  double number = ours;
  if (subject_ == Subject::kRatio) number = ours / *baseline;
  if (subject_ == Subject::kDifference) number = ours - *baseline;
  if (relation_ == "<=") return number <= limit_;
  if (relation_ == "<") return number < limit_;
  if (relation_ == ">=") return number >= limit_;
  return number > limit_;
}

std::string FormatValue(double value, absl::string_view unit) {
  const Unit* found = FindUnit(unit);
  if (found == nullptr) {
    return absl::StrCat(ThreeDigits(value), unit.empty() ? "" : " ", unit);
  }
  const double in_base = value * found->scale;
  const Unit* best = found;
  for (const Unit& candidate : kUnits) {
    if (candidate.base != found->base) continue;
    const bool is_base = candidate.scale == 1;
    if (is_base || std::abs(in_base) >= candidate.scale) best = &candidate;
  }
  return absl::StrCat(ThreeDigits(in_base / best->scale), " ", best->name);
}

}  // namespace graphtree::bench
