// Lanes: threads that meet in one, devices, and a runtime that closes while somebody captures.
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "device/host/host_device.h"
#include "gmock/gmock.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class LanesTest : public RuntimeTest {
 protected:
  // "double" in each of two lanes, with shapes of 8, 16, ... 48 tokens.
  std::vector<ProgramId> AddTwoLanes() {
    std::vector<ProgramId> programs;
    for (uint32_t lane = 0; lane < 2; ++lane) {
      ProgramOptions options = DoubleOptions("lane " + std::to_string(lane));
      options.lane = lane;
      const absl::StatusOr<ProgramId> program = runtime().AddProgram(std::move(options));
      EXPECT_THAT(program, IsOk());
      std::vector<Key> keys;
      for (int32_t tokens = 8; tokens <= 48; tokens += 8) keys.push_back({.tokens = tokens});
      EXPECT_THAT(runtime().AddShapes(*program, keys), IsOk());
      programs.push_back(*program);
    }
    return programs;
  }
  // Of both lanes.
  Share Held() {
    Share held;
    for (uint32_t lane = 0; lane < 2; ++lane) {
      const TreeStats stats = runtime().tree(lane)->stats();
      held = held + Share{stats.nodes, stats.executables, stats.executable_bytes};
    }
    return held;
  }
};
GRAPHTREE_ON_EVERY_DEVICE(LanesTest);

TEST_P(LanesTest, ASecondThreadIsRefusedAndDisturbsNoStep) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  const ProgramId program = AddDouble({8});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  constexpr int kRounds = 4000;
  std::atomic<int> ran{0};
  std::atomic<int> refused{0};
  std::atomic<int> wrong{0};
  const auto serve = [&](Stream& stream) {
    Values outputs;
    for (int i = 0; i < kRounds; ++i) {
      absl::StatusOr<Step> step = runtime().Begin(program, {.tokens = 8}, stream);
      if (!step.ok()) {
        ++(step.status().message().find("under way") == std::string::npos ? wrong : refused);
        continue;
      }
      if (!step->Stage(0, double(i)).ok() || !step->Run(&outputs).ok()) ++wrong;
      ++ran;
    }
  };
  std::thread other([&] { serve(b()); });
  serve(a());
  other.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(ran + refused, 2 * kRounds);
  EXPECT_EQ(runtime().stats().steps, static_cast<uint64_t>(ran));
  StepWith(program, IdsFrom(5, 8));
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(5, 8), 8));
}

TEST_P(LanesTest, EachDeviceHasLanesOfItsOwn) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Device> other, GetParam().open());
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> there, other->NewStream());
    Device* const devices[] = {&device(), other.get()};
    RuntimeOptions options;
    options.tree.pool_bytes = 16 << 20;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Runtime> both, Runtime::Create(devices, options));
    ProgramOptions of_first = DoubleOptions("first");
    ProgramOptions of_second = DoubleOptions("second");
    of_second.device = 1;
    ASSERT_OK_AND_ASSIGN(const ProgramId first, both->AddProgram(std::move(of_first)));
    ASSERT_OK_AND_ASSIGN(const ProgramId second, both->AddProgram(std::move(of_second)));
    ProgramOptions of_third = DoubleOptions("third");
    of_third.device = 2;
    EXPECT_THAT(both->AddProgram(std::move(of_third)).status().message(),
                AllOf(HasSubstr("device 2"), HasSubstr("'third'")));
    EXPECT_NE(both->tree(0, 0), both->tree(0, 1));
    for (const ProgramId program : {first, second}) {
      ASSERT_THAT(both->AddShapes(program, {{.tokens = 8}}), IsOk());
    }
    EXPECT_THAT(both->Begin(second, {.tokens = 8}, a()).status().message(),
                HasSubstr("another device"));
    Values of_a;
    Values of_there;
    for (int i = 0; i < 4; ++i) {
      // Both steps are under way at once: they are in lanes of two devices.
      ASSERT_OK_AND_ASSIGN(Step here, both->Begin(first, {.tokens = 8}, a()));
      ASSERT_OK_AND_ASSIGN(Step away, both->Begin(second, {.tokens = 8}, *there));
      ASSERT_THAT(here.Stage(0, double(i)), IsOk());
      ASSERT_THAT(away.Stage(0, double(10 * i)), IsOk());
      ASSERT_THAT(away.Run(&of_there), IsOk());
      ASSERT_THAT(here.Run(&of_a), IsOk());
      EXPECT_EQ(ReadIds(of_a[0]), Ids(8, 2 * i));
    }
    EXPECT_EQ(both->stats().why[static_cast<size_t>(Why::kHit)], 4u);
    EXPECT_EQ(both->history(0, 1).count(), 4u);
    of_there.clear();
    of_a.clear();
  }
  EXPECT_THAT(other->Close(), IsOk());
}

// Every host device is called the same, and each has memory of its own.
TEST(HostDevicesTest, WhatLiesOnAnotherDeviceIsNotStaged) {
  const std::unique_ptr<Device> here = *OpenHostDevice();
  const std::unique_ptr<Device> there = *OpenHostDevice();
  {
    const std::unique_ptr<Stream> streams[] = {*here->NewStream(), *there->NewStream()};
    Device* const devices[] = {here.get(), there.get()};
    RuntimeOptions options;
    options.tree.pool_bytes = 16 << 20;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Runtime> both, Runtime::Create(devices, options));
    Values outputs[2];
    ProgramId programs[2];
    for (const uint32_t device : {0, 1}) {
      ProgramOptions copy;
      copy.name = "copy " + std::to_string(device);
      copy.slots = {{.name = "ids", .sizes = {8}}};
      copy.device = device;
      copy.body = [](Launcher& on, const ProgramInputs& in) -> Values {
        const Tensor out = on.Empty(DType::kI32, {8});
        if (on.ok()) on.Copy(out, in.slot(0));
        return {out};
      };
      ASSERT_OK_AND_ASSIGN(programs[device], both->AddProgram(std::move(copy)));
      ASSERT_OK_AND_ASSIGN(Step step,
                           both->Begin(programs[device], {.tokens = 8}, *streams[device]));
      ASSERT_THAT(step.Stage(0, 1.0), IsOk());
      ASSERT_THAT(step.Run(&outputs[device]), IsOk());
    }
    const Tensor away = Tensor::From(outputs[1][0]);
    const Tensor foreign = Tensor::Foreign(away.word(), away.layout());
    ASSERT_OK_AND_ASSIGN(Step step, both->Begin(programs[0], {.tokens = 8}, *streams[0]));
    const auto is_refused = AllOf(HasSubstr("'ids'"), HasSubstr("another device"));
    EXPECT_THAT(step.Stage(0, away).message(), is_refused);
    EXPECT_THAT(step.Stage(0, foreign).message(), is_refused);
    EXPECT_THAT(step.Stage(0, DeviceRows{away.word(), DType::kI32, 8}).message(), is_refused);
    EXPECT_THAT(step.Stage(0, Tensor::From(outputs[0][0])), IsOk());
    EXPECT_THAT(step.Run(&outputs[0]), IsOk());
    for (const std::unique_ptr<Stream>& stream : streams) {
      EXPECT_THAT(stream->Synchronize(), IsOk());
    }
  }
  EXPECT_THAT(here->Close(), IsOk());
  EXPECT_THAT(there->Close(), IsOk());
}

// Both budgets are limits: the lanes' together, and each tree's own.
TEST_P(LanesTest, ALaneTakesNoMoreThanItsOwnTreeMay) {
  constexpr uint64_t kOwn = 4 << 20;
  RuntimeOptions options;
  options.tree.pool_bytes = kOwn;
  options.pool_bytes = 64 << 20;
  OpenRuntime(options);
  ProgramOptions large = DoubleOptions();
  large.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor out = on.Empty(DType::kI32, {3 << 20});
    if (!on.ok()) return {};
    on.Launch(AddKernel(), TestShape(), {Out(out), In(in.slot(0)), In(in.slot(0)), Val(1u)});
    return {out};
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(large)));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 8}}), IsOk());
  EXPECT_FALSE(runtime().Record(program, a()).ok()) << "12 MiB, of 4";
  EXPECT_LE(runtime().tree()->stats().pool_reserved_bytes, kOwn);
}

TEST_P(LanesTest, LanesShareOneBudgetOfMemory) {
  constexpr uint64_t kBudget = 16 << 20;
  RuntimeOptions options;
  options.pool_bytes = kBudget;
  OpenRuntime(options);
  std::vector<ProgramId> programs;
  for (uint32_t lane = 0; lane < 3; ++lane) {
    ProgramOptions large = DoubleOptions("lane " + std::to_string(lane));
    large.lane = lane;
    large.body = [](Launcher& on, const ProgramInputs& in) -> Values {
      const Tensor out = on.Empty(DType::kI32, {in.key().tokens * 40000});
      if (!on.ok()) return {};
      on.Launch(AddKernel(), TestShape(), {Out(out), In(in.slot(0)), In(in.slot(0)), Val(1u)});
      return {out};
    };
    ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(large)));
    ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 16}, {.tokens = 48}}), IsOk());
    programs.push_back(program);
  }
  int full = 0;
  for (const ProgramId program : programs) {
    if (!runtime().Record(program, a()).ok()) ++full;
    uint64_t taken = 0;
    for (uint32_t lane = 0; lane < 3; ++lane) {
      taken += runtime().tree(lane)->stats().pool_reserved_bytes;
    }
    EXPECT_LE(taken, kBudget);
  }
  EXPECT_GE(full, 1) << "three lanes want more than there is";
  EXPECT_LT(full, 3) << "one alone gets what it wants";
}

TEST_P(LanesTest, LanesShareOneBudgetOfRecordings) {
  RuntimeOptions options;
  options.shared = {.nodes = 4};
  OpenRuntime(options);
  const std::vector<ProgramId> programs = AddTwoLanes();
  ASSERT_THAT(runtime().Record(programs[0], a()), IsOk());
  EXPECT_EQ(runtime().tree(0)->stats().nodes, 4u) << "a lane alone may have all";
  ASSERT_THAT(runtime().Record(programs[1], a()), IsOk());
  EXPECT_EQ(runtime().tree(0)->stats().nodes, 2u) << "it keeps its share";
  EXPECT_EQ(runtime().tree(1)->stats().nodes, 2u);
  for (int32_t round = 0; round < 60; ++round) {
    const Ids ids = IdsFrom(round, 8 * (1 + round % 6));
    StepWith(programs[round % 2], ids);
    EXPECT_EQ(LastOutput(), Doubled(ids, ids.size()));
    EXPECT_LE(Held().nodes, 4u) << "round " << round;
  }
  ASSERT_THAT(runtime().RemoveProgram(programs[0]), IsOk());
  ASSERT_THAT(runtime().Record(programs[1], a()), IsOk());
  EXPECT_EQ(runtime().tree(1)->stats().nodes, 4u) << "what the other lane had is free";
}

TEST_P(LanesTest, LanesShareOneBudgetOfExecutables) {
  RuntimeOptions options;
  options.shared = {.executables = 4};
  for (int which = 0; which < 2; ++which) {
    OpenRuntime(options);
    const std::vector<ProgramId> programs = AddTwoLanes();
    ASSERT_THAT(runtime().Record(programs[0], a()), IsOk());
    EXPECT_EQ(Held().executables, 4u);
    const uint64_t bytes_of_four = Held().executable_bytes;
    ASSERT_THAT(runtime().Record(programs[1], a()), IsOk());
    for (int32_t round = 0; round < 60; ++round) {
      const Ids ids = IdsFrom(round, 8 * (1 + round % 6));
      StepWith(programs[round % 2], ids);
      EXPECT_EQ(LastOutput(), Doubled(ids, ids.size()));
      EXPECT_LE(Held().executables, 4u) << "round " << round;
      EXPECT_LE(Held().executable_bytes, bytes_of_four);
    }
    EXPECT_EQ(Held().executables, 4u);
    EXPECT_EQ(runtime().tree(1)->stats().executables, 2u);
    options.shared = {.executable_bytes = bytes_of_four};
  }
}

// All that lane 0 has is one recording of two sections, of which nothing is held, on its last path.
TEST_P(LanesTest, AnIdleLanesOnlyRecordingMakesRoom) {
  RuntimeOptions options;
  options.shared = {.executables = 2};
  options.tree.budget.retry_after = 4;
  OpenRuntime(options);
  ProgramOptions breaks = DoubleOptions("breaks");
  breaks.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    const Values doubled = DoubleBody(on, in);
    if (!on.ok()) return {};
    const Tensor out = Tensor::From(doubled[0]);
    on.Break("nothing", {InOut(out)}, [](Launcher&, absl::Span<const Tensor>) {});
    const Tensor sum = on.Empty(DType::kI32, {in.key().tokens});
    if (!on.ok()) return {};
    on.Launch(AddKernel(), TestShape(), {Out(sum), In(out), In(out), Val(8u)});
    return {sum};
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId first, runtime().AddProgram(std::move(breaks)));
  ASSERT_THAT(runtime().AddShapes(first, {{.tokens = 8}}, Mode::kSegmented), IsOk());
  for (int i = 0; i < 4; ++i) StepWith(first, IdsFrom(i, 8));
  ASSERT_EQ(runtime().tree(0)->stats().executables, 2u);
  ProgramOptions plain = DoubleOptions("plain");
  plain.lane = 1;
  ASSERT_OK_AND_ASSIGN(const ProgramId second, runtime().AddProgram(std::move(plain)));
  ASSERT_THAT(runtime().AddShapes(second, {{.tokens = 8}}), IsOk());
  for (int i = 0; i < 40; ++i) StepWith(second, IdsFrom(i, 8));
  EXPECT_GT(runtime().tree(1)->stats().replays, 20u);
}

TEST_P(LanesTest, LanesOfTwoThreadsTakeNoMoreThanTheyShare) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  RuntimeOptions options;
  options.shared = {.nodes = 5, .executables = 4};
  OpenRuntime(options);
  const std::vector<ProgramId> programs = AddTwoLanes();
  std::atomic<int> wrong{0};
  std::atomic<int> hits{0};
  const auto serve = [&](ProgramId program, Stream& stream, int stride) {
    Values outputs;
    for (int i = 0; i < 600; ++i) {
      const Key key = {.tokens = 8 * (1 + i / stride % 6)};
      absl::StatusOr<Step> step = runtime().Begin(program, key, stream);
      if (!step.ok() || !step->Stage(0, double(i)).ok() || !step->Run(&outputs).ok()) {
        ++wrong;
      } else if (step->why() == Why::kHit) {
        ++hits;
      }
    }
  };
  std::thread other([&] { serve(programs[1], b(), 3); });
  serve(programs[0], a(), 5);
  other.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(hits, 0);
  EXPECT_LE(Held().nodes, 5u);
  EXPECT_LE(Held().executables, 4u);
}

TEST_P(LanesTest, AProgramThatMayNotBeRemovedNowIsAsItWas) {
  const ProgramId program = AddDouble({8});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  Tree& tree = *runtime().tree();
  absl::Status removed;
  const FunctionId beside = tree.Register("beside", {}, [&](Launcher&, Values&) -> Values {
    removed = runtime().RemoveProgram(program);
    return {};
  });
  Values outputs;
  ASSERT_THAT(tree.Run(beside, {}, a(), &outputs), IsOk());
  EXPECT_THAT(removed.message(), HasSubstr("unregister it between calls"));
  EXPECT_EQ(StepWith(program, IdsFrom(1, 8)), Why::kHit);
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(1, 8), 8));
  EXPECT_THAT(runtime().RemoveProgram(program), IsOk());
}

// Whoever has the tree may take a program's functions away: the rest can still be removed.
TEST_P(LanesTest, AProgramOfWhichAFunctionIsGoneCanBeRemoved) {
  for (const size_t place : {0, 1, 2}) {
    const ProgramId program = AddDouble({8, 16});
    ASSERT_THAT(runtime().Record(program, a()), IsOk());
    const std::vector<FunctionStats> functions = runtime().tree()->function_stats();
    std::vector<FunctionId> ours;
    for (const FunctionStats& function : functions) {
      if (absl::StartsWith(function.name, "double")) ours.push_back(function.id);
    }
    ASSERT_EQ(ours.size(), 3u);
    ASSERT_THAT(runtime().tree()->Unregister(ours[place]), IsOk());
    EXPECT_THAT(runtime().RemoveProgram(program), IsOk());
    EXPECT_EQ(runtime().tree()->function_stats().size(), functions.size() - 3);
  }
}

TEST_P(LanesTest, ARuntimeOverNothingOrOverOneDeviceTwiceIsRefused) {
  EXPECT_THAT(Runtime::Create(absl::Span<Device* const>(), {}).status().message(),
              HasSubstr("no device"));
  Device* const twice[] = {&device(), &device()};
  EXPECT_THAT(Runtime::Create(twice, {}).status().message(), HasSubstr("twice"));
  Device* const null[] = {nullptr};
  EXPECT_THAT(Runtime::Create(null, {}).status().message(), HasSubstr("null"));
}

TEST_P(LanesTest, ARuntimeThatClosesUnderACaptureLeavesThatCaptureAlone) {
  const ProgramId program = AddDouble({8});
  ASSERT_THAT(runtime().Record(program, a()), IsOk());
  const AddressRange words = NewWordsWith({1, 2, 3, 4});
  for (int i = 0; i < 3; ++i) StepWith(program, IdsFrom(1, 8));
  ASSERT_THAT(b().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(Increment(b(), words, 1), IsOk());
  CloseRuntime();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Graph> graph, b().EndCapture());
  EXPECT_EQ(graph->op_count(), 1u);
  EXPECT_THAT(device().health(), IsOk());
  EXPECT_THAT(device().GiveBackLeftovers(), IsOk());
  OpenRuntime({});
  const ProgramId again = AddDouble({8});
  for (int i = 0; i < 3; ++i) StepWith(again, IdsFrom(i, 8));
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(2, 8), 8));
}

TEST_P(LanesTest, RanksThatRecordAtOtherTimesDoNotSeemToPart) {
  RuntimeOptions options;
  options.tree.pool_bytes = 16 << 20;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Runtime> late, Runtime::Create(device(), options));
  ASSERT_OK_AND_ASSIGN(const ProgramId theirs, late->AddProgram(DoubleOptions()));
  ASSERT_THAT(late->AddShapes(theirs, {{.tokens = 8}}), IsOk());
  const ProgramId ours = AddDouble({8});
  ASSERT_THAT(runtime().Record(ours, a()), IsOk());
  Values outputs;
  for (int i = 0; i < 5; ++i) {
    StepWith(ours, IdsFrom(1, 8));
    ASSERT_OK_AND_ASSIGN(Step step, late->Begin(theirs, {.tokens = 8}, a()));
    ASSERT_THAT(step.Stage(0, 1.0), IsOk());
    ASSERT_THAT(step.Run(&outputs), IsOk());
    EXPECT_EQ(late->history().digest(), runtime().history().digest()) << "after step " << i;
  }
  outputs.clear();
}

}  // namespace
}  // namespace graphtree
