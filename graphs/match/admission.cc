// Compares rents and leads, and keeps the standings of forgotten shapes.
#include "graphs/match/admission.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "graphs/match/keep.h"

namespace graphtree {
namespace {

// Where the half-life is short even a shape that comes with every call never has many uses, so the
// rent is lower.
double RentAt(uint64_t half_life) {
  const double most = 1 / (1 - std::exp2(-1 / static_cast<double>(half_life)));
  return std::min(Admission::kRent, 0.75 * most);
}

}  // namespace

bool Admission::HasEarned(const Standing& newcomer, double least, uint64_t half_life) {
  return newcomer.uses >= kLead * least && newcomer.paid >= RentAt(half_life);
}

bool Admission::IsWorthALook(const Standing& newcomer, uint64_t now, uint64_t half_life) const {
  return HasEarned(newcomer, Aged(least_, now - as_of_, half_life), half_life);
}

void Admission::Looked(double least, uint64_t now) {
  least_ = least;
  as_of_ = now;
}

void Ghosts::Put(uint64_t shape, const Standing& standing, uint64_t now) {
  if (ghosts_.size() >= 2 * most_) ForgetHalf(now);
  ghosts_[shape] = {standing, now};
}

Standing Ghosts::Find(uint64_t shape, uint64_t now) const {
  const auto found = ghosts_.find(shape);
  if (found == ghosts_.end()) return {};
  const Ghost& ghost = found->second;
  const uint64_t since = now - ghost.as_of;
  return {Aged(ghost.standing.uses, since, half_life_),
          Aged(ghost.standing.paid, since, half_life_)};
}

Standing Ghosts::Take(uint64_t shape, uint64_t now) {
  const Standing standing = Find(shape, now);
  ghosts_.erase(shape);
  return standing;
}

// Forgets half of them at a time, so that each costs a few comparisons.
void Ghosts::ForgetHalf(uint64_t now) {
  std::vector<std::pair<double, uint64_t>> all;
  for (const auto& [shape, ghost] : ghosts_) {
    all.push_back({Aged(ghost.standing.uses, now - ghost.as_of, half_life_), shape});
  }
  const auto kept = all.end() - static_cast<std::ptrdiff_t>(std::min(most_, all.size()));
  std::nth_element(all.begin(), kept, all.end());
  for (auto gone = all.begin(); gone != kept; ++gone) ghosts_.erase(gone->second);
}

}  // namespace graphtree
