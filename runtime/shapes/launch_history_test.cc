// Two histories part where they part, and nowhere else.
#include "runtime/shapes/launch_history.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/shapes/key.h"

namespace graphtree {
namespace {

using Kind = Difference::Kind;

Launch LaunchOf(uint64_t step) {
  return {.program = 17, .step = step, .shape = 3, .key = {.tokens = 8}};
}

LaunchHistory HistoryOf(const std::vector<Launch>& launches) {
  LaunchHistory history;
  for (const Launch& launch : launches) history.Record(launch);
  return history;
}

std::vector<Launch> FirstLaunches(uint64_t count) {
  std::vector<Launch> launches;
  for (uint64_t i = 0; i < count; ++i) launches.push_back(LaunchOf(i));
  return launches;
}

TEST(LaunchHistoryTest, KeepsTheLastLaunches) {
  LaunchHistory history;
  EXPECT_EQ(history.count(), 0u);
  EXPECT_EQ(history.digest(), 0u);
  for (uint64_t i = 0; i < 100; ++i) {
    history.Record(LaunchOf(i));
    EXPECT_EQ(history.at(i), LaunchOf(i));
    EXPECT_EQ(history.DigestAfter(i + 1), history.digest());
  }
  EXPECT_EQ(history.first_kept(), 36u);
  EXPECT_EQ(history.at(36), LaunchOf(36));
  EXPECT_TRUE(history.DigestAfter(36).has_value());
  EXPECT_EQ(history.DigestAfter(35), std::nullopt);
  EXPECT_EQ(history.DigestAfter(101), std::nullopt);
  EXPECT_EQ(history.DigestAfter(50), HistoryOf(FirstLaunches(50)).digest());
}

TEST(LaunchHistoryTest, TheDigestSeesEveryFieldAndTheOrder) {
  const std::vector<std::function<void(Launch*)>> changes = {
      [](Launch* launch) { ++launch->program; }, [](Launch* launch) { ++launch->step; },
      [](Launch* launch) { ++launch->shape; }, [](Launch* launch) { ++launch->key.extra; }};
  std::set<uint64_t> digests = {HistoryOf({LaunchOf(0), LaunchOf(1)}).digest(),
                                HistoryOf({LaunchOf(1), LaunchOf(0)}).digest(),
                                HistoryOf({LaunchOf(0)}).digest(), HistoryOf({}).digest()};
  for (const auto& change : changes) {
    std::vector<Launch> launches = {LaunchOf(0), LaunchOf(1)};
    change(&launches[0]);
    digests.insert(HistoryOf(launches).digest());
  }
  for (size_t i = 0; i < kKeyNumberCount; ++i) {
    std::vector<Launch> launches = {LaunchOf(0), LaunchOf(1)};
    ++NumberOf(launches[0].key, static_cast<KeyField>(i));
    digests.insert(HistoryOf(launches).digest());
  }
  EXPECT_EQ(digests.size(), 4 + changes.size() + kKeyNumberCount);
}

// What FirstDifference should say, from the whole lists.
Difference WantedOf(const std::vector<Launch>& a, const std::vector<Launch>& b) {
  const size_t end = std::min(a.size(), b.size());
  size_t parted = 0;
  while (parted < end && a[parted] == b[parted]) ++parted;
  const size_t longest = std::max(a.size(), b.size());
  const size_t begin = longest > LaunchHistory::kKept ? longest - LaunchHistory::kKept : 0;
  if (begin > end) return {Kind::kTooFar, begin};
  if (parted == end) return a.size() == b.size() ? Difference{} : Difference{Kind::kBehind, end};
  return parted < begin ? Difference{Kind::kEarlier, begin} : Difference{Kind::kParted, parted};
}

TEST(LaunchHistoryTest, FindsTheFirstDifferenceThatTheWholeListsShow) {
  uint64_t kinds[5] = {};
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937_64 random(seed);
    std::vector<Launch> a;
    for (uint64_t i = random() % 150; i > 0; --i) a.push_back(LaunchOf(random() % 3));
    std::vector<Launch> b = a;
    // Some launches of b differ, and b goes on, or stops earlier.
    for (uint64_t i = random() % 3; i > 0 && !b.empty(); --i) ++b[random() % b.size()].key.tokens;
    if (random() % 2 == 0) b.resize(b.size() - random() % (b.size() + 1));
    for (uint64_t i = random() % 2 * (random() % 90); i > 0; --i) b.push_back(LaunchOf(9));
    const Difference found = FirstDifference(HistoryOf(a), HistoryOf(b));
    const Difference wanted = WantedOf(a, b);
    ASSERT_EQ(static_cast<int>(found.kind), static_cast<int>(wanted.kind));
    ASSERT_EQ(found.number, wanted.number);
    ++kinds[static_cast<size_t>(found.kind)];
  }
  for (const uint64_t count : kinds) EXPECT_GT(count, 50u);
}

TEST(LaunchHistoryTest, ACopyOfTheBytesIsTheHistory) {
  const LaunchHistory history = HistoryOf({LaunchOf(0), LaunchOf(1)});
  LaunchHistory copy;
  std::memcpy(static_cast<void*>(&copy), &history, sizeof(history));
  EXPECT_EQ(FirstDifference(history, copy).kind, Kind::kNone);
  EXPECT_EQ(copy.digest(), history.digest());
}

TEST(LaunchHistoryTest, TheDumpShowsBothSidesAndTheFirstDifference) {
  const LaunchHistory a = HistoryOf({LaunchOf(0), LaunchOf(1), LaunchOf(2)});
  LaunchHistory b = HistoryOf({LaunchOf(0)});
  b.Record({.program = 17, .step = 1, .shape = UINT32_MAX, .key = {.tokens = 9}});
  const std::string text = DumpBoth("rank 0", a, "rank 1", b);
  EXPECT_TRUE(absl::StrContains(text, "rank 0: 3 launches, digest ")) << text;
  EXPECT_TRUE(absl::StrContains(text, "the first launch that differs is 1\n")) << text;
  EXPECT_TRUE(absl::StrContains(text, ">        1  step 1 program 11 shape 3 tokens=8 ")) << text;
  EXPECT_TRUE(absl::StrContains(text, "step 1 program 11 eager tokens=9\n")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7) << text;
}

}  // namespace
}  // namespace graphtree
