// The ladder against all ladders, and by hand for what people rely on.
#include "runtime/plan/ladder.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using absl::StatusCode;

Ladder MustChoose(const std::vector<SizeCount>& calls, const std::vector<Rung>& rungs,
                  const LadderLimits& limits) {
  auto ladder = ChooseLadder(calls, rungs, limits);
  EXPECT_THAT(ladder, IsOk());
  return *std::move(ladder);
}

// What these rungs cost, call by call.
Ladder Priced(const std::vector<SizeCount>& calls, const std::vector<Rung>& ladder,
              const LadderLimits& limits) {
  Ladder priced;
  for (const Rung& rung : ladder) {
    priced.sizes.push_back(rung.size);
    priced.bytes += rung.own_bytes;
  }
  if (!ladder.empty()) priced.bytes += ladder.back().shared_bytes;
  for (const SizeCount& one : calls) {
    priced.calls += one.calls;
    const auto up = std::find_if(ladder.begin(), ladder.end(),
                                 [&](const Rung& rung) { return rung.size >= one.size; });
    if (up == ladder.end() || up->size > MostCovering(limits.padding, one.size)) {
      priced.eager_calls += one.calls;
    } else {
      priced.padded_rows += one.calls * static_cast<uint64_t>(up->size - one.size);
    }
  }
  priced.cost = priced.padded_rows + priced.eager_calls * limits.eager_rows;
  return priced;
}

// By looking at all of them.
Ladder BestOfAll(const std::vector<SizeCount>& calls, const std::vector<Rung>& rungs,
                 const LadderLimits& limits) {
  Ladder best = Priced(calls, {}, limits);
  for (uint32_t set = 1; set < uint32_t{1} << rungs.size(); ++set) {
    std::vector<Rung> ladder;
    for (size_t i = 0; i < rungs.size(); ++i) {
      if ((set >> i & 1) != 0) ladder.push_back(rungs[i]);
    }
    const Ladder priced = Priced(calls, ladder, limits);
    if (limits.bytes > 0 && priced.bytes > limits.bytes) continue;
    if (priced.cost < best.cost || (priced.cost == best.cost && priced.bytes < best.bytes)) {
      best = priced;
    }
  }
  return best;
}

class RandomCase {
 public:
  explicit RandomCase(uint64_t seed) : random_(seed) {
    const uint64_t count = Below(10);
    int32_t size = 0;
    uint64_t shared = 0;
    const bool are_alike = Below(2) == 0;
    for (uint64_t i = 0; i < count; ++i) {
      size += 1 + static_cast<int32_t>(Below(12));
      shared += Below(20);
      rungs.push_back({size, are_alike ? 7 : Below(30), shared});
    }
    for (uint64_t i = Below(25); i-- > 0;) {
      calls.push_back({1 + static_cast<int32_t>(Below(size + 6)), Below(9)});
    }
    if (Below(3) > 0) limits.bytes = 1 + Below(150);
    if (Below(2) == 0) limits.padding.most_ratio = 1.0 + static_cast<double>(Below(8)) / 4;
    if (Below(2) == 0) limits.padding.most_extra = static_cast<int32_t>(Below(12));
    limits.eager_rows = Below(3) == 0 ? 0 : Below(40);
  }

  std::vector<SizeCount> calls;
  std::vector<Rung> rungs;
  LadderLimits limits;

 private:
  uint64_t Below(uint64_t end) { return random_() % end; }
  std::mt19937_64 random_;
};

TEST(LadderTest, IsTheBestOfAllLadders) {
  uint64_t with_rungs = 0, with_eager = 0, short_of_bytes = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const RandomCase random(seed);
    const Ladder ladder = MustChoose(random.calls, random.rungs, random.limits);
    const Ladder best = BestOfAll(random.calls, random.rungs, random.limits);
    ASSERT_EQ(ladder.cost, best.cost) << "seed " << seed;
    ASSERT_EQ(ladder.bytes, best.bytes) << "seed " << seed;
    std::vector<Rung> chosen;
    for (const Rung& rung : random.rungs) {
      if (std::count(ladder.sizes.begin(), ladder.sizes.end(), rung.size) > 0) {
        chosen.push_back(rung);
      }
    }
    const Ladder priced = Priced(random.calls, chosen, random.limits);
    ASSERT_EQ(ladder.sizes, priced.sizes) << "seed " << seed;
    ASSERT_EQ(ladder.bytes, priced.bytes) << "seed " << seed;
    ASSERT_EQ(ladder.calls, priced.calls) << "seed " << seed;
    ASSERT_EQ(ladder.eager_calls, priced.eager_calls) << "seed " << seed;
    ASSERT_EQ(ladder.padded_rows, priced.padded_rows) << "seed " << seed;
    ASSERT_EQ(ladder.cost, priced.cost) << "seed " << seed;
    LadderLimits rich = random.limits;
    rich.bytes = 0;
    with_rungs += ladder.sizes.size() > 1;
    with_eager += ladder.eager_calls > 0 && ladder.padded_rows > 0;
    short_of_bytes += MustChoose(random.calls, random.rungs, rich).cost < ladder.cost;
  }
  EXPECT_GT(with_rungs, 500u);
  EXPECT_GT(with_eager, 300u);
  EXPECT_GT(short_of_bytes, 300u);
}

TEST(LadderTest, FitsTheBudgetAlsoWhereBytesAreRounded) {
  uint64_t dearer = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    RandomCase random(seed);
    random.limits.most_ladders = 2;
    const Ladder ladder = MustChoose(random.calls, random.rungs, random.limits);
    random.limits.most_ladders = 4096;
    const Ladder best = MustChoose(random.calls, random.rungs, random.limits);
    if (random.limits.bytes > 0) {
      ASSERT_LE(ladder.bytes, random.limits.bytes) << "seed " << seed;
    }
    ASSERT_GE(ladder.cost, best.cost) << "seed " << seed;
    dearer += ladder.cost > best.cost;
  }
  EXPECT_LT(dearer, 500u);
}

std::vector<Rung> RungsUpTo(int32_t most) {
  std::vector<Rung> rungs;
  for (int32_t size = 1; size <= most; ++size) {
    rungs.push_back({size, 10, static_cast<uint64_t>(size)});
  }
  return rungs;
}

TEST(LadderTest, PutsRungsWhereCallsCome) {
  const std::vector<SizeCount> calls = {{3, 1000}, {17, 500}, {18, 10}, {40, 5}};
  const Ladder ladder = MustChoose(calls, RungsUpTo(64), {.bytes = 70});
  EXPECT_EQ(absl::StrJoin(ladder.sizes, " "), "3 17 40");
  EXPECT_EQ(ladder.bytes, 70u);
  EXPECT_EQ(ladder.padded_rows, 10u * (40 - 18));
  EXPECT_EQ(ladder.eager_calls, 0u);
}

TEST(LadderTest, ABudgetBelowOneRungGivesAnEmptyLadder) {
  const Ladder ladder = MustChoose({{3, 1000}}, RungsUpTo(8), {.bytes = 12});
  EXPECT_TRUE(ladder.sizes.empty());
  EXPECT_EQ(ladder.eager_calls, 1000u);
  EXPECT_EQ(ladder.bytes, 0u);
}

TEST(LadderTest, FiveHundredRungsOfUnequalBytes) {
  std::vector<Rung> rungs = RungsUpTo(512);
  std::vector<SizeCount> calls;
  std::mt19937_64 random(7);
  for (Rung& rung : rungs) {
    rung.own_bytes = 100 + random() % 50;
    calls.push_back({rung.size, random() % 1000});
  }
  const Ladder ladder = MustChoose(calls, rungs, {.bytes = 4000, .most_ladders = 256});
  EXPECT_LE(ladder.bytes, 4000u);
  EXPECT_GT(ladder.sizes.size(), 25u);
  EXPECT_EQ(ladder.eager_calls, 0u);
}

TEST(LadderTest, SaysWhatMakesNoSense) {
  const auto refused = [](const std::vector<SizeCount>& calls, const std::vector<Rung>& rungs,
                          const LadderLimits& limits, const char* words) {
    EXPECT_THAT(ChooseLadder(calls, rungs, limits),
                FailsWith(StatusCode::kInvalidArgument, words));
  };
  refused({{0, 5}}, {}, {}, "5 calls of size 0");
  refused({}, {{-4, 1, 1}}, {}, "size -4");
  refused({}, {{4, 1, 1}, {4, 1, 1}}, {}, "a rung of size 4 stands after one of 4");
  refused({}, {{4, 1, 9}, {5, 1, 8}}, {}, "size 5 has 8 shared bytes");
  refused({}, {}, {.padding = {Covers::kEqual}}, "'equal'");
  refused({}, {}, {.padding = {Covers::kAtMost, 0.5}}, "0.5");
  refused({}, {}, {.most_ladders = 0}, "best 0");
  refused({{1, uint64_t{1} << 62}}, {{4, 1, 1}}, {}, "too many");
}

}  // namespace
}  // namespace graphtree
