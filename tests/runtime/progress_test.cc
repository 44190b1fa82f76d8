// Recording in idle slots: what comes first, how long it takes, what becomes of steps meanwhile.
#include "runtime/progress.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "gmock/gmock.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

class ProgressTest : public RuntimeTest {
 protected:
  static constexpr int64_t kBodyNs = 10;

  void SetUp() override {
    RuntimeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    RuntimeOptions options;
    options.records_while_serving = false;
    options.clock_ns = [this] { return now_; };
    OpenRuntime(options);
  }

  // "double"; each run of its body takes 10 ns.
  ProgramOptions SlowOptions(std::string name) {
    ProgramOptions options = DoubleOptions(std::move(name));
    options.body = [this](Launcher& on, const ProgramInputs& in) {
      now_ += kBodyNs;
      ran_.push_back(in.key().tokens);
      return DoubleBody(on, in);
    };
    return options;
  }
  ProgramId AddSlow(const std::vector<int32_t>& tokens, std::string name = "slow",
                    uint32_t lane = 0) {
    ProgramOptions options = SlowOptions(std::move(name));
    options.lane = lane;
    const absl::StatusOr<ProgramId> program = runtime().AddProgram(options);
    EXPECT_THAT(program, IsOk());
    std::vector<Key> keys;
    for (const int32_t count : tokens) keys.push_back({.tokens = count});
    EXPECT_THAT(runtime().AddShapes(*program, keys), IsOk());
    return *program;
  }
  // Steps whose outputs nobody holds.
  Why Serve(ProgramId program, int32_t tokens) {
    const Ids ids = IdsFrom(tokens, tokens);
    const Key key = {.tokens = tokens};
    absl::StatusOr<Step> step = runtime().Begin(program, key, a());
    EXPECT_THAT(step, IsOk());
    if (!step.ok()) return Why::kFailed;
    EXPECT_THAT(step->Stage(0, HostRows{ids.data(), DType::kI32, tokens}), IsOk());
    Values outputs;
    EXPECT_THAT(step->Run(&outputs), IsOk());
    Ids got = ReadIds(outputs[0]);
    got.resize(ids.size());
    EXPECT_EQ(got, Doubled(ids, ids.size()));
    return step->why();
  }
  ProgressReport MustProgress(const ProgressOptions& options = {}) {
    const absl::StatusOr<ProgressReport> report = runtime().Progress(a(), options);
    EXPECT_THAT(report, IsOk());
    return report.ok() ? *report : ProgressReport();
  }

  int64_t now_ = 0;
  std::vector<int32_t> ran_;  // the tokens of each run of a body
};
GRAPHTREE_ON_EVERY_DEVICE(ProgressTest);

// What it has found of programs and shapes is good until it returns.
TEST_P(ProgressTest, ItsCallbacksChangeNoPrograms) {
  absl::Status removed, shapes, added;
  ProgramId program;
  bool is_asked = false;
  const auto change = [&] {
    if (std::exchange(is_asked, true)) return;
    removed = runtime().RemoveProgram(program);
    shapes = runtime().AddShapes(program, {{.tokens = 64}});
    added = runtime().AddProgram(DoubleOptions("another")).status();
  };
  RuntimeOptions options;
  options.serving = {.serving = Serving::kOff};
  options.log = [&](LogLevel, const std::string&) { change(); };
  OpenRuntime(options);
  program = AddSlow({4, 8});
  MustProgress();
  for (const absl::Status& said : {removed, shapes, added}) {
    EXPECT_EQ(said.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(said.message()), HasSubstr("while Progress is under way"));
  }
  EXPECT_THAT(runtime().RemoveProgram(program), IsOk());
  int looks = 0;
  options.serving = {};
  options.clock_ns = [&]() -> int64_t {
    if (++looks > 1) change();
    return looks;
  };
  is_asked = true;
  OpenRuntime(options);
  program = AddSlow({4, 8});
  is_asked = false, looks = 0;
  removed = absl::OkStatus();
  EXPECT_EQ(MustProgress().runs, 1u);
  EXPECT_EQ(removed.code(), StatusCode::kFailedPrecondition) << "by its clock";
}

TEST_P(ProgressTest, FromEagerOverCoveredToItsOwnGraph) {
  const ProgramId slow = AddSlow({4, 8, 32});
  EXPECT_EQ(Serve(slow, 4), Why::kNotRecorded);
  EXPECT_EQ(runtime().readiness().ratio(), 0);
  MustProgress();  // warms up 4, which was wanted
  EXPECT_EQ(Serve(slow, 4), Why::kNotRecorded);
  const ProgressReport first = MustProgress();
  EXPECT_EQ(first.runs, 1u);
  EXPECT_EQ(first.recorded, 1u);
  EXPECT_FALSE(first.is_done);
  EXPECT_EQ(first.readiness.ready, 1u);
  EXPECT_EQ(runtime().readiness().ToString(), "1 of 3 shapes are ready");
  EXPECT_EQ(Serve(slow, 4), Why::kHit);
  // Of those that nobody has asked for the largest comes first, and covers others.
  MustProgress();
  MustProgress();
  EXPECT_EQ(ran_.back(), 32);
  EXPECT_EQ(Serve(slow, 7), Why::kCover);
  MustProgress();
  const ProgressReport last = MustProgress();
  EXPECT_TRUE(last.is_done);
  EXPECT_EQ(last.readiness.ratio(), 1);
  EXPECT_EQ(Serve(slow, 8), Why::kHit);
  const size_t ran = ran_.size();
  EXPECT_EQ(MustProgress().runs, 0u);
  EXPECT_EQ(ran_.size(), ran);
}

TEST_P(ProgressTest, TheMostWantedComesFirst) {
  const ProgramId slow = AddSlow({4, 8, 16, 32});
  Serve(slow, 8);
  Serve(slow, 8);
  Serve(slow, 5);
  Serve(slow, 16);
  Serve(slow, 16);
  Serve(slow, 3);
  ran_.clear();
  MustProgress({.budget_ns = 1000});
  std::vector<int32_t> order;
  for (const int32_t tokens : ran_) {
    if (order.empty() || order.back() != tokens) order.push_back(tokens);
  }
  EXPECT_THAT(order, testing::ElementsAre(8, 16, 4, 32));
}

TEST_P(ProgressTest, KeepsToItsBudgetOfTime) {
  AddSlow({1, 2, 4, 8, 16, 32});
  uint64_t calls = 0;
  ProgressReport report;
  while (!report.is_done && ++calls < 100) {
    const int64_t begin = now_;
    report = MustProgress({.budget_ns = 3 * kBodyNs + 5});
    EXPECT_LE(now_ - begin, 3 * kBodyNs + 5);
    EXPECT_EQ(report.spent_ns, now_ - begin);
    EXPECT_GE(report.runs, 1u);
  }
  EXPECT_EQ(report.readiness.ready, 6u);
  EXPECT_LE(calls, 6u);  // two runs or three in each
  EXPECT_GE(calls, 4u);
}

TEST_P(ProgressTest, ALanesOutputsThatAreHeldAreNotEnded) {
  const ProgramId slow = AddSlow({8});
  StepWith(slow, IdsFrom(3, 8));  // the fixture holds what it returned
  // An eager run's outputs have memory of their own, so only a graph's are in the way.
  MustProgress({.budget_ns = 1000});
  EXPECT_EQ(StepWith(slow, IdsFrom(3, 8)), Why::kHit);
  ASSERT_THAT(runtime().AddShapes(slow, {{.tokens = 16}}), IsOk());
  const ProgressReport report = MustProgress({.budget_ns = 1000});
  EXPECT_EQ(report.runs, 0u);
  EXPECT_EQ(report.held_lanes, 1u);
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(3, 8), 8));
  EXPECT_EQ(MustProgress({.budget_ns = 1000, .ends_steps = true}).recorded, 1u);
  EXPECT_EQ(StepWith(slow, IdsFrom(3, 16)), Why::kHit);
}

TEST_P(ProgressTest, ALaneThatHasAStepIsPassedOver) {
  const ProgramId slow = AddSlow({8});
  const ProgramId apart = AddSlow({8}, "apart", /*lane=*/1);
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(slow, {.tokens = 8}, a()));
  const ProgressReport report = MustProgress({.budget_ns = 1000});
  EXPECT_EQ(report.busy_lanes, 1u);
  EXPECT_EQ(report.recorded, 1u);
  EXPECT_EQ(report.readiness.shapes, 1u);
  step.Cancel();
  EXPECT_EQ(Serve(apart, 8), Why::kHit);
  EXPECT_EQ(MustProgress({.budget_ns = 1000, .lanes = {1}}).runs, 0u);
  EXPECT_EQ(MustProgress({.budget_ns = 1000, .lanes = {0}}).recorded, 1u);
  EXPECT_EQ(Serve(slow, 8), Why::kHit);
}

TEST_P(ProgressTest, TheLastStepStillSaysHowItRan) {
  const ProgramId slow = AddSlow({8});
  absl::StatusOr<Step> step = runtime().Begin(slow, {.tokens = 5}, a());
  ASSERT_THAT(step, IsOk());
  const Ids ids = IdsFrom(0, 5);
  ASSERT_THAT(step->Stage(0, HostRows{ids.data(), DType::kI32, 5}), IsOk());
  Values outputs;
  ASSERT_THAT(step->Run(&outputs), IsOk());
  outputs.clear();
  const std::string before = step->Describe();
  MustProgress({.budget_ns = 1000});
  EXPECT_EQ(step->why(), Why::kNotRecorded);
  EXPECT_EQ(step->Describe(), before);
  EXPECT_THAT(step->Run(&outputs), FailsWith(StatusCode::kFailedPrecondition, "closed"));
}

TEST_P(ProgressTest, WhatFailsIsTriedAgain) {
  int fails = 3;
  ProgramOptions options = DoubleOptions("shaky");
  options.body = [&fails](Launcher& on, const ProgramInputs& in) -> Values {
    if (fails > 0) {
      --fails;
      on.Fail(absl::UnavailableError("not yet"));
      return {};
    }
    return DoubleBody(on, in);
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId shaky, runtime().AddProgram(options));
  ASSERT_THAT(runtime().AddShapes(shaky, {{.tokens = 8}}), IsOk());
  const ProgressReport first = MustProgress({.budget_ns = 1000});
  EXPECT_EQ(first.failed, 1u);
  EXPECT_EQ(first.readiness.failed, 1u);
  EXPECT_EQ(runtime().stats().failed_recordings, 1u);
  ASSERT_FALSE(warnings().empty());
  EXPECT_THAT(warnings().back(), HasSubstr("not yet"));
  uint64_t calls = 0;
  while (runtime().readiness().ready == 0 && ++calls < 50) MustProgress({.budget_ns = 1000});
  EXPECT_LT(calls, 20u);
  EXPECT_GT(calls, 3u);  // as it waits longer after each failure
  EXPECT_EQ(Serve(shaky, 8), Why::kHit);
}

TEST_P(ProgressTest, WhatIsStaleIsMadeAgainAndExcludedShapesAreNot) {
  ASSERT_OK_AND_ASSIGN(const DepId weights, runtime().DeclareDep("weights"));
  ProgramOptions options = SlowOptions("slow");
  options.deps = {weights};
  ASSERT_OK_AND_ASSIGN(const ProgramId slow, runtime().AddProgram(options));
  ASSERT_THAT(runtime().AddShapes(slow, {{.tokens = 8}, {.tokens = 16}}), IsOk());
  ASSERT_THAT(runtime().Exclude(slow, {.tokens = 16}), IsOk());
  EXPECT_EQ(MustProgress({.budget_ns = 1000}).recorded, 1u);
  EXPECT_EQ(runtime().readiness().ratio(), 1);
  ASSERT_THAT(runtime().Touch(weights), IsOk());
  EXPECT_EQ(runtime().readiness().ratio(), 0);
  EXPECT_EQ(MustProgress({.budget_ns = 1000}).recorded, 1u);
  EXPECT_EQ(Serve(slow, 8), Why::kHit);
}

TEST_P(ProgressTest, WhatWaitsForACommitIsNotReady) {
  ASSERT_OK_AND_ASSIGN(const DepId buffers, runtime().DeclareDep("buffers"));
  ProgramOptions options = SlowOptions("allreduce");
  options.needs_commit = true;
  options.deps = {buffers};
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(options));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 8}}), IsOk());
  const ProgressReport report = MustProgress({.budget_ns = 1000});
  EXPECT_TRUE(report.is_done);
  EXPECT_EQ(report.readiness.not_committed, 1u);
  EXPECT_EQ(Serve(program, 8), Why::kNotCommitted);
  // What is stale before its commit came is made again.
  ASSERT_THAT(runtime().Touch(buffers), IsOk());
  EXPECT_EQ(MustProgress({.budget_ns = 1000}).recorded, 1u);
  EXPECT_EQ(MustProgress({.budget_ns = 1000}).runs, 0u);
  ASSERT_THAT(runtime().Commit(runtime().epoch()), IsOk());
  EXPECT_EQ(runtime().readiness().ready, 1u);
  EXPECT_EQ(Serve(program, 8), Why::kHit);
}

TEST_P(ProgressTest, OnlyWhatAPlanNames) {
  const ProgramId slow = AddSlow({4, 8, 16});
  ProgressOptions options = {.budget_ns = 1000};
  options.only = {{slow, {.tokens = 8}}};
  const ProgressReport report = MustProgress(options);
  EXPECT_EQ(report.recorded, 1u);
  EXPECT_TRUE(report.is_done);
  EXPECT_EQ(Serve(slow, 8), Why::kHit);
  EXPECT_EQ(Serve(slow, 16), Why::kNotRecorded);
}

// One thread serves in a lane, another one records in a second lane; then the first serves there.
TEST_P(ProgressTest, RecordsBesideStepsOfAnotherLane) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  CloseRuntime();
  RuntimeOptions options;
  options.records_while_serving = false;
  options.tree.pool_bytes = 64 << 20;
  OpenRuntime(options);
  const ProgramId served = AddDouble({8, 16}, "served");
  ASSERT_THAT(runtime().Record(served, a()), IsOk());
  ProgramOptions apart = DoubleOptions("apart");
  apart.lane = 1;
  ASSERT_OK_AND_ASSIGN(const ProgramId other, runtime().AddProgram(apart));
  std::vector<Key> keys;
  for (int32_t tokens = 1; tokens <= 40; ++tokens) keys.push_back({.tokens = tokens});
  ASSERT_THAT(runtime().AddShapes(other, keys), IsOk());
  std::atomic<bool> is_done{false};
  uint64_t recorded = 0;
  std::thread recorder([&] {
    ProgressReport report;
    while (!report.is_done) {
      report = *runtime().Progress(b(), {.budget_ns = 100000, .lanes = {1}});
      recorded += report.recorded;
    }
    is_done = true;
  });
  uint64_t steps = 0;
  while (!is_done || steps < 50) {
    const int32_t tokens = 1 + static_cast<int32_t>(steps++ % 16);
    EXPECT_TRUE(IsReplay(Serve(served, tokens)));
  }
  recorder.join();
  EXPECT_EQ(recorded, keys.size());
  EXPECT_EQ(runtime().readiness().ratio(), 1);
  EXPECT_EQ(Serve(other, 33), Why::kHit);
}

// One device call fails while shapes are recorded in idle slots: all are ready in the end.
void ProgressWithAFault(FaultDevice& device) {
  const auto worked = [&device](const auto& result) {
    EXPECT_TRUE(result.ok() || device.plan().fired() > 0);
    return result.ok();
  };
  const absl::StatusOr<std::unique_ptr<Stream>> stream = device.NewStream();
  if (!worked(stream)) return;
  RuntimeOptions options;
  options.tree.pool_bytes = 64 << 20;
  options.records_while_serving = false;
  const absl::StatusOr<std::unique_ptr<Runtime>> made = Runtime::Create(device, options);
  if (!worked(made)) return;
  ProgramOptions program;
  program.name = "double";
  program.slots = {{.name = "ids", .sizes = {64}, .rows = KeyField::kTokens}};
  program.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
    if (!on.ok()) return {};
    on.Launch(AddKernel(), TestShape(),
              {Out(out), In(in.slot(0)), In(in.slot(0)),
               Val(static_cast<uint32_t>(in.key().tokens))});
    return {out};
  };
  const absl::StatusOr<ProgramId> id = (*made)->AddProgram(program);
  if (!worked(id)) return;
  ASSERT_THAT((*made)->AddShapes(*id, {{.tokens = 2}, {.tokens = 5}, {.tokens = 9}}), IsOk());
  uint64_t failed = 0;
  for (int i = 0; i < 30 && (*made)->readiness().ready < 3; ++i) {
    const absl::StatusOr<ProgressReport> report = (*made)->Progress(**stream);
    failed += worked(report) ? report->failed : 1;
  }
  EXPECT_LE(failed, 1u);
  EXPECT_EQ((*made)->readiness().ready, 3u);
}

TEST(ProgressFaultTest, WhateverCallFailsAllShapesAreReadyInTheEnd) {
  const uint64_t calls = ForEveryFailingCall([] { return *OpenHostDevice(); }, ProgressWithAFault);
  EXPECT_GT(calls, 40u);
}

}  // namespace
}  // namespace graphtree
