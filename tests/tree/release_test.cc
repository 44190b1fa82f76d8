// What the newest release of the peer asks for and no other file has: steps of a tree's own,
// functions that launch nothing, counters that add up, and nothing taken before a call is chosen.
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class ReleaseTest : public TreeTest {};
GRAPHTREE_ON_EVERY_DEVICE(ReleaseTest);

// One server thread per model: the end of one model's step is no business of the other's.
TEST_P(ReleaseTest, StepsBelongToATree) {
  const FunctionId twice = Register("twice", {}, Twice);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tree> other, Tree::Create(device(), {}));
  const FunctionId thrice = other->Register("thrice", {}, Thrice);
  const Tensor x = Given(1);
  for (int step = 0; step < 4; ++step) {
    other->BeginStep();
    ASSERT_OK_AND_ASSIGN(Values held, other->Run(thrice, {x}, a()));
    for (int mine = 0; mine < 3; ++mine) {
      Values out = CallInSteps(1, twice, {x});
      EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
    }
    EXPECT_EQ(Read(held[0]), Times(PatternOf(1), 3));
    ASSERT_OK_AND_ASSIGN(Values again, other->Run(thrice, {held[0]}, a()));
    EXPECT_EQ(Read(again[0]), Times(PatternOf(1), 9)) << "its step has not ended";
  }
  EXPECT_GT(other->stats().replays, 0u);
}

// It has a place in the tree, its aliases have a life, and a replay of it calls no device.
TEST_P(ReleaseTest, AFunctionThatLaunchesNothingIsANodeWithoutAnExecutable) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId view = Register("view", {}, [](Launcher&, Values& inputs) {
    return Values{Slice(inputs[0], 4, 8), Value::Integer(7)};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    NewStep();
    Values made = Call(make, {x});
    Values seen = Call(view, Gathered(std::move(made[0])));
    made.clear();
    EXPECT_EQ(live(), 1u) << "the view holds what it looks into";
    const Words whole = Times(PatternOf(1), 2);
    EXPECT_EQ(Read(seen[0]), Words(whole.begin() + 4, whole.begin() + 12));
    EXPECT_EQ(seen[1].integer(), 7);
    seen.clear();
    EXPECT_EQ(live(), 0u);
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(tree().stats().nodes, 2u);
  EXPECT_EQ(tree().stats().executables, 1u);
  EXPECT_EQ(replays(), 6u);
}

// Every call is a replay, a recording, a warm-up or an eager run, and every eager run has a reason.
TEST_P(ReleaseTest, CountersAddUp) {
  OpenTree({.rerecord_limit = 2});
  const FunctionId twice = Register("twice", {}, Twice);
  const FunctionId never = Register("never", {.exclude = true}, Twice);
  const FunctionId writes = Register("writes", {.moving = Moving::kCopy},
                                     [](Launcher& on, Values& inputs) {
                                       Bump(on, inputs[0], 1);
                                       return Values{};
                                     });
  const FunctionId listed = Register("listed", {.recorded_sizes = {{1}}}, Twice);
  const FunctionId waits = Register("waits", {}, [](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[0]);
    on.Fail(on.stream().Synchronize());
    return Values{sum};
  });
  for (uint32_t step = 0; step < 6; ++step) {
    for (const FunctionId function : {twice, never, writes, listed, waits}) {
      CallInSteps(1, function, {Given(step)});
    }
  }
  const TreeStats stats = tree().stats();
  EXPECT_EQ(stats.calls, 30u);
  EXPECT_EQ(stats.replays + stats.recordings + stats.warm_ups + stats.eager, stats.calls);
  uint64_t eager_reasons = 0;
  for (const Reason reason :
       {Reason::kExcluded, Reason::kMutatedInput, Reason::kSizeNotListed, Reason::kForbiddenCall,
        Reason::kPaused, Reason::kRecordFailed}) {
    eager_reasons += reasons(reason);
  }
  EXPECT_EQ(eager_reasons, stats.eager);
  EXPECT_EQ(reasons(Reason::kExcluded), 6u);
  EXPECT_EQ(reasons(Reason::kSizeNotListed), 6u);
  for (const std::string& warning : warnings()) EXPECT_GT(warning.size(), 20u) << warning;
}

// An output that a candidate expects to be dead is held: another recording, and the call's own
// inputs are its caller's until one is chosen.
TEST_P(ReleaseTest, ASurvivorIsAMissAndInputsAreIntactUntilANodeIsChosen) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId use = Register("use", {}, ConsumeTwice);
  const Tensor x = Given(1);
  Value survivor;
  for (int step = 0; step < 6; ++step) {
    survivor = Value();
    NewStep();
    Values made = Call(make, {x});
    if (step == 4) survivor = made[0];
    Values out = Call(use, Gathered(std::move(made[0])));
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 4));
    if (step == 4) {
      EXPECT_EQ(Read(survivor), Times(PatternOf(1), 2)) << "it was not written over";
    }
  }
  EXPECT_EQ(graphs(), 3u);
  EXPECT_EQ(reasons(Reason::kConsumerDiffers) + reasons(Reason::kLivenessDiffers), 1u);
  EXPECT_EQ(eager(), 0u);
}

}  // namespace
}  // namespace graphtree
