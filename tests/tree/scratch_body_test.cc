// Scratch in a body that is warmed up, recorded and replayed: it takes nothing from what is alive
// then, in this step or a later one. scratch_test.cc has bodies that are not recorded, and parts.
#include <initializer_list>
#include <utility>
#include <vector>

#include "allocator/snapshot_nodes.h"
#include "tests/kernels/kernels.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class ScratchInABodyTest : public TreeTest {
 protected:
  static constexpr uint64_t kScratchBytes = kWords * sizeof(uint32_t);

  // An op that writes all of its scratch, with more of it beside that it leaves alone. None of it
  // lies over what the body has then.
  void SpoilScratch(Launcher& on, std::initializer_list<const Tensor*> alive) {
    const Tensor spoilt = on.Scratch(kScratchBytes), beside = on.Scratch(kScratchBytes);
    if (!on.ok()) return;
    EXPECT_FALSE(spoilt.raw_bytes().Overlaps(beside.raw_bytes()));
    for (const Tensor* tensor : alive) {
      EXPECT_FALSE(spoilt.raw_bytes().Overlaps(tensor->raw_bytes()));
      EXPECT_FALSE(beside.raw_bytes().Overlaps(tensor->raw_bytes()));
    }
    places_.push_back(spoilt.raw_bytes());
    const uint32_t seed = 77, count = kWords;
    on.Launch(FillPatternKernel(), TestShape(), {Out(spoilt), Val(seed), Val(count)});
  }
  // x -> 2x, 3x. Scratch is taken before there is anything, beside all that there is, where
  // something has died, and after all.
  Values Body(Launcher& on, Values& inputs) {
    ++runs_;
    places_.clear();
    SpoilScratch(on, {});
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    Tensor between = Filled(on, 5, kWords);
    SpoilScratch(on, {&twice, &between});
    between = Tensor();
    SpoilScratch(on, {&twice});
    const Tensor thrice = Sum(on, twice, inputs[0]);
    SpoilScratch(on, {&twice, &thrice});
    return {twice, thrice};
  }
  FunctionId RegisterUser(FunctionOptions options) {
    return Register("scratches", std::move(options),
                    [this](Launcher& on, Values& inputs) { return Body(on, inputs); });
  }
  void ExpectResults(const Values& out, uint32_t seed) {
    EXPECT_EQ(Read(out[0]), Times(PatternOf(seed), 2)) << "seed " << seed;
    EXPECT_EQ(Read(out[1]), Times(PatternOf(seed), 3)) << "seed " << seed;
  }

  int runs_ = 0;
  std::vector<AddressRange> places_;  // of the scratch that the last run of the body spoilt
};
GRAPHTREE_ON_EVERY_DEVICE(ScratchInABodyTest);

// Held all around it: outputs of the path before it, of an eager run, kept ones of earlier steps.
// In its warm-up, its recording and its replays the scratch takes none of them, and none of what
// runs after it.
TEST_P(ScratchInABodyTest, WhatIsAliveIsLeftAloneInEveryRun) {
  const FunctionId before = Register("before", {}, Thrice);
  const FunctionId eagerly = Register("eagerly", {.exclude = true}, Thrice);
  const FunctionId keeps = Register("keeps", {.kept_outputs = {0}}, Thrice);
  const FunctionId after = Register("after", {}, Thrice);
  const FunctionId function = RegisterUser({});
  const Tensor x = Given(9);
  const Values kept = CallInSteps(1, keeps, {x});
  for (uint32_t step = 1; step <= 5; ++step) {
    NewStep();
    const Values outside = Call(eagerly, {Given(10 + step)});
    const Values first = Call(before, {Given(20 + step)});
    const Values out = Call(function, {Given(step)});
    const Values last = Call(after, {Given(30 + step)});
    ExpectResults(out, step);
    EXPECT_EQ(Read(outside[0]), Times(PatternOf(10 + step), 3)) << "step " << step;
    EXPECT_EQ(Read(first[0]), Times(PatternOf(20 + step), 3)) << "step " << step;
    EXPECT_EQ(Read(last[0]), Times(PatternOf(30 + step), 3)) << "step " << step;
    EXPECT_EQ(Read(kept[0]), Times(PatternOf(9), 3)) << "step " << step;
  }
  EXPECT_EQ(runs_, 2) << "warmed up and recorded";
  EXPECT_EQ(graphs(), 3u);
  EXPECT_EQ(replays(), 9u);
}

// It is the recording's own memory, for whoever looks.
TEST_P(ScratchInABodyTest, TheRecordingTellsOfIt) {
  CallInSteps(2, RegisterUser({}), {Given(1)});
  const std::vector<SnapshotNode> nodes = tree().memory_of_nodes();
  ASSERT_EQ(nodes.size(), 1u);
  ASSERT_FALSE(places_.empty());
  for (const AddressRange place : places_) {
    bool is_told = false;
    for (const AddressRange range : nodes[0].ranges) is_told |= range.Contains(place);
    EXPECT_TRUE(is_told);
  }
}

// Something that was dead when the function was recorded, where its scratch may lie, is held in a
// later step: its recording does not fit there.
TEST_P(ScratchInABodyTest, WhatIsHeldInALaterStepIsLeftAloneToo) {
  const FunctionId pair = Register("pair", {}, [](Launcher& on, Values& inputs) {
    return Values{Sum(on, inputs[0], inputs[0]), Thrice(on, inputs)[0]};
  });
  const FunctionId function = RegisterUser({});
  const Tensor x = Given(1);
  for (const bool holds_both : {false, false, false, true, true, true, false}) {
    NewStep();
    Values made = Call(pair, {x});
    if (!holds_both) made.pop_back();
    ExpectResults(Call(function, {Given(3)}), 3);
    EXPECT_EQ(Read(made[0]), Times(PatternOf(1), 2));
    if (holds_both) {
      EXPECT_EQ(Read(made[1]), Times(PatternOf(1), 3));
    }
  }
  EXPECT_EQ(graphs(), 3u);
  EXPECT_EQ(reasons(Reason::kLivenessDiffers), 1u);
  EXPECT_EQ(eager(), 0u);
}

// An input that dies inside makes room for scratch, in a recording as in a warm-up; a replay has
// read it by then.
TEST_P(ScratchInABodyTest, AnInputThatDiesInside) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId function = Register("eats", {}, [this](Launcher& on, Values& inputs) {
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    inputs[0] = Value();
    SpoilScratch(on, {&twice});
    return Values{twice};
  });
  for (uint32_t step = 1; step <= 5; ++step) {
    NewStep();
    EXPECT_EQ(Read(Call(function, Call(make, {Given(step)}))[0]), Times(PatternOf(step), 4));
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(replays(), 6u);
}

// Each op has its scratch in turn: many of them need the room of one.
TEST_P(ScratchInABodyTest, ItIsPlacedAgainForEveryOp) {
  constexpr int kOps = 40;
  OpenTree({.pool_bytes = 4 * granularity()});
  const uint64_t bytes = granularity();
  const FunctionId function = Register("often", {}, [&](Launcher& on, Values& inputs) {
    for (int i = 0; i < kOps; ++i) {
      const Tensor scratch = on.Scratch(bytes);
      const uint32_t seed = 7, count = kWords;
      on.Launch(FillPatternKernel(), TestShape(), {Out(scratch), Val(seed), Val(count)});
    }
    return Twice(on, inputs);
  });
  for (uint32_t step = 1; step <= 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {Given(step)})[0]), Times(PatternOf(step), 2));
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 2u);
  EXPECT_EQ(eager(), 0u);
  EXPECT_EQ(tree().OpsOf(0)->size(), kOps + 2u) << "and the copy of the input";
}

// More than there is fails the call that asks, by name, and the next one is as if nothing had been.
TEST_P(ScratchInABodyTest, MoreThanThereIs) {
  OpenTree({.pool_bytes = 2 * granularity()});
  bool wants_much = false;
  const FunctionId function = Register("wants", {}, [&](Launcher& on, Values& inputs) {
    const Tensor scratch = on.Scratch(wants_much ? 3 * granularity() : kScratchBytes);
    const uint32_t seed = 7, count = kWords;
    on.Launch(FillPatternKernel(), TestShape(), {Out(scratch), Val(seed), Val(count)});
    return Twice(on, inputs);
  });
  const Tensor x = Given(1);
  for (int runs = 0; runs < 2; ++runs) {
    wants_much = true;
    NewStep();
    EXPECT_THAT(Refusal(function, {x}),
                FailsWith(absl::StatusCode::kResourceExhausted, "'wants'"));
    wants_much = false;
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(Read(CallInSteps(4, function, {x})[0]), Times(PatternOf(1), 2));
  EXPECT_GT(replays(), 0u);
}

}  // namespace
}  // namespace graphtree
