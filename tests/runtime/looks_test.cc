// Bodies that look into their runtime: each at what the others hold, while these look back. And
// those that change what all lanes have.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/explain.h"
#include "runtime/metrics.h"
#include "runtime/plan/ledger.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

class LooksTest : public RuntimeTest {
 protected:
  using Look = std::function<void()>;

  // Both bodies are in their trees, then both look, and neither returns before the other has.
  ProgramId AddLooking(uint32_t lane, const Look& look) {
    ProgramOptions options = DoubleOptions("lane " + std::to_string(lane));
    options.lane = lane;
    options.body = [this, &look](Launcher& on, const ProgramInputs& in) {
      if (meets_) {
        Meet(&inside_, 2);
        look();
        Meet(&looked_, 2);
      }
      return DoubleBody(on, in);
    };
    const absl::StatusOr<ProgramId> program = runtime().AddProgram(std::move(options));
    EXPECT_THAT(program, IsOk());
    return *program;
  }
  static void Meet(std::atomic<int>* met, int all) {
    ++*met;
    while (*met < all) std::this_thread::yield();
  }
  absl::Status RunOnce(ProgramId program, Stream& stream) {
    absl::StatusOr<Step> step = runtime().Begin(program, {.tokens = 1}, stream);
    if (!step.ok()) return step.status();
    Values outputs;
    const absl::Status status = step->Stage(0, 7.0);
    return status.ok() ? step->Run(&outputs) : status;
  }
  void RunBoth(const Look& look) {
    OpenRuntime({});
    ASSERT_OK_AND_ASSIGN(weights_, runtime().DeclareDep("weights"));
    ASSERT_OK_AND_ASSIGN(scratch_, runtime().DeclareWorkspace("scratch", kSmall));
    const std::vector<ProgramId> programs = {AddLooking(0, look), AddLooking(1, look)};
    meets_ = false;
    ASSERT_THAT(RunOnce(programs[0], a()), IsOk());
    ASSERT_THAT(RunOnce(programs[1], b()), IsOk());
    before_ = runtime().metrics();
    ledger_before_ = runtime().ledger();
    runtime().Explain({});
    meets_ = true;
    inside_ = looked_ = 0;
    absl::Status other;
    std::atomic<bool> is_over{false};
    std::thread guard([&] { EndAfterHalfAMinute(is_over); });
    std::thread second([&] { other = RunOnce(programs[1], b()); });
    EXPECT_THAT(RunOnce(programs[0], a()), IsOk());
    second.join();
    is_over = true;
    guard.join();
    EXPECT_THAT(other, IsOk());
  }

  // Nobody reads there.
  static constexpr AddressRange kSmall = {4096, 64};
  static constexpr AddressRange kLarge = {4096, 128};

  DepId weights_;
  DepId scratch_;
  std::atomic<bool> meets_{false};
  std::atomic<int> inside_{0};
  std::atomic<int> looked_{0};
  Metrics before_;
  MemoryLedger ledger_before_;
};
GRAPHTREE_ON_EVERY_DEVICE(LooksTest);

TEST_P(LooksTest, MetricsOfALaneThatIsInAStepAreThoseOfTheLastLook) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  std::atomic<int> from_before{0};
  RunBoth([&] {
    const Metrics metrics = runtime().metrics();
    ASSERT_EQ(metrics.lanes.size(), 2u);
    for (const LaneMetrics& lane : metrics.lanes) {
      if (!lane.is_from_before) continue;
      ++from_before;
      EXPECT_TRUE(lane.now.has_value());
      // Its own body may be who looked last.
      EXPECT_GE(lane.tree.calls, before_.lanes[lane.lane].tree.calls);
      EXPECT_GE(lane.pool.mapped_bytes, before_.lanes[lane.lane].pool.mapped_bytes);
      EXPECT_GT(lane.pool.mapped_bytes, 0u);
    }
  });
  EXPECT_EQ(from_before, 2) << "each sees the other's so, and its own as it is";
}

TEST_P(LooksTest, SoAreItsRowsOfTheLedger) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  std::atomic<int> from_before{0};
  RunBoth([&] {
    const MemoryLedger ledger = runtime().ledger();
    ASSERT_EQ(ledger.lanes.size(), 2u);
    for (const LaneLedger& lane : ledger.lanes) {
      if (!lane.is_from_before) continue;
      ++from_before;
      EXPECT_GT(lane.mapped(), 0u);
      EXPECT_EQ(lane.mapped(), ledger_before_.lanes[lane.number].mapped());
    }
  });
  EXPECT_EQ(from_before, 2);
}

TEST_P(LooksTest, SoIsWhatExplainSaysOfItsTree) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  std::atomic<int> from_before{0};
  RunBoth([&] {
    const Explanation explanation = runtime().Explain({});
    ASSERT_EQ(explanation.trees.size(), 2u);
    for (const ExplainedTree& tree : explanation.trees) {
      from_before += tree.is_from_before;
      EXPECT_FALSE(tree.functions.empty());
    }
    EXPECT_NE(runtime().DebugJson().find("\"trees\""), std::string::npos);
  });
  EXPECT_EQ(from_before, 2);
}

// Each would wait for the other's lane.
TEST_P(LooksTest, NoBodyTouchesWhatAnotherThreadsLaneHas) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  std::atomic<int> refused{0};
  RunBoth([&] {
    const absl::Status said = runtime().Touch(weights_);
    refused += !said.ok();
    EXPECT_THAT(said, FailsWith(absl::StatusCode::kFailedPrecondition,
                                "'weights' was touched by a body while another thread is in a "
                                "call of lane"));
  });
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(runtime().touches(), 0u);
  EXPECT_THAT(runtime().Touch(weights_), IsOk());
}

TEST_P(LooksTest, NoBodyMovesItEither) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  std::atomic<int> refused{0};
  RunBoth([&] {
    const absl::Status said = runtime().MoveWorkspace(scratch_, kLarge);
    refused += !said.ok();
    EXPECT_THAT(said, FailsWith(absl::StatusCode::kFailedPrecondition,
                                "'scratch' was moved by a body while another thread is in a call "
                                "of lane"));
  });
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(runtime().touches(), 0u);
  EXPECT_THAT(runtime().MoveWorkspace(scratch_, kLarge), IsOk());
}

// One of the two runs a function beside the programs, which no step of the runtime's has called.
TEST_P(LooksTest, ABodyBesideProgramsIsInItsLaneToo) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  std::atomic<int> from_before{0}, refused{0};
  const Look look = [&] {
    for (const LaneMetrics& lane : runtime().metrics().lanes) from_before += lane.is_from_before;
    refused += !runtime().Touch(weights_).ok();
  };
  OpenRuntime({});
  ASSERT_OK_AND_ASSIGN(weights_, runtime().DeclareDep("weights"));
  AddDouble({4});
  const ProgramId program = AddLooking(1, look);
  const FunctionId beside =
      runtime().tree(0)->Register("beside", {}, [&](Launcher& on, Values&) -> Values {
        const Tensor out = on.Empty(DType::kU8, {64});
        if (!on.ok()) return {};
        on.Fill(out, 1);
        Meet(&inside_, 2);
        look();
        Meet(&looked_, 2);
        return {out};
      });
  meets_ = true;
  absl::Status other;
  std::atomic<bool> is_over{false};
  std::thread guard([&] { EndAfterHalfAMinute(is_over); });
  std::thread second([&] { other = RunOnce(program, b()); });
  EXPECT_THAT(runtime().tree(0)->Run(beside, Values{}, a()).status(), IsOk());
  second.join();
  is_over = true;
  guard.join();
  EXPECT_THAT(other, IsOk());
  EXPECT_EQ(from_before, 2);
  EXPECT_EQ(refused, 2);
}

// An object that a recording has kept alive looks as it ends, on the thread of a lane that has
// another one give the recording up; at the same time the body of a third lane looks.
TEST_P(LooksTest, AnObjectOfARecordingThatIsGivenUpLooks) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  RuntimeOptions limited;
  limited.shared = {.nodes = 3};
  OpenRuntime(limited);
  std::atomic<bool> ends{false};
  std::atomic<int> looks{0};
  const Look look = [&] {
    Meet(&inside_, 2);
    runtime().metrics();
    ++looks;
  };
  using Hook = std::function<void(Launcher&)>;
  const auto add = [&](uint32_t lane, const std::vector<Key>& keys, Hook hook) {
    ProgramOptions options = DoubleOptions("lane " + std::to_string(lane));
    options.lane = lane;
    options.body = [hook](Launcher& on, const ProgramInputs& in) {
      hook(on);
      return DoubleBody(on, in);
    };
    const absl::StatusOr<ProgramId> program = runtime().AddProgram(std::move(options));
    EXPECT_THAT(program, IsOk());
    EXPECT_THAT(runtime().AddShapes(*program, keys), IsOk());
    return *program;
  };
  const ProgramId small = add(0, {{.tokens = 1}}, [](Launcher&) {});
  const ProgramId hog =
      add(1, {{.tokens = 1}, {.tokens = 2}, {.tokens = 3}}, [&](Launcher& on) {
        on.KeepAlive(std::shared_ptr<void>(nullptr, [&](void*) {
          if (ends.exchange(false)) look();
        }));
      });
  const ProgramId looking = add(2, {}, [&](Launcher&) { look(); });
  // On a stream of its own: what is given up ends once the work there is over.
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> own, device().NewStream());
  ASSERT_THAT(runtime().Record(hog, *own), IsOk());
  ASSERT_THAT(own->Synchronize(), IsOk());
  ends = true;
  absl::Status other;
  std::atomic<bool> is_over{false};
  std::thread guard([&] { EndAfterHalfAMinute(is_over); });
  std::thread second([&] { other = RunOnce(looking, b()); });
  for (int step = 0; step < 6 && looks < 2; ++step) EXPECT_THAT(RunOnce(small, a()), IsOk());
  second.join();
  is_over = true;
  guard.join();
  EXPECT_THAT(other, IsOk());
  EXPECT_EQ(looks, 2);
  CloseRuntime();  // what is left of the recordings ends now
}

// Who is in no body waits for the step that runs, and is told what is so then.
TEST_P(LooksTest, WhoIsInNoBodyWaits) {
  if (!GetParam().concurrent) GTEST_SKIP() << "one thread at a time";
  OpenRuntime({});
  std::atomic<bool> is_inside{false};
  std::atomic<bool> is_about_to_look{false};
  const Look look = [&] {
    is_inside = true;
    while (!is_about_to_look) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  };
  ProgramOptions options = DoubleOptions();
  options.body = [&](Launcher& on, const ProgramInputs& in) {
    look();
    return DoubleBody(on, in);
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(std::move(options)));
  absl::Status other;
  std::thread second([&] { other = RunOnce(program, b()); });
  while (!is_inside) std::this_thread::yield();
  is_about_to_look = true;
  const Metrics metrics = runtime().metrics();
  second.join();
  EXPECT_THAT(other, IsOk());
  EXPECT_FALSE(metrics.lanes[0].is_from_before);
  EXPECT_EQ(metrics.lanes[0].tree.calls, 1u);
}

}  // namespace
}  // namespace graphtree
