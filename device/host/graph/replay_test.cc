// Launches in flight keep the work that they were issued with, however often ops are patched.
#include "device/host/graph/replay.h"

#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree::host {
namespace {

Work FillOf(Address target) {
  Work work;
  work.SetFill({target, 1, 1, 16});
  return work;
}

Address TargetOf(const Work& work) { return work.footprints()[0].range.base; }

std::shared_ptr<const std::vector<Op>> Line(uint32_t count) {
  std::vector<Op> ops(count);
  for (uint32_t i = 0; i < count; ++i) {
    ops[i].id = i;
    if (i > 0) ops[i].dependencies.push_back({i - 1});
  }
  return std::make_shared<const std::vector<Op>>(std::move(ops));
}

std::vector<Work> FillsAt(const std::vector<Address>& targets) {
  std::vector<Work> works;
  for (Address target : targets) works.push_back(FillOf(target));
  return works;
}

TEST(ReplayTest, OpsBecomeReadyAsThoseBeforeThemFinish) {
  Replay replay(Line(3), FillsAt({0, 16, 32}));
  std::vector<uint32_t> ready;
  replay.Start(ready);
  EXPECT_EQ(ready, std::vector<uint32_t>{0});
  ready.clear();
  replay.Finish(0, ready);
  EXPECT_EQ(ready, std::vector<uint32_t>{1});
  ready.clear();
  replay.Finish(1, ready);
  replay.Finish(2, ready);
  EXPECT_TRUE(replay.finished());
}

TEST(ReplayTest, ALaunchSeesThePatchesBeforeItAndNoneBehind) {
  Replay replay(Line(2), FillsAt({100, 200}));
  std::vector<uint64_t> launches;
  for (Address target = 1000; target < 1005; ++target) {
    launches.push_back(replay.Issued());
    replay.Patch(1, FillOf(target));
  }
  EXPECT_EQ(TargetOf(replay.At(1, launches[0])), 200u);
  for (size_t i = 1; i < launches.size(); ++i) {
    EXPECT_EQ(TargetOf(replay.At(1, launches[i])), 1000 + i - 1);
    EXPECT_EQ(TargetOf(replay.At(0, launches[i])), 100u);
  }
  EXPECT_EQ(TargetOf(replay.newest(1)), 1004u);
}

TEST(ReplayTest, OldWorkStaysAsLongAsALaunchNeedsIt) {
  Replay replay(Line(1), FillsAt({100}));
  const uint64_t first = replay.Issued();
  const Work* const kept = &replay.At(0, first);
  for (Address target = 200; target < 300; ++target) {
    replay.Patch(0, FillOf(target));
    ASSERT_EQ(&replay.At(0, first), kept) << "moved under a running launch";
  }
  replay.Over();
  const uint64_t second = replay.Issued();
  EXPECT_EQ(TargetOf(replay.At(0, second)), 299u);
}

TEST(ReplayTest, TouchesWhatItsOpsTouchAlsoAfterAPatch) {
  Replay replay(Line(2), FillsAt({100, 300}));
  EXPECT_TRUE(replay.Touches({110, 1}));
  EXPECT_TRUE(replay.Touches({0, 101}));
  EXPECT_FALSE(replay.Touches({116, 184}));
  replay.Patch(0, FillOf(200));
  EXPECT_TRUE(replay.Touches({210, 1}));
  EXPECT_FALSE(replay.Touches({110, 1}));
}

TEST(ReplayTest, WorkThatNobodyDeclaredTouchesEverything) {
  std::vector<Work> works = FillsAt({100});
  works.emplace_back();
  works.back().SetFunction(OpKind::kKernel, "gemm", [] {});
  Replay replay(Line(2), works);
  EXPECT_TRUE(replay.Touches({1 << 20, 1}));
}

}  // namespace
}  // namespace graphtree::host
