// Policies against what PyTorch recorded itself, against a limit, and against random programs.
#include "tools/snapshot/replay/replay.h"

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"
#include "tools/snapshot/read/read.h"
#include "tools/snapshot/replay/bfc_policy.h"
#include "tools/snapshot/replay/caching_policy.h"
#include "tools/snapshot/replay/expandable_policy.h"
#include "tools/snapshot/replay/graphtree_policy.h"

namespace graphtree::snapshot {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

std::unique_ptr<Snapshot> Open(const std::string& name) {
  auto read = ReadSnapshot(absl::StrCat("tools/snapshot/testdata/", name, ".pickle"));
  EXPECT_THAT(read, IsOk());
  return *std::move(read);
}

using Maker = std::function<std::unique_ptr<Policy>(uint64_t limit)>;

const std::map<std::string, Maker>& Makers() {
  static const auto* const makers = new std::map<std::string, Maker>{
      {"caching", [](uint64_t limit) { return MakeCachingPolicy(limit); }},
      {"expandable", MakeExpandablePolicy},
      {"bfc", MakeBfcPolicy},
      {"graphtree", MakeGraphtreePolicy}};
  return *makers;
}

TEST(ReplayTest, TheCachingPolicyTakesWhatPyTorchTook) {
  for (const char* name : {"train_step7", "leak_step9", "leak_step39", "oom_fragmented"}) {
    const auto snapshot = Open(name);
    const auto histories = BuildHistories(*snapshot, snapshot->gpu);
    ASSERT_EQ(histories.size(), 1u);
    const auto policy = MakeCachingPolicy(0);
    const ReplayResult ours = Replay(*snapshot, snapshot->gpu, histories[0], *policy);
    const ReplayResult theirs = AsRecorded(*snapshot, snapshot->gpu, histories[0]);
    EXPECT_EQ(ours.peak_requested, theirs.peak_requested) << name;
    // The recording ends where the allocation failed; without a limit it does not fail.
    const uint64_t failed = theirs.failed == 0 ? 0 : 20 * kMiB;
    EXPECT_EQ(ours.peak_reserved, theirs.peak_reserved + failed) << name;
    EXPECT_EQ(ours.held_at_end, theirs.held_at_end) << name;
    EXPECT_EQ(ours.driver_calls, theirs.driver_calls + (failed == 0 ? 0 : 1)) << name;
    EXPECT_EQ(ours.failed, 0u) << name;
  }
}

TEST(ReplayTest, TheExpandablePolicyTakesWhatPyTorchTookFromTheDriver) {
  const auto snapshot = Open("expandable_two_streams");
  const auto histories = BuildHistories(*snapshot, snapshot->gpu);
  const auto policy = MakeExpandablePolicy(0);
  const ReplayResult ours = Replay(*snapshot, snapshot->gpu, histories[0], *policy);
  const ReplayResult theirs = AsRecorded(*snapshot, snapshot->gpu, histories[0]);
  EXPECT_EQ(ours.peak_requested, theirs.peak_requested);
  EXPECT_EQ(ours.peak_reserved, theirs.peak_reserved);
  EXPECT_EQ(ours.reserved_at_end, theirs.reserved_at_end);
}

TEST(ReplayTest, TheRecordedFailureFailsAgainUnderTheSameLimit) {
  const auto snapshot = Open("oom_fragmented");
  const auto histories = BuildHistories(*snapshot, snapshot->gpu);
  const uint64_t limit = histories[0].reserved_peak.bytes;
  const ReplayResult again =
      Replay(*snapshot, snapshot->gpu, histories[0], *MakeCachingPolicy(limit));
  ASSERT_TRUE(again.fits_failed_request.has_value());
  EXPECT_FALSE(*again.fits_failed_request);
  EXPECT_EQ(again.failed, 0u);
  const ReplayResult free = Replay(*snapshot, snapshot->gpu, histories[0], *MakeCachingPolicy(0));
  EXPECT_TRUE(*free.fits_failed_request);
}

TEST(PolicyTest, ALimitIsNeverExceededAndFreedMemoryMakesRoom) {
  for (const auto& [name, make] : Makers()) {
    const auto policy = make(64 * kMiB);
    ASSERT_TRUE(policy->Allocate({.key = 1, .size = 30 * kMiB})) << name;
    EXPECT_FALSE(policy->Allocate({.key = 2, .size = 60 * kMiB})) << name;
    EXPECT_LE(policy->reserved(), 64 * kMiB) << name;
    policy->Free(1);
    EXPECT_EQ(policy->held(), 0u) << name;
    EXPECT_TRUE(policy->Allocate({.key = 3, .size = 20 * kMiB})) << name;
    EXPECT_LE(policy->reserved(), 64 * kMiB) << name;
  }
}

TEST(PolicyTest, StreamsAndPoolsShareOnlyWhereThePolicySaysSo) {
  for (const auto& [name, make] : Makers()) {
    const auto policy = make(0);
    ASSERT_TRUE(policy->Allocate({.key = 1, .size = 4 * kMiB}));
    policy->Free(1);
    const uint64_t before = policy->reserved();
    ASSERT_TRUE(policy->Allocate({.key = 2, .size = 4 * kMiB, .stream = 1}));
    const bool separate = name == "caching" || name == "expandable";
    EXPECT_EQ(policy->reserved() > before, separate) << name;
  }
}

TEST(PolicyTest, LargeBlocksAreKeptWholeWhenAsked) {
  const auto policy = MakeCachingPolicy(0, {.max_split_size = 64 * kMiB});
  ASSERT_TRUE(policy->Allocate({.key = 1, .size = 100 * kMiB}));
  policy->Free(1);
  ASSERT_TRUE(policy->Allocate({.key = 2, .size = 12 * kMiB}));
  EXPECT_EQ(policy->reserved(), 112 * kMiB);  // not out of the large block
  ASSERT_TRUE(policy->Allocate({.key = 3, .size = 90 * kMiB}));
  EXPECT_EQ(policy->reserved(), 112 * kMiB);  // the large block, whole
  EXPECT_EQ(policy->held(), 112 * kMiB);
}

// Figures must stay sane through any program, and all memory must come back at its end.
TEST(PolicyTest, RandomProgramsEndWithNothingHeld) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  for (const auto& [name, make] : Makers()) {
    std::mt19937 random(seed);
    const uint64_t limit = random() % 2 == 0 ? 0 : 512 * kMiB;
    const auto policy = make(limit);
    std::map<uint32_t, uint64_t> live;
    uint64_t requested = 0;
    for (uint32_t key = 0; key < 3000; ++key) {
      if (!live.empty() && random() % 100 < 48) {
        const auto victim = std::next(live.begin(), random() % live.size());
        requested -= victim->second;
        policy->Free(victim->first);
        live.erase(victim);
      } else {
        const uint64_t size = uint64_t{1} << (random() % 26);
        const PolicyRequest request = {key, 1 + random() % size, random() % 3 == 0,
                                       random() % 5 == 0};
        if (policy->Allocate(request)) {
          live[key] = request.size;
          requested += request.size;
        } else {
          ASSERT_NE(limit, 0u) << name;
        }
      }
      if (random() % 200 == 0) policy->Trim();
      ASSERT_GE(policy->held(), requested) << name;
      ASSERT_GE(policy->reserved(), policy->held()) << name;
      ASSERT_TRUE(limit == 0 || policy->reserved() <= limit) << name;
    }
    for (const auto& [key, size] : live) policy->Free(key);
    EXPECT_EQ(policy->held(), 0u) << name;
    policy->Trim();
    // The others keep graphs' pools, or everything.
    EXPECT_TRUE(name != "graphtree" || policy->reserved() == 0) << policy->reserved();
  }
}

}  // namespace
}  // namespace graphtree::snapshot
