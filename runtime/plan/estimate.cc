// Chooses the number of the key that explains a figure, and asks its line.
#include "runtime/plan/estimate.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace graphtree {
namespace {

constexpr size_t kNumbers = 4;

// What a recording may grow with. Where a shape takes any value of a number the number is no size.
std::array<double, kNumbers> NumbersOf(const Key& key) {
  const auto number = [](int32_t value) { return value == kAny ? 0.0 : double{1} * value; };
  const double tokens = number(key.tokens);
  const double context = number(key.context);
  return {tokens, number(key.requests), tokens * std::max(context, 1.0), context};
}

}  // namespace

void CostModel::Learn(const Key& key, const RecordingCost& cost) {
  const auto same = std::find_if(learned_.begin(), learned_.end(),
                                 [&key](const Learned& one) { return one.key == key; });
  if (same != learned_.end()) {
    same->cost = cost;
  } else {
    learned_.push_back({key, cost});
  }
}

Guess CostModel::At(const Key& key, uint64_t RecordingCost::*figure) const {
  std::array<LineFit, kNumbers> fits;
  for (const Learned& one : learned_) {
    const auto bytes = static_cast<double>(one.cost.*figure);
    if (one.key == key) return Guess::Exactly(bytes);
    const std::array<double, kNumbers> numbers = NumbersOf(one.key);
    for (size_t i = 0; i < kNumbers; ++i) fits[i].Add(numbers[i], bytes);
  }
  const auto best = std::min_element(
      fits.begin(), fits.end(),
      // What rounding leaves is no reason to prefer a later one.
      [](const LineFit& a, const LineFit& b) { return a.Scatter() < b.Scatter() * 0.99 - 1; });
  return best->At(NumbersOf(key)[best - fits.begin()]);
}

RecordingGuess CostModel::Of(const Key& key) const {
  return {.pool = At(key, &RecordingCost::pool_bytes),
          .executables = At(key, &RecordingCost::executable_bytes),
          .host = At(key, &RecordingCost::host_bytes)};
}

// A driver that takes nothing for so much has memory left from before.
void DriverModel::LearnExecutables(uint64_t said, uint64_t taken) {
  constexpr double kMuch = 8 * kPiece;
  said_since_ += static_cast<double>(said);
  largest_look_ = std::max(largest_look_, static_cast<double>(said));
  if (taken == 0 && said_since_ < kMuch) return;
  const bool counts = std::exchange(has_seen_piece_, taken > 0) || said_since_ >= kMuch;
  const double since = std::exchange(said_since_, 0);
  if (!counts) return;
  said_ += since;
  taken_ += static_cast<double>(taken);
}

void DriverModel::LearnCode(uint64_t taken) {
  const auto bytes = static_cast<double>(taken);
  if (first_runs_++ == 0) {
    first_code_ = bytes;
    return;
  }
  later_code_ += bytes;
  most_later_code_ = std::max(most_later_code_, bytes);
}

// Both are weighed by how far off they may be: what was seen by one piece, or by one look where
// that is less, evenly spread, and the device's own figure by a third of itself.
Guess DriverModel::Executables(const Guess& said) const {
  if (said_ == 0) return said;
  constexpr double kDoubtOfSaid = 1.0 / 3;
  const double doubt_of_seen = std::min(kPiece, largest_look_) / said_;
  const double weight =
      1 / (1 + doubt_of_seen * doubt_of_seen / (12 * kDoubtOfSaid * kDoubtOfSaid));
  const double ratio = 1 + weight * (taken_ / said_ - 1);
  const double doubt = std::min(kDoubtOfSaid, doubt_of_seen);
  return {said.bytes * ratio, said.error * ratio + said.bytes * doubt};
}

Guess DriverModel::Code(size_t further_shapes) const {
  const auto count = static_cast<double>(further_shapes);
  if (first_runs_ == 0 || further_shapes == 0) return Guess::Exactly(0);
  if (first_runs_ == 1) return {0, first_code_};
  const double each = later_code_ / static_cast<double>(first_runs_ - 1);
  return {each * count, (most_later_code_ - each) * std::sqrt(count)};
}

PoolGuess PoolOf(const std::vector<Guess>& recordings, double piece) {
  Guess largest, second;
  for (const Guess& one : recordings) {
    if (one.bytes > largest.bytes) {
      second = largest;
      largest = one;
    } else if (one.bytes >= second.bytes) {
      second = one;
    }
  }
  const double whole = std::ceil(largest.bytes / piece) * piece;
  const bool is_exact = largest.error == 0;
  return {.alone = {whole - second.bytes, is_exact ? 0 : largest.error + piece / 2},
          .shared = {second.bytes, 0}};
}

}  // namespace graphtree
