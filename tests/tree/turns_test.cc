// Recordings whose addresses alternate: two executables take turns, and nothing is patched.
#include <utility>
#include <vector>

#include "device/observer.h"
#include "tests/kernels/launches.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

// Which executables were made, destroyed and launched.
class Launches : public Observer {
 public:
  void Saw(const GraphEvent& event) override {
    if (event.moment == GraphMoment::kReplayBegin) launched.push_back(event.executable);
    if (event.moment == GraphMoment::kInstantiate) ++made;
    if (event.moment == GraphMoment::kDestroy) ++destroyed;
  }
  std::vector<const Executable*> launched;
  int made = 0;
  int destroyed = 0;
};

class TurnsTest : public TreeTest {
 protected:
  void SetUp() override {
    TreeTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) OpenTree({.patch_bytes = 1});
  }
  uint64_t spares() { return tree().stats().spares; }
  uint64_t executables() { return tree().stats().executables; }

  FunctionId RegisterKeeping() {
    FunctionOptions options;
    options.kept_outputs = {0};
    return Register("keeps", options, [](Launcher& on, Values& inputs) {
      const Tensor sum = Sum(on, inputs[0], inputs[0]);
      return Values{sum, Sum(on, sum, inputs[0])};
    });
  }
  // Steps of which each holds the kept output of the one before.
  void Keep(FunctionId function, int steps) {
    for (int step = 0; step < steps; ++step) {
      NewStep();
      Values out = Call(function, {x_});
      EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
      EXPECT_EQ(Read(out[1]), Times(PatternOf(1), 3));
      if (!held_.is_none()) {
        EXPECT_EQ(Read(held_), Times(PatternOf(1), 2)) << "of the last step";
      }
      held_ = std::move(out[0]);
    }
  }
  void TearDown() override {
    held_ = Value();
    x_ = Tensor();
    TreeTest::TearDown();
  }

  Tensor x_;
  Value held_;
};
GRAPHTREE_ON_EVERY_DEVICE(TurnsTest);

TEST_P(TurnsTest, AKeptOutputThatIsHeldForAStep) {
  const FunctionId keeps = RegisterKeeping();
  x_ = Given(1);
  Keep(keeps, 10);
  ASSERT_EQ(spares(), 1u);
  EXPECT_EQ(executables(), 2u);
  Launches seen;
  tree().observers().Join(&seen);
  Keep(keeps, 6);
  tree().observers().Leave(&seen);
  ASSERT_EQ(seen.launched.size(), 6u);
  EXPECT_NE(seen.launched[0], seen.launched[1]);
  for (size_t i = 2; i < 6; ++i) EXPECT_EQ(seen.launched[i], seen.launched[i - 2]);
  EXPECT_EQ(spares(), 1u);
  EXPECT_EQ(graphs(), 1u);
}

TEST_P(TurnsTest, BuffersOfTwoAndThenOfThree) {
  const FunctionId add = Register("add", {}, AddBoth);
  const Tensor places[] = {Given(0), Given(1), Given(2)};
  const Tensor other = Given(9);
  for (uint32_t step = 0; step < 40; ++step) {
    const uint32_t place = step < 15 ? step % 2 : step < 30 ? step % 3 : step * step % 5 % 3;
    Values out = CallInSteps(1, add, {places[place], other});
    EXPECT_EQ(Read(out[0]), Plus(PatternOf(place), PatternOf(9))) << "step " << step;
    if (step == 14) {
      EXPECT_EQ(spares(), 1u);
    }
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(spares(), 1u);
}

TEST_P(TurnsTest, ThreePlacesInTurnAreNoReasonForOne) {
  const FunctionId add = Register("add", {}, AddBoth);
  const Tensor places[] = {Given(0), Given(1), Given(2)};
  for (uint32_t step = 0; step < 20; ++step) CallInSteps(1, add, {places[step % 3], places[0]});
  EXPECT_EQ(spares(), 0u);
  EXPECT_EQ(executables(), 1u);
}

TEST_P(TurnsTest, NeverWhereTheOptionsSaySo) {
  OpenTree({.patch_bytes = 1, .spare_after = 0});
  const FunctionId keeps = RegisterKeeping();
  x_ = Given(1);
  Keep(keeps, 30);
  EXPECT_EQ(spares(), 0u);
}

// What is copied, drawn and copied out belongs to each of the two.
TEST_P(TurnsTest, EachHasItsOwnTables) {
  OpenTree({.patch_bytes = kWords * 8, .spare_after = 1});
  FunctionOptions options;
  options.kept_outputs = {0};
  const FunctionId mixes = Register("mixes", options, [](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], Slice(inputs[1], 0, kWords));
    if (!on.ok()) return Values{};
    on.Fail(Increment(on.stream(), sum.raw_bytes(), 1));  // hidden: the output is copied out
    return Values{sum};
  });
  const Tensor large[] = {Given(0, 2 * kWords), Given(1, 2 * kWords)};
  const Tensor small[] = {Given(4), Given(5), Given(6)};
  Value held;
  // The large one alternates; the small one and the output's place rest for some steps each.
  for (uint32_t step = 0; step < 48; ++step) {
    NewStep();
    const uint32_t rests = step < 3 ? 0 : 1 + step / 5 % 2;
    Values out = Call(mixes, {small[rests], large[step % 2]});
    const Words words = Plus(Plus(PatternOf(4 + rests), PatternOf(step % 2)), Words(kWords, 1));
    EXPECT_EQ(Read(out[0]), words) << "step " << step;
    if (step % 7 == 0) held = std::move(out[0]);
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(tree().stats().patched_inputs, 1u);
  EXPECT_EQ(tree().stats().copied_inputs, 1u);
  EXPECT_EQ(spares(), 1u);
}

TEST_P(TurnsTest, ItTakesNoRoomFromAnything) {
  OpenTree({.patch_bytes = 1, .budget = {.executables = 1}});
  const FunctionId keeps = RegisterKeeping();
  x_ = Given(1);
  Keep(keeps, 30);
  EXPECT_EQ(executables(), 1u);
  EXPECT_EQ(spares(), 0u);

  OpenTree({.patch_bytes = 1, .budget = {.executables = 2}});
  held_ = Value();
  const FunctionId again = RegisterKeeping();
  Keep(again, 10);
  EXPECT_EQ(executables(), 2u);
  Launches seen;
  tree().observers().Join(&seen);
  const FunctionId other = Register("other", {}, Twice);
  for (int step = 0; step < 3; ++step) {
    Keep(again, 1);
    Values out = Call(other, {x_});
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
  }
  tree().observers().Leave(&seen);
  EXPECT_EQ(executables(), 2u) << "one of each";
  EXPECT_EQ(reasons(Reason::kSpareDropped), 1u);
  EXPECT_EQ(reasons(Reason::kExecutableEvicted), 0u) << "the path that they are on has both";
  EXPECT_EQ(seen.made, 1);
  EXPECT_EQ(seen.destroyed, 1);
  Keep(again, 10);
  EXPECT_EQ(spares(), 1u);
}

TEST_P(TurnsTest, BothGoAndOneComesBack) {
  OpenTree({.patch_bytes = 1, .budget = {.executables = 3}});
  const FunctionId keeps = RegisterKeeping();
  x_ = Given(1);
  Keep(keeps, 10);
  ASSERT_EQ(executables(), 2u);
  std::vector<FunctionId> others;
  for (int i = 0; i < 4; ++i) others.push_back(Register("other", {}, Twice));
  for (int round = 0; round < 2; ++round) {
    for (const FunctionId other : others) CallInSteps(2, other, {x_});
  }
  Keep(keeps, 10);
  EXPECT_LE(executables(), 3u);
  EXPECT_GT(tree().stats().instantiated_again, 0u);
}

TEST_P(TurnsTest, ClosingTellsOfBoth) {
  Launches seen;
  tree().observers().Join(&seen);
  const FunctionId keeps = RegisterKeeping();
  x_ = Given(1);
  Keep(keeps, 10);
  EXPECT_EQ(seen.made, 2);
  held_ = Value();
  CloseTree();
  EXPECT_EQ(seen.destroyed, 2);
}

}  // namespace
}  // namespace graphtree
