// A profile of trees that run, on every device: what is in the trace, under which name, and that
// the tree goes on as if nobody watched.
#include "profiler/profile.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphs/tensor.h"
#include "graphs/tree.h"
#include "profiler/activity/activity_source.h"
#include "profiler/open_source.h"
#include "profiler/profile_options.h"
#include "profiler/trace/records.h"
#include "profiler/trace/store.h"
#include "profiler/trace/tables.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMostRecords = 200'000;

class ProfileTest : public TreeTest {
 protected:
  void SetUp() override {
    TreeTest::SetUp();
    if (IsSkipped()) return;
    twice_ = Register("twice", {}, Twice);
    thrice_ = Register("thrice", {}, Thrice);
  }
  void TearDown() override {
    profile_ = nullptr;
    source_ = nullptr;
    TreeTest::TearDown();
  }

  // Two recordings, which follow one another.
  void Step(const Tensor& x) {
    NewStep();
    const Values twice = Call(twice_, {x});
    const Values thrice = Call(thrice_, {twice[0]});
    EXPECT_THAT(a().Synchronize(), IsOk());
    EXPECT_EQ(Read(thrice[0]), Times(PatternOf(1), 6));
  }
  void Record(const Tensor& x) {
    for (int step = 0; step < 3; ++step) Step(x);
  }

  ProfileOptions OptionsOf(ProfileMode mode) {
    tables_ = std::make_unique<trace::TraceTables>();
    store_ = std::make_unique<trace::TraceStore>(kMostRecords);
    ProfileOptions options;
    options.mode = mode;
    options.device = &device();
    options.source = source_.get();
    options.tables = tables_.get();
    options.listener = store_.get();
    options.light_in = 1;
    return options;
  }
  // False, and the test is skipped, where the device's ops cannot be had.
  bool OpenSource() {
    auto source = OpenActivitySource(device(), {});
    if (source.ok()) source_ = *std::move(source);
    if (source_ == nullptr) why_none_ = std::string(source.status().message());
    return source_ != nullptr;
  }
  void Start(ProfileOptions options) {
    auto profile = Profile::Start(std::move(options));
    ASSERT_THAT(profile, IsOk());
    profile_ = *std::move(profile);
  }

  std::string Text(trace::TextId id) const { return std::string(tables_->text(id)); }
  const trace::Identity& IdentityOf(const trace::DeviceOp& op) const {
    return tables_->identity(op.identity);
  }
  std::map<uint64_t, const trace::HostSpan*> Launches() const {
    std::map<uint64_t, const trace::HostSpan*> launches;
    for (const trace::HostSpan& span : store_->spans()) {
      if (!span.is_graph) continue;
      const bool is_new = launches.emplace(span.correlation, &span).second;
      EXPECT_TRUE(is_new) << "launch " << span.correlation << " has two spans";
    }
    return launches;
  }
  // Each replay has its span, and each op of the tree its launch and its function.
  void ExpectWholeReplays(size_t steps) {
    const auto launches = Launches();
    EXPECT_EQ(launches.size(), 2 * steps);
    std::map<uint64_t, size_t> ops_of;
    for (const trace::DeviceOp& op : store_->ops()) {
      const auto launch = launches.find(op.correlation);
      if (launch == launches.end()) continue;
      ++ops_of[op.correlation];
      EXPECT_EQ(absl::StrCat("cudaGraphLaunch ", Text(IdentityOf(op).function)),
                Text(launch->second->name));
      EXPECT_NE(Text(IdentityOf(op).name), "");
      EXPECT_GE(op.duration_ns, 0);
      // A GPU may run branches of a graph elsewhere than where it was launched.
      if (device().info().architecture != "host") continue;
      EXPECT_EQ(launch->second->stream, op.stream);
    }
    EXPECT_EQ(ops_of.size(), 2 * steps);
    std::map<std::string, std::set<size_t>> counts;
    for (const auto& [launch, ops] : ops_of) counts[Text(launches.at(launch)->name)].insert(ops);
    for (const auto& [name, sizes] : counts) EXPECT_EQ(sizes.size(), 1u) << name;
  }

  FunctionId twice_ = 0;
  FunctionId thrice_ = 0;
  std::string why_none_;
  std::unique_ptr<trace::TraceTables> tables_;
  std::unique_ptr<trace::TraceStore> store_;
  std::unique_ptr<activity::ActivitySource> source_;
  std::unique_ptr<Profile> profile_;
};
GRAPHTREE_ON_EVERY_DEVICE(ProfileTest);

TEST_P(ProfileTest, EveryOpOfEveryReplayIsThereUnderItsName) {
  if (!OpenSource()) GTEST_SKIP() << why_none_;
  const Tensor x = Given(1);
  Record(x);
  Start(OptionsOf(ProfileMode::kFull));
  ASSERT_EQ(profile_->mode(), ProfileMode::kFull) << profile_->Stop().why_not_full;
  for (int step = 0; step < 20; ++step) Step(x);
  const ProfileReport report = profile_->Stop();
  EXPECT_EQ(report.join.mismatched, 0u);
  EXPECT_EQ(report.join.short_launches, 0u);
  EXPECT_EQ(report.join.cut_launches, 0u);
  EXPECT_EQ(report.join.unnamed, 0u);
  EXPECT_EQ(report.dropped, 0u);
  EXPECT_EQ(source_->state(), activity::SourceState::kDetached);
  ExpectWholeReplays(20);
}

TEST_P(ProfileTest, WhatIsRecordedMeanwhileIsNamedLikewise) {
  if (!OpenSource()) GTEST_SKIP() << why_none_;
  Start(OptionsOf(ProfileMode::kFull));
  ASSERT_EQ(profile_->mode(), ProfileMode::kFull) << profile_->Stop().why_not_full;
  const Tensor x = Given(1);
  Record(x);
  const ProfileReport report = profile_->Stop();
  EXPECT_EQ(report.join.mismatched, 0u);
  EXPECT_EQ(report.join.short_launches, 0u);
  std::set<std::string> phases;
  for (const trace::HostSpan& span : store_->spans()) phases.insert(Text(span.name));
  EXPECT_EQ(phases.count("record twice"), 1u);
  EXPECT_EQ(phases.count("warm-up twice"), 1u);
  EXPECT_EQ(phases.count("record thrice"), 1u);
}

TEST_P(ProfileTest, ALightProfileTimesLaunchesAsAWhole) {
  const Tensor x = Given(1);
  Record(x);
  Start(OptionsOf(ProfileMode::kLight));
  for (int step = 0; step < 10; ++step) Step(x);
  const ProfileReport report = profile_->Stop();
  EXPECT_EQ(report.launches, 20u);
  EXPECT_EQ(report.ops, 20u);
  EXPECT_EQ(report.untimed, 0u);
  const auto launches = Launches();
  for (const trace::DeviceOp& op : store_->ops()) {
    EXPECT_EQ(op.kind, trace::OpKind::kWholeGraph);
    ASSERT_EQ(launches.count(op.correlation), 1u);
  }
}

TEST_P(ProfileTest, ALightProfileTakesOneReplayInSoMany) {
  const Tensor x = Given(1);
  Record(x);
  ProfileOptions options = OptionsOf(ProfileMode::kLight);
  options.light_in = 8;
  Start(std::move(options));
  for (int step = 0; step < 32; ++step) Step(x);
  const ProfileReport report = profile_->Stop();
  EXPECT_EQ(report.launches, 64u / 8);
  EXPECT_EQ(report.ops, 64u / 8);
}

TEST_P(ProfileTest, AHostProfileHasLaunchesAlone) {
  const Tensor x = Given(1);
  Record(x);
  Start(OptionsOf(ProfileMode::kHost));
  for (int step = 0; step < 5; ++step) Step(x);
  const ProfileReport report = profile_->Stop();
  EXPECT_EQ(report.launches, 10u);
  EXPECT_EQ(report.ops, 0u);
  EXPECT_TRUE(store_->ops().empty());
}

TEST_P(ProfileTest, WhereOpsCannotBeHadTheProfileIsALightOneAndSaysWhy) {
  const Tensor x = Given(1);
  Record(x);
  Start(OptionsOf(ProfileMode::kFull));  // without a source
  EXPECT_EQ(profile_->mode(), ProfileMode::kLight);
  for (int step = 0; step < 128; ++step) Step(x);
  const ProfileReport report = profile_->Stop();
  EXPECT_THAT(report.why_not_full, HasSubstr("nobody was named"));
  EXPECT_GT(report.ops, 0u);
  ASSERT_FALSE(store_->notes().remarks.empty());
  EXPECT_THAT(store_->notes().remarks.back(), HasSubstr("nobody was named"));
}

TEST_P(ProfileTest, OneRunsAtATime) {
  Start(OptionsOf(ProfileMode::kHost));
  trace::TraceTables tables;
  trace::TraceStore store(10);
  ProfileOptions second;
  second.tables = &tables;
  second.listener = &store;
  EXPECT_THAT(StatusOf(Profile::Start(second)).ToString(), HasSubstr("runs in this process"));
  profile_->Stop();
  auto after = Profile::Start(second);
  EXPECT_THAT(after, IsOk());
}

TEST_P(ProfileTest, AWindowEndsAfterSoManyReplays) {
  const Tensor x = Given(1);
  Record(x);
  ProfileOptions options = OptionsOf(ProfileMode::kHost);
  options.most_replays = 4;
  Start(std::move(options));
  EXPECT_FALSE(profile_->AwaitWindow(std::chrono::nanoseconds(0)));
  while (!profile_->AwaitWindow(std::chrono::nanoseconds(0))) Step(x);
  EXPECT_GE(profile_->Stop().launches, 4u);
}

TEST_P(ProfileTest, WhatMakesNoSenseIsRefusedAndNothingIsHeld) {
  ProfileOptions no_replays = OptionsOf(ProfileMode::kHost);
  no_replays.most_replays = 0;
  EXPECT_THAT(StatusOf(Profile::Start(no_replays)).ToString(), HasSubstr("0 replays"));
  ProfileOptions no_time = OptionsOf(ProfileMode::kHost);
  no_time.most_time = std::chrono::nanoseconds(0);
  EXPECT_THAT(StatusOf(Profile::Start(no_time)).ToString(), HasSubstr("window of 0 ns"));
  ProfileOptions no_device = OptionsOf(ProfileMode::kLight);
  no_device.device = nullptr;
  EXPECT_THAT(StatusOf(Profile::Start(no_device)).ToString(), HasSubstr("wants the device"));
  ProfileOptions no_queue = OptionsOf(ProfileMode::kHost);
  no_queue.queue_room = 1000;
  EXPECT_THAT(StatusOf(Profile::Start(no_queue)).ToString(), HasSubstr("power of two"));
  no_queue.queue_room = 1;
  EXPECT_THAT(StatusOf(Profile::Start(no_queue)).ToString(), HasSubstr("queue of 1 places"));
  ProfileOptions no_listener = OptionsOf(ProfileMode::kHost);
  no_listener.listener = nullptr;
  EXPECT_THAT(StatusOf(Profile::Start(no_listener)).ToString(), HasSubstr("a listener"));
  Start(OptionsOf(ProfileMode::kHost));
}

TEST_P(ProfileTest, CountersAreLines) {
  ProfileOptions options = OptionsOf(ProfileMode::kHost);
  std::atomic<int> asked{0};
  options.counters = {{"pool bytes", "live", [&asked] { return 1.0 * ++asked; }}};
  Start(std::move(options));
  while (asked < 3) std::this_thread::yield();
  profile_->Stop();
  ASSERT_GE(store_->counters().size(), 3u);
  EXPECT_EQ(Text(store_->counters()[0].name), "pool bytes");
  EXPECT_EQ(store_->counters()[2].value, 3);
}

// The profile's thread rests for milliseconds, in which the queue has two places.
TEST_P(ProfileTest, WhatFindsNoRoomIsCountedAndTold) {
  const Tensor x = Given(1);
  Record(x);
  ProfileOptions options = OptionsOf(ProfileMode::kHost);
  options.queue_room = 2;
  Start(std::move(options));
  for (int step = 0; step < 200; ++step) {
    NewStep();
    Call(twice_, {x});
    Call(thrice_, {x});
  }
  const ProfileReport report = profile_->Stop();
  EXPECT_LE(report.launches, 400u);
  // Phases of the first calls after another path take places, too.
  EXPECT_GE(report.launches + report.dropped, 400u);
  EXPECT_EQ(store_->notes().dropped_records, report.dropped);
}

TEST_P(ProfileTest, ExecutablesThatWereInstantiatedAgainKeepTheirNames) {
  if (!OpenSource()) GTEST_SKIP() << why_none_;
  TreeOptions options;
  options.budget.executables = 1;
  OpenTree(options);
  twice_ = Register("twice", {}, Twice);
  thrice_ = Register("thrice", {}, Thrice);
  const Tensor x = Given(1);
  Record(x);
  Start(OptionsOf(ProfileMode::kFull));
  ASSERT_EQ(profile_->mode(), ProfileMode::kFull) << profile_->Stop().why_not_full;
  for (int step = 0; step < 10; ++step) Step(x);
  const ProfileReport report = profile_->Stop();
  EXPECT_EQ(report.join.mismatched, 0u);
  EXPECT_EQ(report.join.short_launches, 0u);
  EXPECT_GT(report.join.joined, 0u);
}

TEST_P(ProfileTest, ItComesAndGoesWhileAThreadReplays) {
  if (!OpenSource()) GTEST_SKIP() << why_none_;
  const Tensor x = Given(1);
  Record(x);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> steps{0};
  std::thread replays([&] {
    while (!stop) {
      Step(x);
      ++steps;
    }
  });
  for (int round = 0; round < 10; ++round) {
    Start(OptionsOf(ProfileMode::kFull));
    EXPECT_EQ(profile_->mode(), ProfileMode::kFull);
    const uint64_t before = steps;
    while (steps < before + 3) std::this_thread::yield();
    const ProfileReport report = profile_->Stop();
    EXPECT_EQ(report.join.mismatched, 0u);
    EXPECT_EQ(report.join.short_launches, 0u);
    EXPECT_GT(report.join.joined, 0u);
    profile_ = nullptr;
  }
  stop = true;
  replays.join();
  EXPECT_EQ(source_->state(), activity::SourceState::kDetached);
}

// As ranks of one process do: their launches have the same numbers but for the tree's.
TEST_P(ProfileTest, TreesInLockstepLoseNoLaunch) {
  constexpr int kSteps = 300;
  Start(OptionsOf(ProfileMode::kHost));
  std::atomic<int> arrived{0};
  const auto rank = [&](Stream& stream) {
    auto tree = Tree::Create(device(), {});
    ASSERT_THAT(tree, IsOk());
    const FunctionId empty = (*tree)->Register("rank", {}, [](Launcher& on, Values&) {
      return Values{Filled(on, 3, kWords)};
    });
    for (int step = 0; step < kSteps; ++step) {
      ++arrived;
      while (arrived < 2 * (step + 1)) std::this_thread::yield();
      (*tree)->BeginStep();
      EXPECT_THAT((*tree)->Run(empty, Values(), stream), IsOk());
    }
    EXPECT_THAT(stream.Synchronize(), IsOk());
  };
  std::thread other([&] { rank(b()); });
  rank(a());
  other.join();
  const ProfileReport report = profile_->Stop();
  EXPECT_EQ(report.dropped, 0u);
  EXPECT_EQ(Launches().size(), 2u * (kSteps - 1)) << "all but the warm-ups are launches of graphs";
  for (const trace::HostSpan& span : store_->spans()) EXPECT_GE(span.duration_ns, 0);
}

// What an earlier profile's launches have queued is not named as the next one's.
TEST_P(ProfileTest, WorkOfAnEarlierProfileIsNobodys) {
  if (!OpenSource()) GTEST_SKIP() << why_none_;
  const Tensor x = Given(1);
  Record(x);
  Start(OptionsOf(ProfileMode::kFull));
  ASSERT_EQ(profile_->mode(), ProfileMode::kFull);
  for (int step = 0; step < 5; ++step) {
    NewStep();
    Call(thrice_, {Call(twice_, {x})[0]});
  }
  profile_ = nullptr;
  source_ = nullptr;
  ASSERT_TRUE(OpenSource());
  Start(OptionsOf(ProfileMode::kFull));
  for (int step = 0; step < 3; ++step) Step(x);
  const ProfileReport report = profile_->Stop();
  EXPECT_EQ(report.join.mismatched, 0u);
  EXPECT_EQ(report.join.short_launches, 0u);
  EXPECT_EQ(report.join.cut_launches, 0u);
  ExpectWholeReplays(3);
}

}  // namespace
}  // namespace graphtree
