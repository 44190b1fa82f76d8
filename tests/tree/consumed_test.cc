// Inputs that die inside the function: what it allocates behind that may take their place, in every
// state of the path, and nobody's bytes are lost by it.
#include <algorithm>
#include <utility>

#include "allocator/pool.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class ConsumedTest : public TreeTest {
 protected:
  // x -> 2x -> 4x, and x dies behind the first: the second may lie where x was.
  static Values DropEarly(Launcher& on, Values& inputs) {
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    inputs[0] = Value();
    return {Sum(on, twice, twice)};
  }
  void Open() {
    make_ = Register("make", {}, Twice);
    early_ = Register("early", {}, DropEarly);
  }

  FunctionId make_ = 0;
  FunctionId early_ = 0;
};
GRAPHTREE_ON_EVERY_DEVICE(ConsumedTest);

TEST_P(ConsumedTest, WhatIsAllocatedBehindItTakesItsPlace) {
  Open();
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    NewStep();
    Values made = Call(make_, {x});
    const Address place = made[0].word();
    Values out = Call(early_, std::move(made));
    EXPECT_EQ(out[0].word(), place) << "step " << step;
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 8)) << "step " << step;
    EXPECT_EQ(live(), 1u);
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(eager(), 0u);
}

// Somebody else holds it: its bytes stay, now and at later replays, by another recording.
TEST_P(ConsumedTest, WhatSomebodyHoldsIsNotTaken) {
  Open();
  const Tensor x = Given(1);
  for (const bool keep : {false, false, true, false, true, true, false}) {
    NewStep();
    Values made = Call(make_, {x});
    Value kept;
    if (keep) kept = made[0];
    Values out = Call(early_, std::move(made));
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 8));
    if (keep) {
      EXPECT_EQ(Read(kept), Times(PatternOf(1), 2));
    }
    Values more = Call(make_, {x});
    EXPECT_EQ(Read(more[0]), Times(PatternOf(1), 2));
    if (keep) {
      EXPECT_EQ(Read(kept), Times(PatternOf(1), 2));
    }
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 8));
  }
  EXPECT_EQ(eager(), 0u);
}

// The caller brings the bare address of a tensor that the recording consumes, as a part does that
// hands on one of another tree's. Nobody says who else has it, so nothing takes its place.
TEST_P(ConsumedTest, ABareAddressInItsPlaceIsNotTaken) {
  Open();
  const Tensor x = Given(1);
  for (int step = 0; step < 6; ++step) {
    NewStep();
    Values made = Call(make_, {x});
    if (step >= 3) {
      const Tensor bare = Tensor::Foreign(made[0].word(), made[0].layout());
      const Values out = Call(early_, {bare});
      EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 8)) << "step " << step;
      EXPECT_EQ(Read(made[0]), Times(PatternOf(1), 2)) << "step " << step;
    }
    Values out = Call(early_, std::move(made));
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 8)) << "step " << step;
  }
  EXPECT_GT(replays(), 0u);
}

// The same tensor twice dies with its last handle.
TEST_P(ConsumedTest, AnInputGivenTwiceDiesOnce) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId both = Register("both", {}, [](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[1]);
    inputs[0] = Value();
    const Tensor more = Sum(on, sum, inputs[1]);
    inputs[1] = Value();
    return Values{Sum(on, more, sum)};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    NewStep();
    Values made = Call(make, {x});
    made.push_back(made[0]);
    const Address place = made[0].word();
    Values out = Call(both, std::move(made));
    EXPECT_EQ(out[0].word(), place);
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 10)) << "step " << step;
  }
  EXPECT_EQ(eager(), 0u) << "nothing was written to an input, only where one was";
}

// Recorded with another tensor beside it: what died inside may not come in that one's place, where
// it would be read later, or handed out.
TEST_P(ConsumedTest, WhatDiedInsideDoesNotComeAsAnotherInputToo) {
  for (const uint64_t patch_bytes : {uint64_t{1}, kDefaultPatchBytes}) {
    OpenTree({.patch_bytes = patch_bytes});
    const FunctionId make = Register("make", {}, Twice);
    const FunctionId both = Register("both", {}, [](Launcher& on, Values& inputs) {
      const Tensor twice = Sum(on, inputs[0], inputs[0]);
      inputs[0] = Value();
      const Tensor in_its_place = Filled(on, 77, kWords);
      const Tensor late = Sum(on, inputs[1], twice);
      return Values{in_its_place, late, inputs[1]};
    });
    const Tensor x = Given(1), y = Given(2);
    for (const bool same : {false, false, false, true, false, true, true}) {
      NewStep();
      Values made = Call(make, {x});
      made.push_back(same ? made[0] : Value(y));
      const Words second = same ? Times(PatternOf(1), 2) : PatternOf(2);
      Values out = Call(both, std::move(made));
      EXPECT_EQ(Read(out[0]), PatternOf(77));
      EXPECT_EQ(Read(out[1]), Plus(second, Times(PatternOf(1), 4)));
      EXPECT_EQ(Read(out[2]), second);
    }
    EXPECT_EQ(eager(), 0u);
  }
}

// A view of it comes back: it lives, and is the same storage.
TEST_P(ConsumedTest, AnInputThatComesBackDoesNotDie) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId back = Register("back", {}, [](Launcher& on, Values& inputs) {
    const Tensor view = Slice(inputs[0], 4, 8);
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    inputs[0] = Value();
    return Values{view, Sum(on, twice, twice)};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    NewStep();
    Values made = Call(make, {x});
    const Storage* storage = made[0].storage();
    Values out = Call(back, std::move(made));
    EXPECT_EQ(out[0].storage(), storage);
    EXPECT_EQ(Read(out[0])[0], PatternOf(1)[4] * 2);
    EXPECT_EQ(Read(out[1]), Times(PatternOf(1), 8));
  }
  EXPECT_EQ(graphs(), 2u);
}

// The recording fails behind the input's death: the call has it again, with its bytes.
TEST_P(ConsumedTest, ARecordingThatFailsGivesItBack) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId waits = Register("waits", {}, [](Launcher& on, Values& inputs) {
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    inputs[0] = Value();
    const Tensor out = Sum(on, twice, twice);
    on.Fail(on.stream().Synchronize());
    return Values{out};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 4; ++step) {
    NewStep();
    Values out = Call(waits, Call(make, {x}));
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 8)) << "step " << step;
    EXPECT_EQ(live(), step == 0 ? 1u : 0u) << "an eager run's output is no part of the path";
  }
  EXPECT_EQ(reasons(Reason::kForbiddenCall), 3u);
}

// A long chain in which everything dies early needs the room of two, however long it is.
TEST_P(ConsumedTest, AChainNeedsTheRoomOfTwo) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId next = Register("next", {}, DropEarly);
  const Tensor x = Given(1, 1 << 16);
  uint64_t peak = 0;
  for (int step = 0; step < 4; ++step) {
    NewStep();
    Values value = Call(make, {x});
    uint32_t factor = 2;
    Address lowest = value[0].word(), highest = lowest;
    for (int i = 0; i < 8; ++i) {
      value = Call(next, std::move(value));
      factor *= 4;
      lowest = std::min(lowest, value[0].word());
      highest = std::max(highest, value[0].word());
    }
    EXPECT_EQ(Read(value[0]), Times(Pattern(1, 1 << 16), factor)) << "step " << step;
    EXPECT_EQ(lowest, highest);
    peak = tree().pool().Stats().peak_live_bytes;
  }
  EXPECT_LE(peak, 3u * (4 << 16)) << "x itself is copied in";
}

// A recording that takes its inputs at any address: the one that died when it was recorded may be
// the one that comes back as an output now.
TEST_P(ConsumedTest, AnInputThatComesBackHasNotDied) {
  TreeOptions options;
  options.patch_bytes = 1;
  OpenTree(options);
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId other = Register("other", {}, Thrice);
  const FunctionId pass = Register("pass", {}, [](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[1]);
    return Values{inputs[1], sum};
  });
  const FunctionId after = Register("after", {}, Twice);
  const Tensor x = Given(1);
  for (int step = 0; step < 8; ++step) {
    NewStep();
    Values first = Call(make, {x}), second = Call(other, {x});
    const bool swapped = step % 3 == 1;
    Values out = swapped ? Call(pass, Gathered(std::move(second[0]), std::move(first[0])))
                         : Call(pass, Gathered(std::move(first[0]), std::move(second[0])));
    if (step % 2 == 1) Read(Call(step > 4 ? other : after, {x})[0]);
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), swapped ? 2 : 3)) << "step " << step;
    EXPECT_EQ(Read(out[1]), Times(PatternOf(1), 5)) << "step " << step;
  }
  EXPECT_GT(replays(), 0u);
}

}  // namespace
}  // namespace graphtree
