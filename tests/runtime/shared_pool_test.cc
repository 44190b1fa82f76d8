// Lanes of one device that share its memory (RuntimeOptions::pool_bytes): a lane that has no step
// gives back what nobody uses there, and who finds nothing is told who has it.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/pool.h"
#include "tests/kernels/launches.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SharedPoolTest : public RuntimeTest {
 protected:
  static constexpr uint64_t kTotal = 32 << 20;
  // More than half of it.
  static constexpr int64_t kWords = 5 << 20;

  void Open() {
    RuntimeOptions options;
    options.pool_bytes = kTotal;
    OpenRuntime(options);
  }
  ProgramId AddLarge(uint32_t lane) { return AddSized(lane, kWords); }
  // Its output has so many words for each token.
  ProgramId AddSized(uint32_t lane, int64_t words, std::vector<uint32_t> kept_outputs = {}) {
    ProgramOptions options = DoubleOptions("lane " + std::to_string(lane) + ", program " +
                                           std::to_string(programs_++));
    options.lane = lane;
    options.kept_outputs = std::move(kept_outputs);
    options.body = [words](Launcher& on, const ProgramInputs& in) -> Values {
      const Tensor out = on.Empty(DType::kI32, {in.key().tokens * words});
      if (!on.ok()) return {};
      on.Launch(AddKernel(), TestShape(), {Out(out), In(in.slot(0)), In(in.slot(0)), Val(1u)});
      return {out};
    };
    const absl::StatusOr<ProgramId> program = runtime().AddProgram(std::move(options));
    EXPECT_THAT(program, IsOk());
    return *program;
  }
  absl::Status RunOnce(ProgramId program, Values* outputs = nullptr, StepOptions how = {}) {
    Values own;
    absl::StatusOr<Step> step = runtime().Begin(program, {.tokens = 1}, a(), how);
    if (!step.ok()) return step.status();
    absl::Status status = step->Stage(0, 7.0);
    return status.ok() ? step->Run(outputs == nullptr ? &own : outputs) : status;
  }
  int programs_ = 0;

  uint64_t ReservedOf(uint32_t lane) { return runtime().tree(lane)->stats().pool_reserved_bytes; }
  uint64_t ReservedOfTwo() { return ReservedOf(0) + ReservedOf(1); }
};
GRAPHTREE_ON_EVERY_DEVICE(SharedPoolTest);

TEST_P(SharedPoolTest, ALaneWithoutAStepGivesBackWhatNobodyUses) {
  Open();
  const std::vector<ProgramId> programs = {AddLarge(0), AddLarge(1)};
  for (int round = 0; round < 6; ++round) {
    EXPECT_THAT(RunOnce(programs[round % 2]), IsOk()) << "round " << round;
    EXPECT_LE(ReservedOf(0) + ReservedOf(1), kTotal) << "round " << round;
  }
}

TEST_P(SharedPoolTest, OnlyWhatIsLackingIsGivenBack) {
  Open();
  const ProgramId large = AddLarge(0);
  ProgramOptions options = DoubleOptions("small");
  options.lane = 1;
  ASSERT_OK_AND_ASSIGN(const ProgramId small, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(RunOnce(small), IsOk());
  ASSERT_THAT(RunOnce(large), IsOk());
  const uint64_t had = ReservedOf(0);
  ASSERT_GT(had, kTotal / 2);
  ASSERT_THAT(RunOnce(small), IsOk());
  EXPECT_EQ(ReservedOf(0), had) << "there was room beside it";
}

TEST_P(SharedPoolTest, WhatIsRecordedFindsRoomToo) {
  Open();
  const ProgramId first = AddLarge(0), second = AddLarge(1);
  ASSERT_THAT(RunOnce(first), IsOk());
  ASSERT_THAT(runtime().AddShapes(second, {{.tokens = 1}}), IsOk());
  EXPECT_THAT(runtime().Record(second, a()), IsOk());
  EXPECT_THAT(RunOnce(second), IsOk());
  EXPECT_EQ(Count(Why::kHit), 1u);
}

TEST_P(SharedPoolTest, ALaneWhoseProgramsAreGoneHoldsNothing) {
  Open();
  const ProgramId first = AddLarge(0), second = AddLarge(1);
  ASSERT_THAT(runtime().AddShapes(first, {{.tokens = 1}}), IsOk());
  ASSERT_THAT(runtime().AddShapes(second, {{.tokens = 1}}), IsOk());
  ASSERT_THAT(runtime().Record(first, a()), IsOk());
  ASSERT_THAT(RunOnce(first), IsOk());
  EXPECT_FALSE(runtime().Record(second, a()).ok()) << "recordings are not taken from others";
  ASSERT_THAT(runtime().RemoveProgram(first), IsOk());
  EXPECT_EQ(ReservedOf(0), 0u);
  EXPECT_THAT(runtime().Record(second, a()), IsOk());
  EXPECT_THAT(RunOnce(second), IsOk());
}

TEST_P(SharedPoolTest, WhoFindsNothingIsToldWhoHasIt) {
  Open();
  const ProgramId first = AddLarge(0), second = AddLarge(1);
  Values held;
  ASSERT_THAT(RunOnce(first, &held), IsOk());
  const absl::Status said = RunOnce(second);
  EXPECT_EQ(said.code(), absl::StatusCode::kResourceExhausted) << said;
  EXPECT_THAT(std::string(said.message()),
              AllOf(HasSubstr("share 33554432 bytes (RuntimeOptions::pool_bytes)"),
                    HasSubstr("lane 0 has"), HasSubstr("lane 1 has 0")));
  held.clear();
  EXPECT_THAT(RunOnce(second), IsOk());
}

// Steps that run at once find no place in what a recording has, and nobody can have that back.
TEST_P(SharedPoolTest, NobodyCountsOnWhatRecordingsPin) {
  Open();
  const ProgramId first = AddSized(0, kWords / 2), second = AddSized(1, kWords);
  ASSERT_THAT(runtime().AddShapes(first, {{.tokens = 1}}), IsOk());
  ASSERT_THAT(runtime().Record(first, a()), IsOk());
  const StepOptions at_once = {.modes = Modes::None()};
  for (int round = 0; round < 6; ++round) {
    EXPECT_THAT(RunOnce(first, nullptr, at_once), IsOk()) << "round " << round;
    EXPECT_THAT(RunOnce(second), IsOk()) << "round " << round;
    EXPECT_LE(ReservedOfTwo(), kTotal) << "round " << round;
  }
  EXPECT_THAT(RunOnce(first), IsOk());
  EXPECT_EQ(Count(Why::kHit), 1u);
}

// What has run before goes on running, whatever is recorded meanwhile: in its own lane, and in
// another one.
TEST_P(SharedPoolTest, NoRecordingStarvesWhatRunsAtOnce) {
  for (const uint32_t lane : {0, 1}) {
    Open();
    const ProgramId recorded = AddLarge(0), at_once = AddLarge(lane);
    ASSERT_THAT(RunOnce(at_once), IsOk());
    ASSERT_THAT(runtime().AddShapes(recorded, {{.tokens = 1}}), IsOk());
    ASSERT_THAT(runtime().Record(recorded, a()), IsOk());
    ASSERT_THAT(RunOnce(recorded), IsOk());
    for (int round = 0; round < 12; ++round) {
      EXPECT_THAT(RunOnce(at_once), IsOk()) << "round " << round << ", lane " << lane;
      EXPECT_THAT(RunOnce(recorded), IsOk()) << "round " << round << ", lane " << lane;
      EXPECT_LE(ReservedOf(0) + (lane == 0 ? 0 : ReservedOf(1)), kTotal) << "round " << round;
    }
    EXPECT_LE(runtime().stats().recordings, 3u) << "lane " << lane;
    EXPECT_GT(Count(Why::kNoMemory), 5u) << "lane " << lane;
    // Without the other one it is recorded again.
    for (int round = 0; round < 40; ++round) EXPECT_THAT(RunOnce(recorded), IsOk());
    EXPECT_GT(Count(Why::kHit), 5u) << "lane " << lane;
  }
}

// Nobody has been told what the part takes; once it has found nothing, others give back before it.
// An idle lane's recordings hold nearly all of the memory. A shape of another lane that steps alone
// would have recorded is recorded ahead, too, and where recordings are made apart.
TEST_P(SharedPoolTest, ARecordingThatLackedMemoryHasWhatIdleLanesHold) {
  for (const bool is_apart : {false, true}) {
    Open();
    const ProgramId idle = AddSized(0, 7 << 20);  // 28 MiB
    ASSERT_THAT(runtime().AddShapes(idle, {{.tokens = 1}}), IsOk());
    for (int i = 0; i < 4; ++i) ASSERT_THAT(RunOnce(idle), IsOk());
    ProgramOptions options = DoubleOptions(is_apart ? "apart" : "ahead");
    options.lane = 1;
    if (!is_apart) options.kept_outputs = {0};
    options.needs_commit = is_apart;
    options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
      const Tensor large = on.Empty(DType::kU8, {3900000});
      const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
      if (!on.ok()) return {};
      on.Fill(large, 4);
      on.Launch(AddKernel(), TestShape(), {Out(out), In(in.slot(0)), In(in.slot(0)), Val(1u)});
      return {out};
    };
    ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
    ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 1}}), IsOk());
    if (!is_apart) {
      EXPECT_THAT(runtime().Record(program, a()),
                  FailsWith(absl::StatusCode::kResourceExhausted, "lane 0 has"))
          << "what was recorded before stays at first";
      EXPECT_THAT(runtime().Record(program, a()), IsOk());
    }
    for (int i = 0; i < 60; ++i) {
      ASSERT_THAT(RunOnce(program), IsOk());
      ASSERT_THAT(runtime().Commit(runtime().epoch()), IsOk());
    }
    EXPECT_GE(runtime().tree(1)->stats().replays, is_apart ? 40u : 60u);
    EXPECT_LE(ReservedOfTwo(), kTotal);
    for (int i = 0; i < 4; ++i) ASSERT_THAT(RunOnce(idle), IsOk());
  }
}

TEST_P(SharedPoolTest, APartOfAReplayStarvesOnce) {
  Open();
  ProgramOptions options = DoubleOptions("breaks");
  options.body = [](Launcher& on, const ProgramInputs& in) {
    const Values outputs = DoubleBody(on, in);
    if (!on.ok()) return outputs;
    on.Break("takes memory", {InOut(Tensor::From(outputs[0]))},
             [](Launcher& part, absl::Span<const Tensor>) { part.Empty(DType::kI32, {kWords}); });
    return outputs;
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId breaks, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(breaks, {{.tokens = 1}}, Mode::kSegmented), IsOk());
  ASSERT_THAT(runtime().Record(breaks, a()), IsOk());
  const ProgramId idle = AddLarge(1);
  int failed = 0;
  for (int round = 0; round < 6; ++round) {
    EXPECT_THAT(RunOnce(idle), IsOk()) << "round " << round;
    failed += !RunOnce(breaks).ok();
  }
  EXPECT_LE(failed, 1);
  EXPECT_GE(Count(Why::kHit), 5u);
}

// What is lacking is held by recordings of an idle lane.
TEST_P(SharedPoolTest, APartOfAReplayHasWhatRecordingsHold) {
  Open();
  ProgramOptions options = DoubleOptions("breaks");
  options.body = [](Launcher& on, const ProgramInputs& in) {
    const Values outputs = DoubleBody(on, in);
    if (!on.ok()) return outputs;
    on.Break("takes memory", {InOut(Tensor::From(outputs[0]))},
             [](Launcher& part, absl::Span<const Tensor>) { part.Empty(DType::kI32, {7 << 18}); });
    return outputs;
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId breaks, runtime().AddProgram(std::move(options)));
  ASSERT_THAT(runtime().AddShapes(breaks, {{.tokens = 1}}, Mode::kSegmented), IsOk());
  ASSERT_THAT(runtime().Record(breaks, a()), IsOk());
  const ProgramId idle = AddSized(1, 6 << 20);
  ASSERT_THAT(runtime().AddShapes(idle, {{.tokens = 1}}), IsOk());
  for (int i = 0; i < 4; ++i) EXPECT_THAT(RunOnce(idle), IsOk());
  EXPECT_GT(runtime().tree(1)->stats().nodes, 0u);
  int failed = 0;
  for (int i = 0; i < 6; ++i) failed += !RunOnce(breaks).ok();
  EXPECT_LE(failed, 1);
  EXPECT_THAT(RunOnce(idle), IsOk());
}

TEST_P(SharedPoolTest, WhatPreparesTheFirstStepHasWhatRecordingsHold) {
  Open();
  const ProgramId idle = AddSized(1, 6 << 20);
  ASSERT_THAT(runtime().AddShapes(idle, {{.tokens = 1}}), IsOk());
  ProgramOptions options = DoubleOptions("prepares");
  options.prepare = [](Launcher& on, const ProgramInputs&) -> Values {
    return {on.Empty(DType::kI32, {7 << 18})};
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId prepares, runtime().AddProgram(std::move(options)));
  for (int i = 0; i < 4; ++i) EXPECT_THAT(RunOnce(idle), IsOk());
  int failed = 0;
  for (int i = 0; i < 6; ++i) failed += !RunOnce(prepares).ok();
  EXPECT_LE(failed, 1);
}

TEST_P(SharedPoolTest, WhatAComparedReplayTakesCounts) {
  Open();
  const ProgramId first = AddSized(0, kWords / 2), second = AddSized(1, kWords);
  ASSERT_THAT(RunOnce(second), IsOk());
  ASSERT_THAT(runtime().AddShapes(first, {{.tokens = 1}}), IsOk());
  ASSERT_THAT(runtime().Record(first, a()), IsOk());
  ASSERT_THAT(runtime().SetServing({.parity_every = 1}), IsOk());
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(RunOnce(first), IsOk()) << "round " << round;
    EXPECT_LE(ReservedOfTwo(), kTotal) << "round " << round;
    EXPECT_THAT(RunOnce(second), IsOk()) << "round " << round;
    EXPECT_LE(ReservedOfTwo(), kTotal) << "round " << round;
  }
  EXPECT_EQ(Count(Why::kHit), 3u);
}

// A kept output has memory of its own in every run.
TEST_P(SharedPoolTest, AReplayThatTakesMemoryFindsRoom) {
  Open();
  const ProgramId first = AddSized(0, kWords / 2, {0});
  ASSERT_THAT(runtime().AddShapes(first, {{.tokens = 1}}), IsOk());
  ASSERT_THAT(runtime().Record(first, a()), IsOk());
  ASSERT_THAT(RunOnce(first), IsOk());
  Tree& tree = *runtime().tree(0);
  tree.Inspect([&] { tree.pool().memory().Trim(0).IgnoreError(); });
  // All but a tenth of a large one, beside what cannot be unmapped.
  const auto words = static_cast<int64_t>((kTotal - ReservedOf(0)) / sizeof(int32_t));
  const ProgramId second = AddSized(1, words - kWords / 10);
  for (int round = 0; round < 4; ++round) {
    EXPECT_THAT(RunOnce(second), IsOk()) << "round " << round;
    EXPECT_THAT(RunOnce(first), IsOk()) << "round " << round;
    EXPECT_LE(ReservedOfTwo(), kTotal) << "round " << round;
  }
  EXPECT_EQ(Count(Why::kHit), 5u);
}

TEST_P(SharedPoolTest, WhatLanesMapAtFirstFitsTogether) {
  RuntimeOptions options;
  options.pool_bytes = kTotal;
  options.tree.initial_bytes = 20 << 20;
  OpenRuntime(options);
  std::vector<ProgramId> programs;
  uint64_t all = 0;
  for (uint32_t lane = 0; lane < 3; ++lane) {
    programs.push_back(AddSized(lane, kWords / 4));
    all += ReservedOf(lane);
    EXPECT_LE(all, kTotal) << "with lane " << lane;
  }
  EXPECT_GE(ReservedOf(0), options.tree.initial_bytes);
  EXPECT_GT(ReservedOf(1), 0u) << "what is left";
  for (const ProgramId program : programs) {
    EXPECT_THAT(RunOnce(program), IsOk());
    EXPECT_LE(ReservedOfTwo() + ReservedOf(2), kTotal);
  }
}

// Such a function is called on the lane's tree, where no step says when it takes memory.
TEST_P(SharedPoolTest, FunctionsBesideProgramsCountToo) {
  Open();
  const std::vector<ProgramId> programs = {AddSized(0, kWords / 4), AddSized(1, kWords / 4)};
  for (const ProgramId program : programs) ASSERT_THAT(RunOnce(program), IsOk());
  std::vector<Values> held(2);
  std::vector<FunctionId> functions;
  for (uint32_t lane = 0; lane < 2; ++lane) {
    functions.push_back(
        runtime().tree(lane)->Register("beside", {}, [](Launcher& on, Values&) -> Values {
          return {on.Empty(DType::kI32, {1 << 20})};
        }));
  }
  int refused = 0;
  for (int round = 0; round < 12; ++round) {
    for (uint32_t lane = 0; lane < 2; ++lane) {
      Values outputs;
      const absl::Status said = runtime().tree(lane)->Run(functions[lane], {}, a(), &outputs);
      EXPECT_TRUE(said.ok() || absl::IsResourceExhausted(said)) << said;
      refused += !said.ok();
      for (Value& output : outputs) held[lane].push_back(std::move(output));
      ASSERT_LE(ReservedOfTwo(), kTotal) << "round " << round;
    }
  }
  EXPECT_GT(refused, 0) << "they asked for three times as much";
}

TEST_P(SharedPoolTest, TwoThreadsTakeTurnsWithTheMemory) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  Open();
  const std::vector<ProgramId> programs = {AddLarge(0), AddLarge(1)};
  const auto serve = [&](ProgramId program, Stream& stream) {
    int went = 0;
    for (int i = 0; i < 40; ++i) {
      Values outputs;
      absl::StatusOr<Step> step = runtime().Begin(program, {.tokens = 1}, stream);
      if (!step.ok() || !step->Stage(0, 7.0).ok()) return -1;
      const absl::Status said = step->Run(&outputs);
      if (!said.ok() && !absl::IsResourceExhausted(said)) return -1;
      went += said.ok();
    }
    return went;
  };
  int other = 0;
  std::thread second([&] { other = serve(programs[1], b()); });
  const int own = serve(programs[0], a());
  second.join();
  EXPECT_GE(own, 0);
  EXPECT_GE(other, 0);
  EXPECT_GT(own + other, 0);
  EXPECT_THAT(RunOnce(programs[0]), IsOk());
  EXPECT_THAT(RunOnce(programs[1]), IsOk());
}

// Two functions beside programs each run a step that lacks memory. The lanes that have some are the
// functions' own, and neither waits for the other's.
TEST_P(SharedPoolTest, AFunctionBesideProgramsIsNotWaitedFor) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  Open();
  for (const uint32_t lane : {0u, 1u}) EXPECT_THAT(RunOnce(AddSized(lane, 3 << 20)), IsOk());
  const std::vector<ProgramId> programs = {AddLarge(2), AddLarge(3)};
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> c, device().NewStream());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> d, device().NewStream());
  std::atomic<int> inside{0};
  absl::Status steps[2];
  const auto run_beside = [&](uint32_t lane, Stream& outer, Stream& inner) {
    const FunctionId beside =
        runtime().tree(lane)->Register("beside", {}, [&, lane](Launcher& on, Values&) -> Values {
          const Tensor out = on.Empty(DType::kU8, {64});
          if (!on.ok()) return {};
          on.Fill(out, 1);
          ++inside;
          while (inside < 2) std::this_thread::yield();
          absl::StatusOr<Step> step = runtime().Begin(programs[lane], {.tokens = 1}, inner);
          steps[lane] = step.status();
          Values outputs;
          if (step.ok()) steps[lane].Update(step->Stage(0, 7.0));
          if (step.ok()) steps[lane].Update(step->Run(&outputs));
          return {out};
        });
    return runtime().tree(lane)->Run(beside, Values{}, outer).status();
  };
  std::atomic<bool> is_over{false};
  std::thread guard([&] { EndAfterHalfAMinute(is_over); });
  absl::Status other;
  std::thread second([&] { other = run_beside(1, b(), *d); });
  EXPECT_THAT(run_beside(0, a(), *c), IsOk());
  second.join();
  is_over = true;
  guard.join();
  EXPECT_THAT(other, IsOk());
  for (const absl::Status& step : steps) {
    EXPECT_TRUE(step.ok() || absl::IsResourceExhausted(step)) << step;
  }
  EXPECT_THAT(c->Synchronize(), IsOk());
  EXPECT_THAT(d->Synchronize(), IsOk());
}

}  // namespace
}  // namespace graphtree
