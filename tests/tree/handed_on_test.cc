// An output that a body stores, and that another body takes from there and returns: a replay runs
// neither, so between the two nobody holds it.
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class HandedOnTest : public TreeTest {
 protected:
  void SetUp() override {
    TreeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    RegisterAll();
  }
  void TearDown() override {
    stored_ = Value();
    TreeTest::TearDown();
  }
  void RegisterAll() {
    make_ = Register("make", {}, Twice);
    store_ = Register("store", {}, [this](Launcher&, Values& inputs) {
      stored_ = inputs[0];
      return Values{};
    });
    take_ = Register("take", {}, [this](Launcher& on, Values&) {
      const bool is_good = Tensor::From(stored_).bytes().ok();
      const Tensor taken = is_good ? Tensor::From(stored_) : Filled(on, kOwnSeed, kWords);
      Bump(on, taken, 1);
      return Values{taken};
    });
    other_ = Register("other", {}, Thrice);
    fail_ = Register("fail", {}, [](Launcher& on, Values&) {
      for (int i = 0; i < 4; ++i) Filled(on, 7, kWords);
      on.Fail(absl::InternalError("not now"));
      return Values{};
    });
  }
  // What `take_` returns of an output of `make_`.
  static Words Taken() { return Plus(Times(Pattern(1, kWords), 2), Words(kWords, 1)); }
  // `make_`, `store_`, `take_` are recorded, and `other_` is warm.
  void RecordAll() {
    const Tensor x = Given(1);
    x_ = x;
    for (int step = 0; step < 2; ++step) {
      NewStep();
      Call(store_, Call(make_, {x_}));
      EXPECT_EQ(Read(Call(take_, {})[0]), Taken());
    }
    EXPECT_EQ(graphs(), 3u);
    NewStep();
    Call(other_, {x_});
    NewStep();
  }

  static constexpr uint32_t kOwnSeed = 9;
  FunctionId make_, store_, take_, other_, fail_;
  Value x_;
  Value stored_;
};
GRAPHTREE_ON_EVERY_DEVICE(HandedOnTest);

// What is recorded behind it finds the books with it.
TEST_P(HandedOnTest, AReplayHoldsWhatItReturnsAgain) {
  RecordAll();
  Call(store_, Call(make_, {x_}));
  const Values taken = Call(take_, {});
  EXPECT_EQ(live(), 1u);
  EXPECT_EQ(replays(), 3u);
  const Values others = Call(other_, {x_});
  EXPECT_EQ(graphs(), 4u) << "recorded behind replays";
  EXPECT_EQ(Read(others[0]), Times(PatternOf(1), 3));
  EXPECT_EQ(Read(taken[0]), Taken());
  NewStep();
  EXPECT_FALSE(Tensor::From(taken[0]).bytes().ok());
}

// A call that came to nothing had the books restored, so that what was held owned its block for a
// while: alive through both, or dropped between them.
TEST_P(HandedOnTest, AfterTheBooksWereRestoredInTheMiddle) {
  for (const bool is_alive : {true, false}) {
    SCOPED_TRACE(is_alive ? "alive" : "dropped");
    RecordAll();
    Values made = Call(make_, {x_});
    EXPECT_FALSE(Refusal(fail_, {}).ok());
    const Values held = is_alive ? made : Values();
    Call(store_, std::move(made));
    const Values taken = Call(take_, {});
    EXPECT_EQ(live(), 1u);
    EXPECT_EQ(replays(), 3u);
    const Values others = Call(other_, {x_});
    EXPECT_EQ(Read(others[0]), Times(PatternOf(1), 3));
    EXPECT_EQ(Read(taken[0]), Taken());
    NewStep();
    EXPECT_FALSE(Tensor::From(taken[0]).bytes().ok());
    OpenTree({});
    RegisterAll();
  }
}

// It was nobody's when the books were restored, and the call that had them restored was given its
// bytes before it came to nothing.
TEST_P(HandedOnTest, WhatIsGoneIsNotHandedOn) {
  RecordAll();
  Call(store_, Call(make_, {x_}));
  EXPECT_FALSE(Refusal(fail_, {}).ok());
  EXPECT_EQ(Read(Call(take_, {})[0]), Plus(PatternOf(kOwnSeed), Words(kWords, 1)));
  EXPECT_EQ(graphs(), 4u) << "the body has run again";
  // Where nothing came between it is there.
  NewStep();
  Call(store_, Call(make_, {x_}));
  EXPECT_EQ(Read(Call(take_, {})[0]), Taken());
  EXPECT_EQ(graphs(), 4u);
}

// The same of what is only read, and of what no function returned.
TEST_P(HandedOnTest, WhatIsGoneIsNotRead) {
  const FunctionId hide = Register("hide", {}, [this](Launcher& on, Values& inputs) {
    stored_ = Sum(on, inputs[0], inputs[0]);
    return Values{};
  });
  const FunctionId read = Register("read", {}, [this](Launcher& on, Values& inputs) {
    if (!Tensor::From(stored_).bytes().ok()) return Values{Filled(on, kOwnSeed, kWords)};
    return Values{Sum(on, stored_, inputs[0])};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 4; ++step) {
    NewStep();
    const bool is_gone = step == 2;
    Call(hide, {x});
    if (is_gone) {
      EXPECT_FALSE(Refusal(fail_, {}).ok());
    }
    EXPECT_EQ(Read(Call(read, {x})[0]), is_gone ? PatternOf(kOwnSeed) : Times(PatternOf(1), 3))
        << step;
  }
  EXPECT_EQ(graphs(), 3u);
  EXPECT_EQ(replays(), 3u);
}

// A recording that is cut and comes to nothing behind its first section has written as well.
TEST_P(HandedOnTest, WhatACutRecordingWasGivenIsGone) {
  const FunctionId cut = Register("cut", {}, [](Launcher& on, Values&) {
    for (int i = 0; i < 4; ++i) Filled(on, 7, kWords);
    on.Break("does nothing", {}, [](Launcher&, absl::Span<const Tensor>) {});
    on.Fail(on.stream().Synchronize());  // no recording can
    return Values{};
  });
  const Tensor x = Given(1);
  CallInSteps(1, cut, {});
  for (int step = 0; step < 3; ++step) {
    NewStep();
    const bool is_gone = step == 2;
    const Values held = Call(other_, {x});  // or the path would end where the recording begins
    Call(store_, Call(make_, {x}));
    if (is_gone) Call(cut, {});
    EXPECT_EQ(Read(Call(take_, {})[0]),
              is_gone ? Plus(PatternOf(kOwnSeed), Words(kWords, 1)) : Taken())
        << step;
  }
  EXPECT_EQ(reasons(Reason::kForbiddenCall), 1u);
  EXPECT_EQ(reasons(Reason::kLivenessDiffers), 1u);
}

}  // namespace
}  // namespace graphtree
