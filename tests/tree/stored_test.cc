// What a body stores somewhere instead of returning it is good until the step ends, and an error
// behind it; and what it drops early.
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

class StoredTest : public TreeTest {
 protected:
  void TearDown() override {
    stored_ = Value();
    TreeTest::TearDown();
  }
  // x -> 3x, and stores 2x.
  FunctionId Storing() {
    return Register("storing", {}, [this](Launcher& on, Values& inputs) {
      const Tensor doubled = Sum(on, inputs[0], inputs[0]);
      stored_ = doubled;
      return Values{Sum(on, doubled, inputs[0])};
    });
  }
  absl::Status WhyNotStored() { return Tensor::From(stored_).bytes().status(); }

  Value stored_;
};
GRAPHTREE_ON_EVERY_DEVICE(StoredTest);

TEST_P(StoredTest, GoodInItsStepAndAnErrorBehindIt) {
  const FunctionId storing = Storing();
  const FunctionId other = Register("other", {}, Thrice);
  const Tensor x = Given(1), y = Given(2);
  for (const char* made_in : {"the warm-up", "the recording"}) {
    NewStep();
    EXPECT_EQ(Read(Call(storing, {x})[0]), Times(PatternOf(1), 3)) << made_in;
    // Whatever runs behind it, warmed up or recorded, leaves its bytes alone.
    for (int call = 0; call < 2; ++call) Call(other, {y});
    EXPECT_EQ(Read(stored_), Times(PatternOf(1), 2)) << made_in;
    NewStep();
    EXPECT_THAT(WhyNotStored(),
                FailsWith(StatusCode::kFailedPrecondition,
                          "a tensor that the body of 'storing' stored and did not return was made"))
        << made_in;
    EXPECT_THAT(Refusal(other, {stored_}),
                FailsWith(StatusCode::kFailedPrecondition, "input 0 of 'other' may not be used"))
        << made_in;
  }
}

// A replay makes no tensor for it: what the recording stored stays an error.
TEST_P(StoredTest, ReplaysLeaveItStale) {
  const FunctionId storing = Storing();
  const Tensor x = Given(1);
  CallInSteps(4, storing, {x});
  EXPECT_EQ(replays(), 2u);
  EXPECT_FALSE(WhyNotStored().ok());
  EXPECT_EQ(live(), 0u);
}

// What is recorded behind a replay finds the books without it.
TEST_P(StoredTest, ItsMemoryIsFreeOnAnotherPath) {
  const FunctionId storing = Storing();
  const FunctionId behind = Register("behind", {}, Twice);
  const Tensor x = Given(1), y = Given(2);
  const uint64_t before = tree().stats().pool_live_bytes;
  CallInSteps(3, storing, {x});
  CallInSteps(1, behind, {y});
  NewStep();
  Call(storing, {x});
  Call(behind, {y});
  EXPECT_EQ(graphs(), 2u) << "it is recorded behind a replay, so the books went back there";
  NewStep();
  CallInSteps(2, behind, {y});
  EXPECT_EQ(tree().stats().pool_live_bytes, before) << "nobody holds anything";
}

// A body that breaks: what it stores goes stale like any other's, though its parts may use it, and
// whoever drops it takes nothing from them.
TEST_P(StoredTest, ByABodyThatBreaks) {
  const FunctionId breaks = Register("breaks", {}, [this](Launcher& on, Values& inputs) {
    const Tensor doubled = Sum(on, inputs[0], inputs[0]);
    stored_ = doubled;
    on.Break("copies", {In(doubled)}, [doubled](Launcher& part, absl::Span<const Tensor> tensors) {
      const Tensor own = part.Empty(tensors[0].layout());
      part.Copy(own, tensors[0]);
      part.Copy(own, doubled);
    });
    return Values{Sum(on, doubled, doubled)};
  });
  const FunctionId other = Register("other", {}, Thrice);
  const Tensor x = Given(1), y = Given(2);
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, breaks, {x})[0]), Times(PatternOf(1), 4)) << "step " << step;
    if (step < 2) {
      EXPECT_EQ(Read(stored_), Times(PatternOf(1), 2)) << "step " << step;
    }
    NewStep();
    EXPECT_FALSE(WhyNotStored().ok()) << "step " << step;
  }
  std::thread([this] { stored_ = Value(); }).join();
  for (int step = 0; step < 4; ++step) {
    NewStep();
    EXPECT_EQ(Read(Call(breaks, {y})[0]), Times(PatternOf(2), 4)) << "step " << step;
    Call(other, {y});  // recorded behind a replay once: the books go back
  }
  EXPECT_THAT(device().health(), IsOk());
}

// A recording that is given up, and a warm-up that fails.
TEST_P(StoredTest, ByARunThatComesToNothing) {
  const FunctionId use = Register("use", {}, Thrice);
  const Tensor x = Given(1);
  for (const int failing : {1, 2}) {
    int runs = 0;
    const FunctionId fails = Register("fails", {}, [&](Launcher& on, Values& inputs) {
      const Tensor doubled = Sum(on, inputs[0], inputs[0]);
      if (++runs == failing) {
        stored_ = doubled;
        on.Fail(absl::InternalError("not now"));
      }
      return Values{Sum(on, doubled, doubled)};
    });
    for (int step = 1; step <= 2; ++step) {
      NewStep();
      Values inputs = {x}, outputs;
      tree().Run(fails, absl::MakeSpan(inputs), a(), &outputs).IgnoreError();
    }
    EXPECT_THAT(Refusal(use, {stored_}),
                FailsWith(StatusCode::kFailedPrecondition, "stored in step ")) << failing;
    stored_ = Value();
    EXPECT_EQ(Read(CallInSteps(3, use, {x})[0]), Times(PatternOf(1), 3)) << failing;
    EXPECT_EQ(Read(CallInSteps(1, fails, {x})[0]), Times(PatternOf(1), 4)) << failing;
  }
  EXPECT_THAT(device().health(), IsOk());
}

// Returned by another function in the same step it is held all the same, and is recorded by nobody:
// no replay of its maker would hand it out.
TEST_P(StoredTest, ReturnedByAnotherFunction) {
  const FunctionId storing = Storing();
  const FunctionId returns = Register("returns", {}, [this](Launcher&, Values&) {
    return Values{stored_};
  });
  const Tensor x = Given(1);
  NewStep();
  Call(storing, {x});
  Call(returns, {});
  for (int step = 0; step < 2; ++step) {
    NewStep();
    if (step == 0) {
      Call(storing, {x});
      EXPECT_EQ(Read(Call(returns, {})[0]), Times(PatternOf(1), 2));
      ASSERT_FALSE(warnings().empty());
      EXPECT_THAT(warnings().back(), HasSubstr("output 0 of 'returns' is no output of this tree"));
      continue;
    }
    EXPECT_EQ(Read(Call(storing, {x})[0]), Times(PatternOf(1), 3)) << "a replay";
  }
  EXPECT_EQ(graphs(), 1u);
}

// It is an input of the call as well, when that is recorded.
TEST_P(StoredTest, ReturnedWhereItIsGivenToo) {
  const FunctionId makes = Register("makes", {.exclude = true}, [this](Launcher& on, Values& in) {
    stored_ = Sum(on, in[0], in[0]);
    return Values{};
  });
  const FunctionId returns =
      Register("returns", {}, [this](Launcher&, Values&) { return Values{stored_}; });
  const Tensor x = Given(1), y = Given(2);
  CallInSteps(1, makes, {x});
  for (const Value& given : {stored_, stored_, Value(y)}) {
    EXPECT_EQ(Read(CallInSteps(1, returns, {given})[0]), Times(PatternOf(1), 2));
  }
}

TEST_P(StoredTest, ReturnedInALaterStep) {
  const FunctionId storing = Storing();
  const FunctionId returns = Register("returns", {}, [this](Launcher&, Values&) {
    return Values{Value::Integer(1), stored_};
  });
  CallInSteps(1, storing, {Given(1)});
  for (int step = 0; step < 3; ++step) {
    NewStep();
    EXPECT_THAT(Refusal(returns, {}),
                FailsWith(StatusCode::kFailedPrecondition,
                          "it returned as output 1 what may not be used: a tensor that the body"));
  }
}

// A body that means to keep a tensor from run to run is told, and not given other bytes.
TEST_P(StoredTest, UsedByTheNextRunOfTheBody) {
  Value kept;
  const FunctionId counts = Register("counts", {}, [&kept](Launcher& on, Values& inputs) {
    if (kept.is_none()) kept = Filled(on, 1, kWords);
    Bump(on, kept, 1);
    return Values{Sum(on, inputs[0], kept)};
  });
  const Tensor x = Given(1);
  CallInSteps(1, counts, {x});
  NewStep();
  EXPECT_THAT(Refusal(counts, {x}),
              FailsWith(StatusCode::kFailedPrecondition, "stored and did not return"));
  kept = Value();
  EXPECT_EQ(Read(CallInSteps(1, counts, {x})[0]),
            Plus(PatternOf(1), Plus(PatternOf(1), Words(kWords, 1))));
}

// The tree goes first: what is stored owns its bytes then, as outputs do.
TEST_P(StoredTest, OutlivesTheTree) {
  const FunctionId storing = Storing();
  const Tensor x = Given(1);
  for (int runs = 1; runs <= 2; ++runs) {
    NewStep();
    Call(storing, {x});
  }
  CloseTree();
  EXPECT_EQ(Read(stored_), Times(PatternOf(1), 2));
}

// An input's place, which the recording gave the body, is the recording's.
TEST_P(StoredTest, AnInputThatIsCopied) {
  const FunctionId keeps = Register("keeps", {.moving = Moving::kCopy},
                                    [this](Launcher& on, Values& inputs) {
                                      stored_ = inputs[0];
                                      return Twice(on, inputs);
                                    });
  const Tensor x = Given(1);
  CallInSteps(1, keeps, {x});
  EXPECT_EQ(Read(stored_), PatternOf(1)) << "the warm-up was given the caller's own";
  NewStep();
  Call(keeps, {x});
  EXPECT_EQ(Read(stored_), PatternOf(1));
  NewStep();
  EXPECT_FALSE(WhyNotStored().ok());
}

// A body forks, and drops a tensor that the fork uses before it joins.
TEST_P(StoredTest, ATensorThatAForkUsesIsDroppedBeforeItJoins) {
  const FunctionId forks = Register("forks", {}, [this](Launcher& on, Values& inputs) {
    Values outputs;
    {
      const Tensor given = Sum(on, inputs[0], inputs[0]);
      outputs.push_back(TwiceOnSide(on, given));
      on.UsedOn(given, b());
    }
    for (uint32_t seed = 1; seed <= 3; ++seed) Filled(on, seed, kWords);  // as large, in its place
    JoinSide(on);
    return outputs;
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, forks, {x})[0]), Times(PatternOf(1), 4)) << "step " << step;
  }
  EXPECT_EQ(graphs(), 1u);
}

// The launch puts the output into its kept place, and what is stored has its bytes all the same.
TEST_P(StoredTest, AnOutputThatIsKept) {
  const FunctionId keeps = Register("keeps", {.kept_outputs = {0}},
                                    [this](Launcher& on, Values& inputs) {
                                      stored_ = Sum(on, inputs[0], inputs[0]);
                                      return Values{stored_};
                                    });
  const Tensor x = Given(1);
  for (const char* made_in : {"the warm-up", "the recording"}) {
    NewStep();
    const Values kept = Call(keeps, {x});
    EXPECT_EQ(Read(kept[0]), Times(PatternOf(1), 2)) << made_in;
    EXPECT_EQ(Read(stored_), Times(PatternOf(1), 2)) << made_in;
    NewStep();
    EXPECT_FALSE(WhyNotStored().ok()) << made_in;
    EXPECT_EQ(Read(kept[0]), Times(PatternOf(1), 2)) << made_in;
  }
}

// The caller drops its input, which is a kept output: what is stored of it is good until the step
// ends, in a recording that would have patched the input, too.
TEST_P(StoredTest, AnInputThatWouldBePatched) {
  OpenTree({.patch_bytes = 1});
  const FunctionId makes = Register("makes", {.kept_outputs = {0}}, Twice);
  const FunctionId other = Register("other", {.kept_outputs = {0}}, Thrice);
  const FunctionId stores = Register("stores", {}, [this](Launcher& on, Values& inputs) {
    stored_ = inputs[0];
    return Twice(on, inputs);
  });
  const Tensor x = Given(1), y = Given(2);
  for (const char* stored_in : {"the warm-up", "the recording"}) {
    NewStep();
    Call(stores, Call(makes, {x}));
    const Values held = Call(other, {y});
    EXPECT_EQ(Read(stored_), Times(PatternOf(1), 2)) << stored_in;
  }
  EXPECT_EQ(graphs(), 3u);
  NewStep();
  EXPECT_FALSE(WhyNotStored().ok());
}

// A recording lets go of what another body has stored, and comes to nothing: it is gone all the
// same.
TEST_P(StoredTest, ForgottenByARecordingThatComesToNothing) {
  for (const bool eagerly : {false, true}) {
    const FunctionId stores =
        Register("stores", {.exclude = eagerly}, [this](Launcher& on, Values& inputs) {
          stored_ = Sum(on, inputs[0], inputs[0]);
          return Values{};
        });
    int runs = 0;
    const FunctionId forgets =
        Register("forgets", {.kept_outputs = {0}}, [&](Launcher& on, Values& inputs) {
          if (++runs == 2) {
            stored_ = Value();
            on.WarmUpAgain("not now");
          }
          return Twice(on, inputs);
        });
    const Tensor x = Given(1);
    const uint64_t before = tree().stats().pool_live_bytes;
    for (int step = 0; step < 2; ++step) {
      NewStep();
      Call(stores, {x});
      Call(forgets, {x});
    }
    EXPECT_EQ(runs, 3);
    EXPECT_EQ(tree().stats().pool_live_bytes, before) << eagerly;
  }
}

// An eager run made it, so it outlives its step. A recording that uses it has it, though the body
// lets go of it there.
TEST_P(StoredTest, MadeEagerlyAndUsedByARecordingThatForgetsIt) {
  Value other;
  const FunctionId makes = Register("makes", {.exclude = true}, [&](Launcher& on, Values& inputs) {
    Value& place = stored_.is_none() ? stored_ : other;
    place = Sum(on, inputs[0], inputs[0]);
    return Values{};
  });
  int runs = 0;
  const FunctionId uses = Register("uses", {}, [&](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], stored_);
    if (++runs == 2) stored_ = Value();
    return Values{sum};
  });
  const Tensor x = Given(1), y = Given(2);
  CallInSteps(1, makes, {x});
  for (int step = 0; step < 4; ++step) {
    NewStep();
    EXPECT_EQ(Read(Call(uses, {y})[0]), Plus(PatternOf(2), Times(PatternOf(1), 2))) << step;
    if (step == 0) continue;
    other = Value();
    stored_ = Given(3);
    Call(makes, {y});
  }
  EXPECT_EQ(replays(), 2u);
}

// The recorded call brings it as well, as an input that is not pinned. A later call brings another
// one, and the body's own stays what it was.
TEST_P(StoredTest, MadeEagerlyAndBroughtByTheRecordedCallToo) {
  for (const uint64_t patch_bytes : {uint64_t{1}, uint64_t{1} << 20}) {
    OpenTree({.patch_bytes = patch_bytes});
    const FunctionId makes = Register("makes", {.exclude = true}, Twice);
    const FunctionId uses = Register("uses", {}, [this](Launcher& on, Values& inputs) {
      return Values{Sum(on, inputs[0], stored_)};
    });
    const Tensor x = Given(1), y = Given(2);
    stored_ = CallInSteps(1, makes, {x})[0];
    EXPECT_EQ(Read(CallInSteps(2, uses, {stored_})[0]), Times(PatternOf(1), 4));
    EXPECT_EQ(graphs(), 1u);
    stored_ = Value();
    for (int step = 0; step < 2; ++step) {
      const Values others = CallInSteps(1, makes, {y});
      EXPECT_EQ(Read(CallInSteps(1, uses, {y})[0]), Plus(PatternOf(2), Times(PatternOf(1), 2)))
          << step << " with " << patch_bytes;
    }
    EXPECT_EQ(replays(), 2u);
  }
}

// What stood for an input in a recording that was given up.
TEST_P(StoredTest, AnInputOfARecordingThatComesToNothing) {
  OpenTree({.patch_bytes = 1});
  int runs = 0;
  const FunctionId fails = Register("fails", {}, [&](Launcher& on, Values& inputs) {
    if (++runs == 2) {
      stored_ = inputs[0];
      on.Fail(absl::InternalError("not now"));
    }
    return Twice(on, inputs);
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 2; ++step) {
    NewStep();
    EXPECT_EQ(Read(Call(fails, {x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(runs, 3);
  EXPECT_FALSE(WhyNotStored().ok());
}

}  // namespace
}  // namespace graphtree
