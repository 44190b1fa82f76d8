// Compares two histories, and writes them side by side.
#include "runtime/shapes/launch_history.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace graphtree {
namespace {

// As much of a line as one side takes.
constexpr size_t kSide = 56;

std::string TextAt(const LaunchHistory& history, uint64_t number) {
  if (number >= history.count()) return "-";
  if (number < history.first_kept()) return "(no longer kept)";
  const Launch& launch = history.at(number);
  const bool is_eager = launch.shape == UINT32_MAX;
  return absl::StrCat("step ", launch.step, " program ", absl::Hex(launch.program), " ",
                      is_eager ? "eager" : absl::StrCat("shape ", launch.shape), " ",
                      ToString(launch.key));
}

std::string Finding(const Difference& found) {
  switch (found.kind) {
    case Difference::Kind::kNone:
      return "the launches are the same";
    case Difference::Kind::kBehind:
      return absl::StrCat("the launches are the same up to launch ", found.number,
                          ", which one side has not reached");
    case Difference::Kind::kParted:
      return absl::StrCat("the first launch that differs is ", found.number);
    case Difference::Kind::kEarlier:
      return absl::StrCat("the sides parted before launch ", found.number,
                          ", the first that both still keep");
    case Difference::Kind::kTooFar:
      return "one side is so far ahead that no launch is kept by both";
  }
  return "?";
}

}  // namespace

std::optional<uint64_t> LaunchHistory::DigestAfter(uint64_t count) const {
  if (count == count_) return digest_;
  if (count > count_ || count < first_kept()) return std::nullopt;
  return ring_[count % kKept].digest_before;
}

Difference FirstDifference(const LaunchHistory& a, const LaunchHistory& b) {
  using Kind = Difference::Kind;
  const uint64_t begin = std::max(a.first_kept(), b.first_kept());
  const uint64_t end = std::min(a.count(), b.count());
  if (begin > end) return {Kind::kTooFar, begin};
  if (a.DigestAfter(begin) != b.DigestAfter(begin)) return {Kind::kEarlier, begin};
  for (uint64_t number = begin; number < end; ++number) {
    if (!(a.at(number) == b.at(number))) return {Kind::kParted, number};
  }
  if (a.count() != b.count()) return {Kind::kBehind, end};
  return {Kind::kNone, 0};
}

std::string DumpBoth(absl::string_view name_a, const LaunchHistory& a, absl::string_view name_b,
                     const LaunchHistory& b) {
  const Difference found = FirstDifference(a, b);
  std::string text = absl::StrCat(
      name_a, ": ", a.count(), " launches, digest ", absl::Hex(a.digest(), absl::kZeroPad16), "\n",
      name_b, ": ", b.count(), " launches, digest ", absl::Hex(b.digest(), absl::kZeroPad16), "\n",
      Finding(found), "\n");
  absl::StrAppendFormat(&text, "  %8s  %-*s  %s\n", "launch", int{kSide}, name_a, name_b);
  const uint64_t begin = std::min(a.first_kept(), b.first_kept());
  for (uint64_t number = begin; number < std::max(a.count(), b.count()); ++number) {
    const bool is_marked = found.kind == Difference::Kind::kParted && found.number == number;
    absl::StrAppendFormat(&text, "%s %8d  %-*s  %s\n", is_marked ? ">" : " ", number, int{kSide},
                          TextAt(a, number), TextAt(b, number));
  }
  return text;
}

}  // namespace graphtree
