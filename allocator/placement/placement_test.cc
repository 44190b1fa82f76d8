// Placement against a model that knows only the set of live blocks and looks at all of them.
#include "allocator/placement/placement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

// The rule of placement.h, written down the slow way.
class Model {
 public:
  explicit Model(uint32_t limit) : limit_(limit) {}

  std::optional<uint32_t> Allocate(uint32_t length, uint32_t alignment) {
    std::optional<uint32_t> at = Choose(length, alignment);
    if (at) live_[*at] = length;
    return at;
  }
  bool AllocateAt(uint32_t offset, uint32_t length) {
    if (uint64_t{offset} + length > limit_) return false;
    for (const auto& [o, n] : live_) {
      if (o < offset + length && offset < o + n) return false;
    }
    live_[offset] = length;
    return true;
  }
  void Free(uint32_t offset) { live_.erase(offset); }
  const std::map<uint32_t, uint32_t>& live() const { return live_; }
  uint32_t end() const {
    return live_.empty() ? 0 : live_.rbegin()->first + live_.rbegin()->second;
  }

 private:
  struct Gap {
    uint32_t offset;
    uint32_t length;
  };
  static bool Holds(Gap gap, uint32_t length, uint32_t alignment) {
    return AlignUp(gap.offset, alignment) + length <= uint64_t{gap.offset} + gap.length;
  }

  std::vector<Gap> Gaps() const {
    std::vector<Gap> gaps;
    uint32_t at = 0;
    for (const auto& [offset, length] : live_) {
      if (offset > at) gaps.push_back({at, offset - at});
      at = offset + length;
    }
    return gaps;
  }
  // The lowest gap of the own class if it is long enough, else of the next class with any.
  static std::optional<Gap> GoodFit(const std::vector<Gap>& gaps, uint64_t length) {
    if (length > 0xffffffffu) return std::nullopt;
    const uint32_t own = SizeClassOf(static_cast<uint32_t>(length));
    std::optional<Gap> lowest, larger;
    for (const Gap& gap : gaps) {
      const uint32_t c = SizeClassOf(gap.length);
      if (c == own && !lowest) lowest = gap;
      if (c > own && (!larger || c < SizeClassOf(larger->length))) larger = gap;
    }
    if (lowest && lowest->length >= length) return lowest;
    return larger;
  }
  std::optional<uint32_t> Choose(uint32_t length, uint32_t alignment) const {
    const std::vector<Gap> gaps = Gaps();
    std::optional<Gap> found = GoodFit(gaps, length);
    if (found && !Holds(*found, length, alignment)) {
      found = GoodFit(gaps, uint64_t{length} + alignment - 1);
    }
    if (!found) {
      const uint64_t start = AlignUp(end(), alignment);
      if (start + length <= limit_) return static_cast<uint32_t>(start);
      for (const Gap& gap : gaps) {
        const bool better = !found || SizeClassOf(gap.length) < SizeClassOf(found->length);
        if (better && Holds(gap, length, alignment)) found = gap;
      }
    }
    if (!found) return std::nullopt;
    return static_cast<uint32_t>(AlignUp(found->offset, alignment));
  }

  uint32_t limit_;
  std::map<uint32_t, uint32_t> live_;
};

uint32_t RandomLength(std::mt19937_64& random) {
  const uint32_t magnitude = static_cast<uint32_t>(random() % 12);
  return 1 + static_cast<uint32_t>(random() % (uint64_t{1} << magnitude));
}

class RandomProgram : public testing::TestWithParam<int> {};

TEST_P(RandomProgram, PlacesWhereTheModelPlaces) {
  SCOPED_TRACE(testing::Message() << "seed " << GetParam());
  std::mt19937_64 random(static_cast<uint64_t>(GetParam()));
  const uint32_t limit = 1u << (10 + random() % 8);
  Placement placement(limit);
  Model model(limit);
  std::vector<RunId> live;
  for (int step = 0; step < 3000; ++step) {
    const uint64_t dice = random() % 100;
    if (dice < 48 && !live.empty()) {
      const size_t victim = random() % live.size();
      model.Free(placement.run(live[victim]).offset);
      placement.Free(live[victim]);
      live[victim] = live.back();
      live.pop_back();
    } else if (dice < 55) {
      const uint32_t offset = static_cast<uint32_t>(random() % limit),
                     length = RandomLength(random);
      const Placed placed = placement.AllocateAt(offset, length);
      ASSERT_EQ(placed.outcome == PlaceOutcome::kPlaced, model.AllocateAt(offset, length));
      if (placed.run != kNoId) live.push_back(placed.run);
    } else {
      const uint32_t length = RandomLength(random);
      const uint32_t alignment = dice < 70 ? 1u << random() % 9 : 1;
      const std::optional<uint32_t> expected = model.Allocate(length, alignment);
      const Placed placed = placement.Allocate(length, alignment);
      ASSERT_EQ(placed.outcome == PlaceOutcome::kPlaced, expected.has_value()) << "step " << step;
      if (!expected) continue;
      ASSERT_EQ(placement.run(placed.run).offset, *expected) << "step " << step;
      live.push_back(placed.run);
    }
    ASSERT_EQ(placement.end(), model.end());
    ASSERT_EQ(placement.live_count(), model.live().size());
    if (step % 64 == 0) placement.CheckConsistency();
  }
  for (RunId id : live) placement.Free(id);
  placement.CheckConsistency();
  EXPECT_EQ(placement.end(), 0u);
  EXPECT_EQ(placement.first(), kNoId);
}

TEST_P(RandomProgram, OffsetsDependOnTheLiveSetAndNotOnHistory) {
  std::mt19937_64 random(static_cast<uint64_t>(GetParam()) + 1000);
  Placement travelled(1 << 16), fresh(1 << 16);
  std::vector<RunId> live;
  for (int step = 0; step < 800; ++step) {
    if (random() % 2 == 0 && !live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      travelled.Free(live.back());
      live.pop_back();
    } else if (Placed placed = travelled.Allocate(RandomLength(random)); placed.run != kNoId) {
      live.push_back(placed.run);
    }
  }
  std::shuffle(live.begin(), live.end(), random);
  for (RunId id : live) {
    const auto& run = travelled.run(id);
    ASSERT_EQ(fresh.AllocateAt(run.offset, run.length).outcome, PlaceOutcome::kPlaced);
  }
  for (int step = 0; step < 300; ++step) {
    const uint32_t length = RandomLength(random);
    const Placed a = travelled.Allocate(length), b = fresh.Allocate(length);
    ASSERT_EQ(a.outcome, b.outcome);
    if (a.run == kNoId) break;
    ASSERT_EQ(travelled.run(a.run).offset, fresh.run(b.run).offset) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomProgram, testing::Range(0, 24));

TEST(PlacementTest, OutOfSpaceOnlyWhenNoRunIsLongEnough) {
  Placement placement(100);
  const RunId first = placement.Allocate(60).run;
  placement.Allocate(40);
  EXPECT_EQ(placement.Allocate(1).outcome, PlaceOutcome::kOutOfSpace);
  placement.Free(first);
  EXPECT_EQ(placement.LargestFree(), 60u);
  EXPECT_EQ(placement.Allocate(61).outcome, PlaceOutcome::kOutOfSpace);
  EXPECT_EQ(placement.Allocate(60).outcome, PlaceOutcome::kPlaced);
}

TEST(PlacementTest, LastAttemptFindsTheLongerRunBehindTheLowestOfItsClass) {
  Placement placement(64 + 1 + 65 + 1);
  const RunId shorter = placement.Allocate(64).run;
  placement.Allocate(1);
  const RunId longer = placement.Allocate(65).run;
  placement.Allocate(1);
  placement.Free(shorter);
  placement.Free(longer);
  const Placed placed = placement.Allocate(65);
  ASSERT_EQ(placed.outcome, PlaceOutcome::kPlaced);
  EXPECT_EQ(placement.run(placed.run).offset, 65u);
}

TEST(PlacementTest, ExactOffsetRefusesWhatOverlapsSomethingLive) {
  Placement placement(1000);
  placement.AllocateAt(100, 50);
  EXPECT_EQ(placement.AllocateAt(149, 1).outcome, PlaceOutcome::kOccupied);
  EXPECT_EQ(placement.AllocateAt(90, 11).outcome, PlaceOutcome::kOccupied);
  EXPECT_EQ(placement.AllocateAt(90, 10).outcome, PlaceOutcome::kPlaced);
  EXPECT_EQ(placement.AllocateAt(999, 2).outcome, PlaceOutcome::kOutOfSpace);
  placement.CheckConsistency();
}

TEST(PlacementTest, FindAnswersWithTheRunThatCoversAnOffset) {
  Placement placement(1u << 24);
  const RunId low = placement.AllocateAt(10, 5).run;
  const RunId high = placement.AllocateAt(1u << 23, 1000).run;
  EXPECT_EQ(placement.Find(14), low);
  EXPECT_FALSE(placement.run(placement.Find(9)).is_live());
  EXPECT_EQ(placement.run(placement.Find(1u << 22)).offset, 15u);
  EXPECT_EQ(placement.Find((1u << 23) + 999), high);
  EXPECT_EQ(placement.Find((1u << 23) + 1000), kNoId);
}

TEST(PlacementTest, GrowingTheRangeMovesNoDecision) {
  Placement small(1000), large(1u << 30);
  for (uint32_t length : {7u, 300u, 64u, 12u}) {
    const RunId a = small.Allocate(length).run, b = large.Allocate(length).run;
    EXPECT_EQ(small.run(a).offset, large.run(b).offset);
  }
  EXPECT_EQ(small.Allocate(700).outcome, PlaceOutcome::kOutOfSpace);
  small.SetLimit(1u << 20);
  EXPECT_EQ(small.run(small.Allocate(700).run).offset, 383u);
}

TEST(PlacementDeathTest, RefusesToCutTheRangeBelowWhatIsLive) {
  Placement placement(1000);
  placement.Allocate(100);
  EXPECT_DEATH(placement.SetLimit(99), "limit 99 below the last block's end 100");
}

TEST(SizeClassTest, ClassesTileTheLengths) {
  for (uint32_t c = 1; c < kClassCount; ++c) {
    EXPECT_EQ(SizeClassOf(SizeClassFloor(c)), c);
    EXPECT_EQ(SizeClassOf(SizeClassFloor(c) - 1), c - 1);
  }
  EXPECT_EQ(SizeClassOf(0xffffffffu), kClassCount - 1);
}

}  // namespace
}  // namespace graphtree
