// Tensors of another tree that a function uses: what its recording holds of them, what ends with
// the other tree's step, and memory of the other tree that is parked.
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "allocator/pool.h"
#include "tests/kernels/launches.h"
#include "tests/tree/other_trees_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

class OtherTreesTest : public OtherTreesFixture {
 protected:
  void TearDown() override {
    spare_ = Value();
    OtherTreesFixture::TearDown();
  }
  // y -> y + what the body knows. In the run of that number, counted from 1, it forgets it.
  Body AddingKnown(int forgets_in) {
    return [this, forgets_in](Launcher& on, Values& inputs) {
      const Tensor sum = Sum(on, inputs[0], known_);
      if (++runs_ == forgets_in) known_ = Value();
      return Values{sum};
    };
  }
  // A recording of `uses` has what it knows, which the other tree's `makes` made, when the body has
  // forgotten it and the other tree has had another use for its memory.
  void ExpectHeld(FunctionId makes, FunctionId uses) {
    known_ = FromOther(makes, 1);
    const Tensor y = Given(2);
    for (uint32_t step = 0; step < 4; ++step) {
      other().BeginStep();
      EXPECT_EQ(Read(CallInSteps(1, uses, {y})[0]), Plus(PatternOf(2), Times(PatternOf(1), 2)))
          << "step " << step;
      if (step == 0) continue;
      known_ = spare_;
      FromOther(makes, 30 + step);
    }
    EXPECT_EQ(graphs(), 1u);
    EXPECT_EQ(replays(), 2u);
  }

  int runs_ = 0;
  Value spare_;
};
GRAPHTREE_ON_EVERY_DEVICE(OtherTreesTest);

TEST_P(OtherTreesTest, ARecordingHoldsWhatAnEagerRunMade) {
  const FunctionId makes = other().Register("makes", {.exclude = true}, Twice);
  ExpectHeld(makes, Register("uses", {}, AddingKnown(2)));
}

TEST_P(OtherTreesTest, ARecordingHoldsAKeptOutput) {
  const FunctionId makes = other().Register("makes", {.kept_outputs = {0}}, Twice);
  ExpectHeld(makes, Register("uses", {}, AddingKnown(2)));
}

TEST_P(OtherTreesTest, ARecordingHoldsWhatABreakNames) {
  const FunctionId makes = other().Register("makes", {.exclude = true}, Twice);
  const FunctionId uses = Register("uses", {}, [this](Launcher& on, Values& inputs) {
    const Tensor times = HostTimes(on, known_, 1);
    if (++runs_ == 2) known_ = Value();
    return Values{Sum(on, times, inputs[0])};
  });
  ExpectHeld(makes, uses);
}

// What ends with the other tree's step is no recording's to hold: the function runs eagerly, and is
// told of; behind that step its call is the error that it would be in any run.
TEST_P(OtherTreesTest, WhatEndsWithTheOthersStepIsNotRecorded) {
  const FunctionId makes = other().Register("makes", {}, Twice);
  const FunctionId uses = Register("uses", {}, AddingKnown(0));
  const Tensor y = Given(2);
  for (uint32_t step = 1; step <= 4; ++step) {
    other().BeginStep();
    known_ = FromOther(makes, step);
    for (int call = 0; call < 2; ++call) {
      EXPECT_EQ(Read(CallInSteps(1, uses, {y})[0]), Plus(PatternOf(2), Times(PatternOf(step), 2)))
          << "step " << step;
    }
  }
  EXPECT_EQ(graphs(), 0u);
  ASSERT_FALSE(warnings().empty());
  EXPECT_THAT(warnings()[0], HasSubstr("'uses' runs eagerly: "));
  EXPECT_THAT(warnings()[0], HasSubstr("a tensor of another tree that ends with that tree's step"));
  other().BeginStep();
  NewStep();
  EXPECT_THAT(Refusal(uses, {y}),
              FailsWith(StatusCode::kFailedPrecondition, "output 0 of 'makes'"));
}

// The recording is made where the tensor is an input as well, of which it has a copy.
TEST_P(OtherTreesTest, WhatIsGivenTooWhenItIsRecorded) {
  const FunctionId makes = other().Register("makes", {.exclude = true}, Twice);
  const FunctionId uses = Register("uses", {}, AddingKnown(2));
  known_ = FromOther(makes, 1);
  const Tensor y = Given(2);
  for (uint32_t step = 0; step < 4; ++step) {
    const Value given = step == 1 ? known_ : Value(y);
    const Words first = step == 1 ? Times(PatternOf(1), 2) : PatternOf(2);
    EXPECT_EQ(Read(CallInSteps(1, uses, {given})[0]), Plus(first, Times(PatternOf(1), 2)))
        << "step " << step;
    if (step == 0) continue;
    known_ = spare_;
    FromOther(makes, 30 + step);
  }
  EXPECT_EQ(replays(), 2u);
}

// Nobody has a handle when the body has forgotten it, and the other tree gives the bytes away
// behind the body's work.
TEST_P(OtherTreesTest, AnEagerRunThatForgetsIt) {
  const FunctionId makes = other().Register("makes", {.exclude = true}, Twice);
  const FunctionId uses = Register("uses", {.exclude = true}, [this](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], known_);
    known_ = Value();
    return Values{sum};
  });
  const Tensor y = Given(2);
  for (uint32_t step = 1; step <= 8; ++step) {
    known_ = FromOther(makes, step);
    ASSERT_THAT(a().Synchronize(), IsOk());
    Values inputs = {y}, outputs;
    ASSERT_THAT(tree().Run(uses, absl::MakeSpan(inputs), b(), &outputs), IsOk());
    FromOther(makes, 50 + step);
    ASSERT_THAT(b().Synchronize(), IsOk());
    EXPECT_EQ(Read(outputs[0]), Plus(PatternOf(2), Times(PatternOf(step), 2))) << "step " << step;
  }
}

// A fork reads it, and joins later than it dies.
TEST_P(OtherTreesTest, AForkUsesItAndItIsDroppedBeforeTheForkJoins) {
  const FunctionId makes = other().Register("makes", {.exclude = true}, Twice);
  const FunctionId uses = Register("forks", {.exclude = true}, [this](Launcher& on, Values&) {
    const Tensor out = TwiceOnSide(on, known_);
    on.UsedOn(Tensor::From(known_), b());
    known_ = Value();
    FromOther(makes_, 77);
    JoinSide(on);
    return Values{out};
  });
  makes_ = makes;
  for (uint32_t step = 1; step <= 8; ++step) {
    known_ = FromOther(makes, step);
    EXPECT_EQ(Read(CallInSteps(1, uses, {})[0]), Times(PatternOf(step), 4)) << "step " << step;
  }
}

// A kept output that is the caller's own tensor: it lasts as long as that does, so one that ends
// with the other tree's step is none.
TEST_P(OtherTreesTest, AStepsOutputOfTheOtherTreeCannotBeKept) {
  const FunctionId makes = other().Register("makes", {}, Twice);
  for (const bool exclude : {false, true}) {
    const FunctionId pass =
        Register("pass", {.kept_outputs = {0}, .exclude = exclude},
                 [](Launcher&, Values& inputs) { return Values{Slice(inputs[0], 0, 8)}; });
    for (int step = 0; step < 4; ++step) {
      other().BeginStep();
      NewStep();
      EXPECT_THAT(Refusal(pass, {FromOther(makes, 1)}),
                  FailsWith(StatusCode::kInvalidArgument, "output 0 of 'pass' is to be kept"));
      // Recorded, and replayed, for the caller's own.
      EXPECT_EQ(Read(CallInSteps(1, pass, {Given(3)})[0])[0], PatternOf(3)[0]);
    }
  }
  EXPECT_GT(replays(), 0u);
}

// The closed tree's memory goes with the last output, which the call takes: after the work that
// reads it.
TEST_P(OtherTreesTest, TheLastOutputOfAClosedTreeIsHandedOn) {
  std::atomic<bool> has_returned = false;
  for (const bool exclude : {false, true}) {
    const FunctionId uses =
        Register("uses", {.exclude = exclude}, [&](Launcher& on, Values& inputs) {
          // The work outlasts the call, unless the call waits for it.
          on.Fail(on.stream().CallHost([&] {
            for (int waits = 0; waits < 50 && !has_returned; ++waits) {
              std::this_thread::sleep_for(std::chrono::microseconds(100));
            }
          }));
          return Values{Sum(on, inputs[0], inputs[0])};
        });
    for (uint32_t step = 0; step < 4; ++step) {
      auto closed = *Tree::Create(device(), {.pool_bytes = 64 << 20});
      const FunctionId makes = closed->Register("makes", {}, Twice);
      Values given = {Given(1)}, made, outputs;
      ASSERT_THAT(closed->Run(makes, absl::MakeSpan(given), a(), &made), IsOk());
      closed.reset();
      NewStep();
      has_returned = false;
      ASSERT_THAT(tree().Run(uses, absl::MakeSpan(made), a(), &outputs), IsOk());
      has_returned = true;
      EXPECT_TRUE(made[0].is_consumed());
      EXPECT_EQ(Read(outputs[0]), Times(PatternOf(1), 4)) << "step " << step;
    }
  }
  EXPECT_THAT(device().health(), IsOk());
}

class ParkedTreeTest : public OtherTreesTest {
 protected:
  // Every call of `uses` is an error while the other tree is parked, and right when it is awake.
  void ExpectRefusedWhileParked(FunctionId uses, const Value& kept, const Words& expected) {
    for (int step = 0; step < 4; ++step) {
      EXPECT_EQ(Read(CallInSteps(1, uses, {kept})[0]), expected) << "step " << step;
      ASSERT_THAT(other().pool().parking().Park(ParkContents::kToHost), IsOk());
      NewStep();
      EXPECT_THAT(Refusal(uses, {kept}), FailsWith(StatusCode::kFailedPrecondition, "is parked"))
          << "step " << step;
      ASSERT_THAT(other().pool().parking().Wake(), IsOk());
    }
    EXPECT_THAT(device().health(), IsOk());
  }
};
GRAPHTREE_ON_EVERY_DEVICE(ParkedTreeTest);

// Work that is under way on another stream has written what it holds before that is saved.
TEST_P(ParkedTreeTest, WaitsForAReplayThatWritesWhatItHolds) {
  const FunctionId makes = other().Register("makes", {.kept_outputs = {0}}, Twice);
  const FunctionId bumps = Register("bumps", {}, [this](Launcher& on, Values& inputs) {
    Bump(on, known_, 1);
    return Values{Sum(on, inputs[0], inputs[0])};
  });
  known_ = FromOther(makes, 1);
  ASSERT_THAT(a().Synchronize(), IsOk());
  Words expected = Times(PatternOf(1), 2);
  for (int step = 0; step < 6; ++step) {
    NewStep();
    Values inputs = {Given(2)}, outputs;
    ASSERT_THAT(tree().Run(bumps, absl::MakeSpan(inputs), b(), &outputs), IsOk());
    outputs.clear();
    ASSERT_THAT(other().pool().parking().Park(ParkContents::kToHost), IsOk()) << "step " << step;
    ASSERT_THAT(other().pool().parking().Wake(), IsOk());
    for (uint32_t& word : expected) ++word;
    EXPECT_EQ(Read(known_), expected) << "step " << step;
  }
  EXPECT_GT(replays(), 0u);
  EXPECT_THAT(device().health(), IsOk());
}

TEST_P(ParkedTreeTest, AnInput) {
  const FunctionId makes = other().Register("makes", {.kept_outputs = {0}}, Twice);
  const Value kept = FromOther(makes, 1);
  for (const uint64_t patch_bytes : {uint64_t{1}, kDefaultPatchBytes}) {
    OpenTree({.patch_bytes = patch_bytes});
    ExpectRefusedWhileParked(Register("uses", {}, Thrice), kept, Times(PatternOf(1), 6));
    EXPECT_GT(replays(), 0u);
  }
  ExpectRefusedWhileParked(Register("static", {.static_inputs = {0}}, Thrice), kept,
                           Times(PatternOf(1), 6));
  ExpectRefusedWhileParked(Register("eagerly", {.exclude = true}, Thrice), kept,
                           Times(PatternOf(1), 6));
}

TEST_P(ParkedTreeTest, ATensorThatABodyKnows) {
  const FunctionId makes = other().Register("makes", {.kept_outputs = {0}}, Twice);
  const Tensor y = Given(2);
  known_ = FromOther(makes, 1);
  const Words expected = Plus(PatternOf(2), Times(PatternOf(1), 2));
  ExpectRefusedWhileParked(Register("uses", {}, AddingKnown(0)), y, expected);
  EXPECT_GT(replays(), 0u);
  ExpectRefusedWhileParked(Register("eagerly", {.exclude = true}, AddingKnown(0)), y, expected);
}

TEST_P(ParkedTreeTest, ATensorThatAPartKnows) {
  const FunctionId makes = other().Register("makes", {.kept_outputs = {0}}, Twice);
  known_ = FromOther(makes, 1);
  const FunctionId uses = Register("breaks", {}, [this](Launcher& on, Values& inputs) {
    const Tensor out = on.Empty(inputs[0].layout());
    on.Break("adds", {In(Tensor::From(inputs[0])), Out(out)},
             [this](Launcher& part, absl::Span<const Tensor> tensors) {
               part.Copy(tensors[1], Sum(part, tensors[0], known_));
             });
    return Values{out};
  });
  ExpectRefusedWhileParked(uses, Given(2), Plus(PatternOf(2), Times(PatternOf(1), 2)));
  EXPECT_GT(replays(), 0u);
}

// A park of the other tree's memory is due: it has waited for a capture, which has ended. Whoever
// enters that tree's pool does it, but for a part of a call that uses the memory.
class DueParkTest : public ParkedTreeTest {
 protected:
  enum class Enters { kByACall, kByTrimming, kByParking };

  void SetUp() override {
    ParkedTreeTest::SetUp();
    if (!IsSkipped()) makes_ = other().Register("makes", {.kept_outputs = {0}}, Twice);
  }
  void LetParkBeDue() {
    ASSERT_THAT(b().BeginCapture(CaptureMode::kThreadLocal), IsOk());
    ASSERT_THAT(other().pool().parking().Park(ParkContents::kToHost), IsOk());
    ASSERT_THAT(b().EndCapture().status(), IsOk());
  }
  void Enter(Enters how) {
    switch (how) {
      case Enters::kByACall:
        FromOther(makes_, 77);
        return;
      case Enters::kByTrimming:
        EXPECT_THAT(other().pool().memory().Trim(0).status(), IsOk());
        return;
      case Enters::kByParking:
        EXPECT_THAT(other().pool().parking().Park(ParkContents::kToHost), IsOk());
        other().pool().parking().ParkIfDue();
    }
  }
  bool fails_ = false;
  // Calls `uses` with a park due, or none if the part itself asks for it; afterwards the memory is
  // parked, and what it holds is there when it is awake.
  void ExpectParkedAfter(FunctionId uses, Enters how, const Values& inputs, absl::StatusCode code,
                         const std::function<Words()>& expected) {
    for (int step = 0; step < 5; ++step) {
      if (how != Enters::kByParking) LetParkBeDue();
      NewStep();
      Values given = inputs, outputs;
      const absl::Status status = tree().Run(uses, absl::MakeSpan(given), a(), &outputs);
      ASSERT_EQ(status.code(), code) << status;
      other().pool().parking().ParkIfDue();
      ASSERT_TRUE(other().pool().parking().is_parked()) << "step " << step;
      ASSERT_THAT(other().pool().parking().Wake(), IsOk());
      ASSERT_EQ(Read(known_), expected()) << "step " << step;
      ASSERT_THAT(device().health(), IsOk());
    }
  }
};
GRAPHTREE_ON_EVERY_DEVICE(DueParkTest);

TEST_P(DueParkTest, WaitsForACallThatPutsBackWhatAPartWrote) {
  for (const Enters how : {Enters::kByACall, Enters::kByTrimming, Enters::kByParking}) {
    for (const bool exclude : {false, true}) {
      known_ = FromOther(makes_, 1);
      const FunctionId fails = Register(
          "fails", {.static_inputs = {0}, .exclude = exclude},
          [this, how](Launcher& on, Values& inputs) {
            if (!on.ok()) return Values{};
            on.Break("fails", {InOut(Tensor::From(inputs[0]))},
                     [this, how](Launcher& part, absl::Span<const Tensor> tensors) {
                       Bump(part, tensors[0], 1);
                       if (!fails_) return;
                       Enter(how);
                       part.Fail(absl::UnavailableError("the disk is full"));
                     });
            return Values{};
          });
      fails_ = false;
      CallInSteps(3, fails, {known_});  // from now on it is known that the body breaks
      fails_ = true;
      const Words before = Read(known_);
      ExpectParkedAfter(fails, how, {known_}, StatusCode::kUnavailable, [&] { return before; });
    }
  }
}

TEST_P(DueParkTest, WaitsForACallThatReadsATensorAfterAPart) {
  for (const Enters how : {Enters::kByACall, Enters::kByTrimming, Enters::kByParking}) {
    for (const bool is_given : {false, true}) {
      known_ = FromOther(makes_, 1);
      const FunctionId bumps = Register(
          "bumps", {.static_inputs = {0}},
          [this, how, is_given](Launcher& on, Values& inputs) {
            const Value x = is_given ? inputs[0] : known_;
            Bump(on, x, 1);
            if (!on.ok()) return Values{};
            on.Break("enters", {}, [this, how](Launcher&, absl::Span<const Tensor>) {
              Enter(how);
            });
            Bump(on, x, 1);
            return Values{};
          });
      Words expected = Times(PatternOf(1), 2);
      ExpectParkedAfter(bumps, how, is_given ? Values{known_} : Values{Given(2)},
                        StatusCode::kOk,
                        [&expected] { return expected = Plus(expected, Words(kWords, 2)); });
    }
  }
  EXPECT_GT(replays(), 0u);
}

// Each call of this tree comes before a park of the other one's memory, or is refused.
TEST_P(DueParkTest, OnAnotherThreadIsDoneBetweenCalls) {
  constexpr int kCalls = 400;
  known_ = FromOther(makes_, 1);
  ASSERT_THAT(a().Synchronize(), IsOk());
  const Words expected = Times(PatternOf(1), 6);
  for (const bool is_given : {false, true}) {
    const FunctionId thrice =
        Register("thrice", {}, [this, is_given](Launcher& on, Values& inputs) {
          Values known = {known_};
          return Thrice(on, is_given ? inputs : known);
        });
    const Value input = is_given ? known_ : Value(Given(2));
    CallInSteps(3, thrice, {input});
    std::atomic<bool> is_over{false};
    std::thread parks([&] {
      while (!is_over) {
        other().Inspect([&] {
          EXPECT_THAT(other().pool().parking().Park(ParkContents::kToHost), IsOk());
        });
        std::this_thread::yield();
        other().Inspect([&] { other().pool().parking().Wake().IgnoreError(); });
      }
    });
    for (int i = 0; i < kCalls; ++i) {
      NewStep();
      Values inputs = {input}, outputs;
      const absl::Status status = tree().Run(thrice, absl::MakeSpan(inputs), a(), &outputs);
      if (status.ok()) {
        EXPECT_EQ(Read(outputs[0]), expected);
      } else {
        EXPECT_THAT(std::string(status.message()), HasSubstr("is parked"));
      }
    }
    is_over = true;
    parks.join();
    other().pool().parking().ParkIfDue();
    ASSERT_THAT(other().pool().parking().Wake(), IsOk());
    EXPECT_EQ(Read(known_), Times(PatternOf(1), 2));
    ASSERT_THAT(device().health(), IsOk());
  }
}

// The owner's call on a third stream is refused after it has heard of the use; its next call is a
// replay, which writes to the memory that was handed over.
TEST_P(OtherTreesTest, ACallThatIsRefusedForgetsNoUseOfWhatWasHandedOver) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> third, device().NewStream());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> event, device().NewEvent({}));
  const FunctionId uses = other().Register("uses", {}, Twice);
  const Tensor x = Given(1), y = Given(2);
  for (int round = 0; round < 24; ++round) {
    OpenTree({});
    const FunctionId makes = Register("makes", {}, Twice);
    const FunctionId refused = Register("refused", {.static_inputs = {0}}, Twice);
    Values used;
    for (int step = 0; step < 4; ++step) {
      CallInSteps(1, makes, {y});
      Values made = CallInSteps(1, makes, {x});
      other().BeginStep();
      EXPECT_THAT(a().Record(*event), IsOk());
      EXPECT_THAT(b().Wait(*event), IsOk());
      ASSERT_THAT(other().Run(uses, absl::MakeSpan(made), b(), &used), IsOk());
    }
    Values none;
    EXPECT_FALSE(tree().Run(refused, absl::Span<Value>(), *third, &none).ok());
    CallInSteps(1, makes, {y});
    ASSERT_THAT(b().Synchronize(), IsOk());
    ASSERT_EQ(Read(used[0]), Times(PatternOf(1), 4)) << "round " << round;
  }
}

}  // namespace
}  // namespace graphtree
