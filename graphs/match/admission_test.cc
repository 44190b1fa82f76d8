// The rule at work, without a tree: shapes come by a seeded traffic, and what all calls cost is
// held against the best fixed choice of shapes, known beforehand.
#include "graphs/match/admission.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "device/base/sanitized.h"
#include "graphs/match/keep.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

// What a call costs: about what a function of some ten ops does.
constexpr double kReplayCost = 1;
constexpr double kEagerCost = 8;
constexpr double kWarmUpCost = 10;
constexpr double kRecordCost = 40;

using Traffic = std::vector<uint32_t>;  // a shape for each call

struct Limits {
  size_t places = 128;
  uint64_t half_life = 4096;
};

struct Outcome {
  double cost = 0;
  uint64_t recorded = 0;
  uint64_t eager = 0;
  uint64_t pushed_out = 0;
  uint64_t looks = 0;
  size_t most_ghosts = 0;
};

// Does what a tree does with a shape: a place, a warm-up, a recording, replays; eager runs where
// there is no place.
class Model {
 public:
  explicit Model(const Limits& limits)
      : limits_(limits), ghosts_(4 * limits.places, limits.half_life) {}

  const Outcome& outcome() const { return outcome_; }
  bool HasPlace(uint32_t shape) const { return placed_.contains(shape); }

  void Call(uint32_t shape) {
    ++now_;
    if (!HasPlace(shape) && !Admit(shape)) {
      outcome_.cost += kEagerCost;
      ++outcome_.eager;
      return;
    }
    Placed& its = placed_[shape];
    ++its.calls;
    its.last = now_;
    outcome_.cost += its.calls == 1 ? kWarmUpCost : its.calls == 2 ? kRecordCost : kReplayCost;
    outcome_.recorded += its.calls == 2;
  }

 private:
  struct Placed {
    Uses recent;
    uint64_t calls = 0;
    uint64_t last = 0;
  };

  double UsesOf(Placed& placed) {
    return placed.recent.At(now_, placed.calls, placed.last, limits_.half_life);
  }

  bool Admit(uint32_t shape) {
    const Standing before = ghosts_.Take(shape, now_);
    const Standing with_this = {before.uses + 1, before.paid + 1};
    if (placed_.size() >= limits_.places && !PushOut(with_this)) {
      ghosts_.Put(shape, with_this, now_);
      outcome_.most_ghosts = std::max(outcome_.most_ghosts, ghosts_.size());
      return false;
    }
    placed_[shape].recent.Inherit(before.uses, now_, limits_.half_life);
    return true;
  }

  bool PushOut(const Standing& newcomer) {
    if (!admission_.IsWorthALook(newcomer, now_, limits_.half_life)) return false;
    ++outcome_.looks;
    const auto least = std::min_element(
        placed_.begin(), placed_.end(),
        [&](auto& a, auto& b) { return UsesOf(a.second) < UsesOf(b.second); });
    const double its = UsesOf(least->second);
    admission_.Looked(its, now_);
    if (!Admission::HasEarned(newcomer, its, limits_.half_life)) return false;
    ghosts_.Put(least->first, {its, 0}, now_);
    placed_.erase(least);
    ++outcome_.pushed_out;
    return true;
  }

  const Limits limits_;
  Admission admission_;
  Ghosts ghosts_;
  absl::flat_hash_map<uint32_t, Placed> placed_;
  uint64_t now_ = 0;
  Outcome outcome_;
};

Outcome OutcomeOf(const Traffic& traffic, const Limits& limits) {
  Model model(limits);
  for (const uint32_t shape : traffic) model.Call(shape);
  return model.outcome();
}

// The most used shapes are recorded first, and all others left eager.
double BestFixed(const Traffic& traffic, size_t places) {
  absl::flat_hash_map<uint32_t, uint64_t> counts;
  for (const uint32_t shape : traffic) ++counts[shape];
  std::vector<uint64_t> calls;
  for (const auto& [shape, count] : counts) calls.push_back(count);
  std::sort(calls.rbegin(), calls.rend());
  double cost = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    const double count = static_cast<double>(calls[i]);
    const double eager = count * kEagerCost;
    const double recorded = kWarmUpCost + kRecordCost + (count - 2) * kReplayCost;
    cost += i < places && calls[i] > 1 ? std::min(recorded, eager) : eager;
  }
  return cost;
}

// The cost of recordings that took a free place: the rule is not to blame for these.
double FirstRecordings(const Limits& limits) {
  return static_cast<double>(limits.places) * (kWarmUpCost + kRecordCost);
}

Traffic Runs(uint32_t shapes, uint32_t passes, uint32_t in_a_row) {
  Traffic traffic;
  for (uint32_t call = 0; call < shapes * passes * in_a_row; ++call) {
    traffic.push_back(call / in_a_row % shapes);
  }
  return traffic;
}

Traffic Rotation(uint32_t shapes, uint32_t passes) { return Runs(shapes, passes, 1); }

// Shape i comes with a chance in proportion to 1 / (i + 1)^power.
Traffic Zipf(uint32_t shapes, double power, size_t calls, uint32_t seed) {
  std::vector<double> weights;
  for (uint32_t i = 0; i < shapes; ++i) weights.push_back(std::pow(i + 1, -power));
  std::discrete_distribution<uint32_t> draw(weights.begin(), weights.end());
  std::mt19937 random(seed);
  Traffic traffic;
  while (traffic.size() < calls) traffic.push_back(draw(random));
  return traffic;
}

Outcome ExpectNoChurn(const Traffic& traffic, const Limits& limits, const std::string& what) {
  const Outcome outcome = OutcomeOf(traffic, limits);
  const double best = BestFixed(traffic, limits.places);
  EXPECT_LE(outcome.cost, Admission::kMostChurn * best) << what;
  EXPECT_LE(outcome.most_ghosts, 8 * limits.places) << what;
  EXPECT_LE(outcome.looks, traffic.size() / 50 + 2 * outcome.pushed_out + 10) << what;
  return outcome;
}

void ExpectRentIsPaid(const Outcome& outcome, size_t calls, const Limits& limits,
                      const std::string& what) {
  EXPECT_LE(outcome.cost, Admission::kMostOverEager * kEagerCost * static_cast<double>(calls) +
                              FirstRecordings(limits))
      << what;
}

constexpr Limits kManyLimits[] = {{128, 4096}, {4, 16}, {8, 8}, {2, 4096}, {16, 64}, {3, 1}};

std::string Named(const Limits& limits) {
  return std::to_string(limits.places) + " places, half-life " + std::to_string(limits.half_life);
}

TEST(AdmissionTest, RotationsOfAnyLengthDoNotChurn) {
  // About the places' number, 128, every length counts; beyond it they are alike.
  const auto next = [](uint32_t shapes) { return shapes + (kSanitized && shapes > 200 ? 16 : 1); };
  for (uint32_t shapes = 1; shapes <= 2000; shapes = next(shapes)) {
    const Outcome outcome =
        ExpectNoChurn(Rotation(shapes, 6), {}, "a rotation of " + std::to_string(shapes));
    EXPECT_EQ(outcome.recorded, std::min(shapes, 128u)) << shapes;
  }
}

TEST(AdmissionTest, NorDoTheyWhereUsesAreForgottenSoon) {
  for (const Limits& limits : kManyLimits) {
    for (uint32_t shapes = 1; shapes <= 150; ++shapes) {
      ExpectNoChurn(Rotation(shapes, 20), limits,
                    "a rotation of " + std::to_string(shapes) + ", " + Named(limits));
    }
  }
}

TEST(AdmissionTest, NorDoUsesByZipfsLaw) {
  for (const double power : {0.0, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0}) {
    for (const uint32_t shapes : {100, 129, 200, 500, 2000, 20000}) {
      for (const uint32_t seed : {1, 2}) {
        ExpectNoChurn(Zipf(shapes, power, 30000, seed), {},
                      "power " + std::to_string(power) + ", " + std::to_string(shapes) +
                          " shapes, seed " + std::to_string(seed));
      }
    }
  }
}

// Two kinds of traffic: rows of equal calls, where shapes rightly push each other out; and the
// worst one, in which every call has a shape without a place.
TEST(AdmissionTest, WhateverComesRentIsPaid) {
  for (const Limits& limits : kManyLimits) {
    for (const uint32_t in_a_row : {1, 2, 3, 4, 5, 8, 64}) {
      for (const uint32_t shapes : {3, 5, 9, 17, 129, 300}) {
        const Traffic traffic = Runs(shapes, 4, in_a_row);
        ExpectRentIsPaid(OutcomeOf(traffic, limits), traffic.size(), limits,
                         std::to_string(shapes) + " in rows of " + std::to_string(in_a_row) +
                             ", " + Named(limits));
      }
    }
    Model model(limits);
    constexpr size_t kCalls = 20000;
    for (size_t call = 0; call < kCalls; ++call) {
      uint32_t shape = 0;
      while (model.HasPlace(shape)) ++shape;
      model.Call(shape);
    }
    ExpectRentIsPaid(model.outcome(), kCalls, limits, "those without a place, " + Named(limits));
  }
}

// From the middle of the traffic on other shapes come, and soon have the places.
TEST(AdmissionTest, ANewFashionHasItsWay) {
  Model model({});
  Traffic traffic = Zipf(150, 1, 50000, 1);
  for (const uint32_t shape : traffic) model.Call(shape);
  const uint64_t before = model.outcome().eager;
  for (uint32_t& shape : traffic) model.Call(shape += 1000);
  const uint64_t eager = model.outcome().eager - before;
  EXPECT_GT(eager, 0u);
  EXPECT_LT(eager, traffic.size() / 5);
}

TEST(AdmissionTest, RentAndLead) {
  constexpr uint64_t kHalfLife = 4096;
  EXPECT_TRUE(Admission::HasEarned({3, 3}, 0, kHalfLife));
  EXPECT_FALSE(Admission::HasEarned({2.9, 2.9}, 0, kHalfLife)) << "no rent";
  EXPECT_FALSE(Admission::HasEarned({100, 2}, 1, kHalfLife)) << "it had a place before";
  EXPECT_FALSE(Admission::HasEarned({7.9, 7.9}, 4, kHalfLife)) << "no lead";
  EXPECT_TRUE(Admission::HasEarned({8, 8}, 4, kHalfLife));
  EXPECT_TRUE(Admission::HasEarned({1.9, 1.9}, 0, 1)) << "more cannot be had";
}

TEST(AdmissionTest, NobodyIsLookedForInVain) {
  Admission admission;
  EXPECT_TRUE(admission.IsWorthALook({8, 8}, 0, 100)) << "nothing is known yet";
  admission.Looked(6, 1000);
  EXPECT_FALSE(admission.IsWorthALook({8, 8}, 1000, 100));
  EXPECT_FALSE(admission.IsWorthALook({8, 8}, 1050, 100));
  EXPECT_TRUE(admission.IsWorthALook({8, 8}, 1060, 100)) << "the least used may have 4 by now";
  admission.PlaceGiven();
  EXPECT_TRUE(admission.IsWorthALook({8, 8}, 1000, 100));
}

TEST(GhostsTest, UsesAreKeptAndAge) {
  Ghosts ghosts(4, 100);
  ghosts.Put(7, {8, 4}, 1000);
  EXPECT_DOUBLE_EQ(ghosts.Find(7, 1200).uses, 2);
  const Standing standing = ghosts.Take(7, 1200);
  EXPECT_DOUBLE_EQ(standing.uses, 2);
  EXPECT_DOUBLE_EQ(standing.paid, 1);
  EXPECT_EQ(ghosts.Take(7, 1200).uses, 0) << "it is none any more";
  EXPECT_EQ(ghosts.Take(8, 1200).uses, 0);
}

TEST(GhostsTest, TheMostUsedStay) {
  Ghosts ghosts(4, 100);
  for (uint64_t shape = 0; shape < 1000; ++shape) {
    ghosts.Put(shape, {shape % 250 == 0 ? 9.0 : 1.0, 1}, 0);
    EXPECT_LE(ghosts.size(), 8u);
  }
  for (uint64_t shape = 0; shape < 1000; shape += 250) EXPECT_EQ(ghosts.Take(shape, 0).uses, 9);
}

}  // namespace
}  // namespace graphtree
