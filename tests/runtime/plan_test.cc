// Plans: what is recorded within a budget, what was told of it before, and what came of it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "gmock/gmock.h"
#include "runtime/recording_plan.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

constexpr uint64_t kMiB = 1 << 20;

// 1 MiB of the pool for each token and one more, and twice the ids.
Values HungryBody(Launcher& on, const ProgramInputs& in) {
  const auto count = static_cast<uint32_t>(in.key().tokens);
  const Tensor room = on.Empty(DType::kI32, {int64_t{count} + 1, 1 << 18});
  const Tensor out = on.Empty(DType::kI32, {count});
  if (!on.ok()) return {};
  const Tensor& ids = in.slot(0);
  on.Launch(AddKernel(), TestShape(), {Out(out), In(ids), In(ids), Val(count)});
  on.Launch(IncrementKernel(), TestShape(), {InOut(room), Val(1u), Val(64u)});
  return {out};
}

class PlanTest : public RuntimeTest {
 protected:
  static constexpr int32_t kTokens[] = {1, 2, 4, 8, 12, 16, 24, 32};

  void SetUp() override {
    RuntimeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Open({});
  }
  void Open(RuntimeOptions options) {
    options.tree.pool_bytes = 512 << 20;
    OpenRuntime(options);
  }
  ProgramId AddHungry(const std::string& name, uint32_t lane = 0) {
    ProgramOptions options = DoubleOptions(name);
    options.body = HungryBody;
    options.lane = lane;
    return Add(std::move(options), KeysOf({std::begin(kTokens), std::end(kTokens)}));
  }
  // Its body fails for 8 tokens. It has no shapes yet.
  ProgramId AddPicky() {
    ProgramOptions options = DoubleOptions("picky");
    options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
      if (in.key().tokens == 8) {
        on.Fail(absl::UnavailableError("no eights"));
        return {};
      }
      return HungryBody(on, in);
    };
    const absl::StatusOr<ProgramId> program = runtime().AddProgram(options);
    EXPECT_THAT(program, IsOk());
    return *program;
  }
  RecordingPlan MustPlan(uint64_t budget, const std::vector<ShapeToRecord>& shapes = {}) {
    absl::StatusOr<RecordingPlan> plan = runtime().Plan(shapes, budget);
    EXPECT_THAT(plan, IsOk());
    return plan.ok() ? *std::move(plan) : RecordingPlan();
  }
  PlanResult MustRecord(const RecordingPlan& plan) {
    const absl::StatusOr<PlanResult> result = runtime().RecordPlan(plan, a());
    EXPECT_THAT(result, IsOk());
    return result.ok() ? *result : PlanResult();
  }
  uint64_t MappedInPools() {
    uint64_t bytes = 0;
    for (const LaneLedger& lane : runtime().ledger().lanes) bytes += lane.mapped();
    return bytes;
  }
  uint64_t FreeBytes() {
    const absl::StatusOr<MemoryInfo> info = device().memory().Info();
    EXPECT_THAT(info, IsOk());
    return info.ok() ? info->free_bytes : 0;
  }
};
GRAPHTREE_ON_EVERY_DEVICE(PlanTest);

TEST_P(PlanTest, SaysThatItKnowsNothingBeforeTheFirstRecordings) {
  AddHungry("hungry");
  const RecordingPlan plan = MustPlan(0);
  EXPECT_FALSE(plan.estimate.is_known);
  EXPECT_THAT(plan.words, HasSubstr("Nothing is known yet of what 'hungry' (full) will take"));
  ASSERT_EQ(plan.order.size(), std::size(kTokens));
  for (size_t i = 0; i < plan.order.size(); ++i) {
    EXPECT_EQ(plan.order[i].shape.key.tokens, kTokens[std::size(kTokens) - 1 - i]);
  }
}

TEST_P(PlanTest, TellsFromThreeRecordingsWhatAllTake) {
  const ProgramId hungry = AddHungry("hungry");
  const uint64_t before = FreeBytes();
  MustRecord(MustPlan(0, {{hungry, {.tokens = 1}}, {hungry, {.tokens = 4}},
                          {hungry, {.tokens = 8}}}));
  const RecordingPlan plan = MustPlan(0);
  EXPECT_TRUE(plan.estimate.is_known);
  EXPECT_EQ(plan.recorded.size(), 3u);
  EXPECT_EQ(plan.order.size(), 5u);
  EXPECT_THAT(plan.words, HasSubstr("By 3 recordings"));
  // 33 MiB for the largest, of which the next uses 25.
  EXPECT_NEAR(plan.estimate.pool_shared.bytes, 25.0 * kMiB, 1.0 * kMiB);
  EXPECT_NEAR(plan.estimate.pool_alone.bytes, 9.0 * kMiB, 2.5 * kMiB);
  const double estimate = plan.estimate.device().bytes;
  const double error = plan.estimate.device().error;
  const PlanResult result = MustRecord(plan);
  EXPECT_EQ(result.recorded, 5u);
  EXPECT_TRUE(result.is_measured);
  if (device().info().architecture == "host") {
    EXPECT_EQ(result.device_bytes, before - FreeBytes());
  }
  const auto truth = static_cast<double>(result.device_bytes);
  EXPECT_LE(std::abs(estimate - truth), truth / 10);
  EXPECT_LE(std::abs(estimate - truth), error + 1.0 * kMiB);
  EXPECT_LE(result.error, 0.1);
  EXPECT_EQ(result.estimate.learned_from, 3u);
  ASSERT_NE(runtime().last_plan(), nullptr);
  EXPECT_EQ(runtime().last_plan()->device_bytes, result.device_bytes);
}

TEST_P(PlanTest, LearnsByItselfAndEveryShapeServesAfterwards) {
  const ProgramId hungry = AddHungry("hungry");
  const ProgramId other = AddHungry("other", /*lane=*/1);
  uint64_t told = 0;
  const auto after = [&](const PlanResult& result) { told += result.bytes_left; };
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       runtime().RecordPlan(MustPlan(400 * kMiB), a(), after));
  EXPECT_EQ(result.recorded, 2 * std::size(kTokens));
  EXPECT_TRUE(result.left_out.empty());
  EXPECT_TRUE(result.estimate.is_known);
  EXPECT_LE(result.error, 0.1);
  EXPECT_EQ(result.bytes_left, 400 * kMiB - result.device_bytes);
  EXPECT_EQ(told, result.bytes_left);
  for (const ProgramId program : {hungry, other}) {
    for (const int32_t tokens : kTokens) {
      const Ids ids = IdsFrom(tokens, tokens);
      EXPECT_EQ(StepWith(program, ids), Why::kHit);
      EXPECT_EQ(LastOutput(), Doubled(ids, tokens));
    }
  }
  const RecordingPlan again = MustPlan(400 * kMiB);
  EXPECT_TRUE(again.order.empty());
  EXPECT_EQ(again.recorded.size(), 2 * std::size(kTokens));
  EXPECT_EQ(MustRecord(again).recorded, 0u);
}

TEST_P(PlanTest, AnotherPlanMayBeRecordedAfterwards) {
  const ProgramId first = AddHungry("first"), second = AddHungry("second", 1);
  std::vector<ShapeToRecord> of_first, of_second = {{second, {.tokens = 1}}};
  for (const int32_t tokens : kTokens) of_first.push_back({first, {.tokens = tokens}});
  const RecordingPlan inner = MustPlan(0, of_second);
  size_t told = 0;
  const auto after = [&](const PlanResult& result) {
    EXPECT_EQ(MustRecord(inner).recorded, 1u);
    told = result.recorded;
  };
  ASSERT_OK_AND_ASSIGN(const PlanResult outer,
                       runtime().RecordPlan(MustPlan(0, of_first), a(), after));
  EXPECT_EQ(told, of_first.size());
  EXPECT_EQ(outer.recorded, of_first.size());
}

TEST_P(PlanTest, ABudgetLeavesOutWhatDoesNotFit) {
  const ProgramId hungry = AddHungry("hungry");
  const uint64_t before = FreeBytes();
  const PlanResult result = MustRecord(MustPlan(20 * kMiB));
  EXPECT_EQ(result.recorded, 6u);  // up to 16 tokens: 17 MiB
  ASSERT_EQ(result.left_out.size(), 2u);
  for (const OmittedShape& omitted : result.left_out) {
    EXPECT_EQ(omitted.why, LeftOut::kBudget) << LeftOutName(omitted.why);
    EXPECT_GT(omitted.shape.key.tokens, 16);
    EXPECT_THAT(omitted.words, HasSubstr(absl::StrCat(20 * kMiB)));
  }
  EXPECT_LE(result.device_bytes, 20 * kMiB);
  EXPECT_LE(before - FreeBytes(), 20 * kMiB);
  EXPECT_EQ(StepWith(hungry, IdsFrom(0, 16)), Why::kHit);
}

TEST_P(PlanTest, ABudgetBelowOneProgramsNeedIsAnError) {
  const ProgramId hungry = AddHungry("hungry");
  MustRecord(MustPlan(0, {{hungry, {.tokens = 1}}, {hungry, {.tokens = 4}},
                          {hungry, {.tokens = 8}}}));
  EXPECT_THAT(runtime().Plan({{hungry, {.tokens = 16}}, {hungry, {.tokens = 32}}}, 10 * kMiB),
              FailsWith(StatusCode::kInvalidArgument,
                        "the smallest shape of 'hungry' (full, tokens=16) needs about "));
  EXPECT_THAT(runtime().Plan({}, 10 * kMiB), IsOk());  // as some of it is there
}

TEST_P(PlanTest, WhatIsWantedMostIsKept) {
  RuntimeOptions options;
  options.records_while_serving = false;
  Open(options);
  const ProgramId hungry = AddHungry("hungry");
  const ProgramId other = AddHungry("other", /*lane=*/1);
  std::vector<ShapeToRecord> small;
  for (const ProgramId program : {hungry, other}) {
    for (const int32_t tokens : {1, 4, 8}) small.push_back({program, {.tokens = tokens}});
  }
  MustRecord(MustPlan(0, small));
  // There is room for one of them, as each takes 16 MiB beyond what its lane has.
  const std::vector<ShapeToRecord> large = {{hungry, {.tokens = 24}}, {other, {.tokens = 24}}};
  for (const auto& [program, steps] : {std::pair(other, 3), std::pair(hungry, 5)}) {
    for (int i = 0; i < steps; ++i) EXPECT_EQ(StepWith(program, IdsFrom(i, 24)), Why::kNotRecorded);
    const RecordingPlan plan = MustPlan(MappedInPools() + 20 * kMiB, large);
    ASSERT_EQ(plan.order.size(), 1u);
    EXPECT_EQ(plan.order[0].shape.program.index, program.index);
    EXPECT_EQ(plan.order[0].wanted, static_cast<uint64_t>(steps));
    ASSERT_EQ(plan.left_out.size(), 1u);
    EXPECT_EQ(plan.left_out[0].why, LeftOut::kBudget);
  }
}

TEST_P(PlanTest, SaysWhatItCannotPlan) {
  const ProgramId hungry = AddHungry("hungry");
  EXPECT_THAT(runtime().Plan({{hungry, {.tokens = 7}}}, 0),
              FailsWith(StatusCode::kNotFound, "'hungry' (full, tokens=7)"));
  EXPECT_THAT(runtime().Plan({{hungry, {.tokens = 8}, Mode::kSegmented}}, 0),
              FailsWith(StatusCode::kNotFound, "segmented"));
  EXPECT_THAT(runtime().RecordPlan({}, a()),
              FailsWith(StatusCode::kInvalidArgument, "without shapes"));
  ASSERT_THAT(runtime().Exclude(hungry, {.tokens = 32}), IsOk());
  const RecordingPlan plan = MustPlan(0);
  ASSERT_EQ(plan.left_out.size(), 1u);
  EXPECT_EQ(plan.left_out[0].why, LeftOut::kExcluded);
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(hungry, {.tokens = 1}, a()));
  EXPECT_THAT(runtime().RecordPlan(plan, a()),
              FailsWith(StatusCode::kFailedPrecondition, "under way"));
  step.Cancel();
  ASSERT_THAT(runtime().RemoveProgram(hungry), IsOk());
  EXPECT_FALSE(runtime().RecordPlan(plan, a()).ok());
}

TEST_P(PlanTest, AShapeThatFailsIsLeftOutAndTheOthersAreRecorded) {
  const ProgramId picky = AddPicky();
  ASSERT_THAT(runtime().AddShapes(picky, {{.tokens = 4}, {.tokens = 8}, {.tokens = 16}}), IsOk());
  const PlanResult result = MustRecord(MustPlan(0));
  EXPECT_EQ(result.recorded, 2u);
  ASSERT_EQ(result.left_out.size(), 1u);
  EXPECT_EQ(result.left_out[0].why, LeftOut::kFailed);
  EXPECT_THAT(result.left_out[0].words, HasSubstr("no eights"));
  EXPECT_THAT(result.first_failure, FailsWith(StatusCode::kUnavailable, "no eights"));
  EXPECT_EQ(StepWith(picky, IdsFrom(0, 4)), Why::kHit);
}

// One of the first shapes fails, and then there is no room for its size.
TEST_P(PlanTest, AShapeIsLeftOutOnce) {
  const ProgramId picky = AddPicky();
  const std::vector<Key> keys = {{.tokens = 1}, {.tokens = 2}, {.tokens = 8}, {.tokens = 16},
                                 {.tokens = 32}};
  ASSERT_THAT(runtime().AddShapes(picky, keys), IsOk());
  const PlanResult result = MustRecord(MustPlan(8 * kMiB));
  EXPECT_EQ(result.recorded + result.left_out.size(), keys.size());
  for (const OmittedShape& one : result.left_out) {
    const bool is_failed = one.shape.key.tokens == 8 && one.why == LeftOut::kFailed;
    EXPECT_TRUE(is_failed || one.why == LeftOut::kBudget) << LeftOutName(one.why);
  }
}

TEST_P(PlanTest, WhereTreesHoldFewerRecordingsThePlanIsNoError) {
  RuntimeOptions options;
  options.tree.budget.nodes = 3;
  Open(options);
  const ProgramId hungry = AddHungry("hungry");
  MustRecord(MustPlan(0));
  EXPECT_EQ(runtime().tree()->stats().nodes, 3u);
  for (const int32_t tokens : kTokens) {
    StepWith(hungry, IdsFrom(1, tokens));
    EXPECT_EQ(LastOutput(), Doubled(IdsFrom(1, tokens), tokens));
  }
}

TEST_P(PlanTest, AWorkspaceThatGrowsIsInTheEstimateAndLeavesNothingStale) {
  ASSERT_OK_AND_ASSIGN(const DepId scratch, runtime().DeclareWorkspace("scratch", {}));
  const AddressRange memory = NewWords(64 * 16);
  ProgramOptions options = DoubleOptions("library");
  options.deps = {scratch};
  options.body = [this, scratch, memory](Launcher& on, const ProgramInputs& in) -> Values {
    const uint64_t need = 64 * static_cast<uint64_t>(in.key().tokens);
    if (in.workspace(0).bytes < need) {
      on.Fail(runtime().MoveWorkspace(scratch, {memory.base, need}));
    }
    return on.ok() ? DoubleBody(on, in) : Values();
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId library, runtime().AddProgram(options));
  std::vector<Key> keys;
  for (const int32_t tokens : kTokens) keys.push_back({.tokens = tokens});
  ASSERT_THAT(runtime().AddShapes(library, keys), IsOk());
  // With a budget the smaller ones come first, and are stale when the largest has run.
  const PlanResult result = MustRecord(MustPlan(64 * kMiB));
  EXPECT_EQ(result.recorded, std::size(kTokens));
  EXPECT_NEAR(result.estimate.workspaces.bytes, 64.0 * 32, 64.0 * 3);
  for (const int32_t tokens : kTokens) {
    EXPECT_EQ(StepWith(library, IdsFrom(1, tokens)), Why::kHit) << tokens;
  }
  // So is what an earlier plan has recorded.
  ASSERT_THAT(runtime().MoveWorkspace(scratch, {memory.base, 64}), IsOk());
  MustRecord(MustPlan(0, {{library, {.tokens = 1}}}));
  MustRecord(MustPlan(0));
  for (const int32_t tokens : kTokens) {
    EXPECT_EQ(StepWith(library, IdsFrom(1, tokens)), Why::kHit) << tokens;
  }
}

// The trees of a plan may hold fewer recordings than it has shapes: it knows that, and what it
// records stays.
TEST_P(PlanTest, ABudgetOfNodesIsForeseen) {
  for (const uint64_t nodes : {1, 2, 3, 5}) {
    for (const uint64_t budget : {uint64_t{0}, 300 * kMiB}) {
      for (const bool are_shared : {false, true}) {
        RuntimeOptions options;
        (are_shared ? options.shared.nodes : options.tree.budget.nodes) = nodes;
        Open(options);
        const ProgramId hungry = AddHungry("hungry");
        const RecordingPlan plan = MustPlan(budget);
        EXPECT_EQ(plan.order.size(), nodes);
        ASSERT_EQ(plan.left_out.size(), std::size(kTokens) - nodes);
        EXPECT_EQ(plan.left_out[0].why, LeftOut::kNodes);
        EXPECT_THAT(plan.left_out[0].words,
                    HasSubstr(absl::StrCat(are_shared ? "all trees of the device " : "may hold ",
                                           nodes)));
        const PlanResult result = MustRecord(plan);
        EXPECT_THAT(result.first_failure, IsOk());
        EXPECT_EQ(result.recorded, nodes);
        EXPECT_EQ(result.left_out.size(), std::size(kTokens) - nodes);
        EXPECT_EQ(runtime().tree()->stats().nodes, nodes);
        EXPECT_EQ(runtime().stats().recordings, nodes) << "nothing was recorded in vain";
        uint64_t hits = 0;
        const RecordingPlan again = MustPlan(budget);
        EXPECT_EQ(again.recorded.size(), nodes);
        EXPECT_TRUE(again.order.empty());
        for (const ShapeToRecord& shape : again.recorded) {
          hits += StepWith(hungry, IdsFrom(1, shape.key.tokens)) == Why::kHit;
        }
        EXPECT_EQ(hits, nodes);
      }
    }
  }
}

// What is recorded beside the plan stays, and what is wanted most comes first.
TEST_P(PlanTest, PlacesGoToWhatIsWantedAndOthersKeepTheirs) {
  RuntimeOptions options;
  options.tree.budget.nodes = 3;
  options.records_while_serving = false;
  Open(options);
  const ProgramId other = AddDouble({8}, "other");
  ASSERT_THAT(runtime().Record(other, a()), IsOk());
  const ProgramId hungry = AddHungry("hungry");
  for (int i = 0; i < 3; ++i) StepWith(hungry, IdsFrom(1, 2));
  std::vector<ShapeToRecord> shapes;
  for (const int32_t tokens : kTokens) shapes.push_back({hungry, {.tokens = tokens}});
  const PlanResult result = MustRecord(MustPlan(0, shapes));
  EXPECT_EQ(result.recorded, 2u);
  EXPECT_EQ(StepWith(other, IdsFrom(1, 8)), Why::kHit);
  EXPECT_EQ(StepWith(hungry, IdsFrom(1, 2)), Why::kHit);
  EXPECT_EQ(StepWith(hungry, IdsFrom(1, 32)), Why::kHit);
}

// A recording that goes while the plan is recorded is told as that, and the result is there.
TEST_P(PlanTest, WhatIsEvictedMeanwhileIsToldAndNothingIsLost) {
  RuntimeOptions options;
  options.tree.budget.nodes = 4;
  Open(options);
  const ProgramId hungry = AddHungry("hungry");
  const RecordingPlan plan = MustPlan(0, {{hungry, {.tokens = 8}}, {hungry, {.tokens = 16}}});
  ASSERT_EQ(plan.order.size(), 2u);
  // Others fill the tree after the plan was made, and are worth more.
  const ProgramId other = AddDouble({1, 2, 3, 4}, "other");
  ASSERT_THAT(runtime().Record(other, a()), IsOk());
  for (int i = 0; i < 20; ++i) {
    for (const int32_t tokens : {1, 2, 3, 4}) StepWith(other, IdsFrom(1, tokens));
  }
  int told = 0;
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       runtime().RecordPlan(plan, a(), [&](const PlanResult&) { ++told; }));
  EXPECT_EQ(told, 1);
  EXPECT_THAT(result.first_failure, IsOk());
  EXPECT_EQ(result.recorded + result.left_out.size(), 2u);
  for (const OmittedShape& omitted : result.left_out) {
    const bool is_for_nodes = omitted.why == LeftOut::kNodes || omitted.why == LeftOut::kEvicted;
    EXPECT_TRUE(is_for_nodes) << LeftOutName(omitted.why);
    EXPECT_THAT(omitted.words, HasSubstr("TreeBudget"));
  }
  EXPECT_FALSE(result.left_out.empty());
  ASSERT_NE(runtime().last_plan(), nullptr);
}

// Bodies that each move the workspace to where it is theirs: nothing can be done about that, and
// the result says so.
TEST_P(PlanTest, RecordingsThatStayStaleAreLeftOutAndTheResultIsThere) {
  ASSERT_OK_AND_ASSIGN(const DepId scratch, runtime().DeclareWorkspace("scratch", {}));
  const AddressRange memory = NewWords(64 * 16);
  ProgramOptions options = DoubleOptions("library");
  options.deps = {scratch};
  options.body = [this, scratch, memory](Launcher& on, const ProgramInputs& in) -> Values {
    const auto tokens = static_cast<uint64_t>(in.key().tokens);
    on.Fail(runtime().MoveWorkspace(scratch, {memory.base + 64 * tokens, 64}));
    return on.ok() ? DoubleBody(on, in) : Values();
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId library, runtime().AddProgram(options));
  ASSERT_THAT(runtime().AddShapes(library, {{.tokens = 4}, {.tokens = 8}}), IsOk());
  int told = 0;
  ASSERT_OK_AND_ASSIGN(
      const PlanResult result,
      runtime().RecordPlan(MustPlan(0), a(), [&](const PlanResult&) { ++told; }));
  EXPECT_EQ(told, 1);
  EXPECT_EQ(result.recorded, 1u);
  ASSERT_EQ(result.left_out.size(), 1u);
  EXPECT_EQ(result.left_out[0].why, LeftOut::kStale);
  EXPECT_THAT(result.first_failure,
              FailsWith(StatusCode::kFailedPrecondition, "moved or touched a dependency"));
}

// One device call of a whole plan fails: nothing is lost, and the same plan works afterwards.
void PlanWithAFault(FaultDevice& device) {
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
  Runtime& runtime = **made;
  ProgramOptions hungry;
  hungry.name = "hungry";
  hungry.slots = {{.name = "ids", .sizes = {64}, .rows = KeyField::kTokens}};
  hungry.body = HungryBody;
  const absl::StatusOr<ProgramId> program = runtime.AddProgram(hungry);
  if (!worked(program)) return;
  std::vector<Key> keys;
  for (const int32_t tokens : {1, 3, 5, 7}) keys.push_back({.tokens = tokens});
  ASSERT_THAT(runtime.AddShapes(*program, keys), IsOk());
  const uint64_t before = device.plan().fired();
  for (int attempt = 0; attempt < 2; ++attempt) {
    ASSERT_OK_AND_ASSIGN(const RecordingPlan plan, runtime.Plan({}, 32 * kMiB));
    const absl::StatusOr<PlanResult> result = runtime.RecordPlan(plan, **stream);
    if (worked(result) && result->left_out.empty()) break;
    EXPECT_EQ(attempt, 0) << (result.ok() ? result->first_failure : result.status());
    EXPECT_GT(device.plan().fired(), before);
  }
  for (const Key& key : keys) {
    ASSERT_OK_AND_ASSIGN(const Choice choice, runtime.Choose(*program, key));
    EXPECT_EQ(choice.why, Why::kHit) << ToString(key);
  }
}

TEST(PlanFaultTest, WhateverCallFailsThePlanWorksTheNextTime) {
  const uint64_t calls =
      ForEveryFailingCall([] { return *OpenHostDevice(); }, PlanWithAFault);
  EXPECT_GT(calls, 60u);
}

}  // namespace
}  // namespace graphtree
