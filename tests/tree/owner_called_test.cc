// Two trees: the owner of a tensor is called in the middle of a run of the other tree that uses it.
#include <cstdint>
#include <memory>
#include <utility>

#include "allocator/pool.h"
#include "tests/kernels/launches.h"
#include "tests/tree/other_trees_fixture.h"

namespace graphtree {
namespace {

// The other tree is called in the middle of a run that uses its tensor, and goes on behind the work
// so far. Then the run goes on, and lets go of the tensor: the other tree gives the bytes away
// behind the later work, too.
class OwnerCalledInsideTest : public OtherTreesFixture {
 protected:
  void SetUp() override {
    OtherTreesFixture::SetUp();
    if (!IsSkipped()) SetMaker(false);
  }
  // What the other tree makes has a block of its pool, or is at the address of a recording.
  void SetMaker(bool replays) { makes_ = other().Register("makes", {.exclude = !replays}, Twice); }
  // An input that the other tree has made is the only handle; the caller's stream is b().
  Values FromOtherAlone(uint32_t seed) {
    other().BeginStep();
    Values inputs = {FromOther(makes_, seed)};
    EXPECT_THAT(a().Synchronize(), IsOk());
    return inputs;
  }
  absl::Status RunOnB(FunctionId function, Values& inputs, Values* outputs) {
    return tree().Run(function, absl::MakeSpan(inputs), b(), outputs);
  }
  // What the other tree makes at once, once all work is done.
  Words NextOfOther(uint32_t seed) {
    other().BeginStep();
    const Value next = FromOther(makes_, seed);
    EXPECT_THAT(b().Synchronize(), IsOk());
    return Read(next);
  }
  // Of a body that returns 2x of what it knows, and forgets it.
  void ExpectLaterWorkIsAwaited(const Body& body) {
    for (const int kind : {0, 1, 2, 3}) {
      SetMaker(kind % 2 == 1);
      const bool exclude = kind > 1;
      for (uint32_t step = 1; step <= 8; ++step) {
        const FunctionId uses = Register("uses", {.exclude = exclude}, body);
        NewStep();
        other().BeginStep();
        known_ = FromOther(makes_, step);
        ASSERT_THAT(a().Synchronize(), IsOk());
        Values inputs, outputs;
        ASSERT_THAT(RunOnB(uses, inputs, &outputs), IsOk());
        NextOfOther(50 + step);
        EXPECT_EQ(Read(outputs[0]), Times(PatternOf(step), 4))
            << (exclude ? "eager run " : "warm-up ") << step << ", kind " << kind;
      }
    }
    EXPECT_THAT(device().health(), IsOk());
  }
};
GRAPHTREE_ON_EVERY_DEVICE(OwnerCalledInsideTest);

TEST_P(OwnerCalledInsideTest, WhatABreakNames) {
  ExpectLaterWorkIsAwaited([this](Launcher& on, Values&) {
    const Tensor out = on.Empty(known_.layout());
    on.Break("calls", {In(Tensor::From(known_)), Out(out)},
             [this](Launcher& part, absl::Span<const Tensor> tensors) {
               FromOther(makes_, 77);
               part.Copy(tensors[1], Sum(part, tensors[0], tensors[0]));
             });
    known_ = Value();
    return Values{out};
  });
}

TEST_P(OwnerCalledInsideTest, WhatAPartDropsThatItsBreakNames) {
  ExpectLaterWorkIsAwaited([this](Launcher& on, Values&) {
    const Tensor out = on.Empty(known_.layout());
    on.Break("calls", {In(Tensor::From(known_)), Out(out)},
             [this](Launcher& part, absl::Span<const Tensor> tensors) {
               known_ = Value();
               FromOther(makes_, 77);
               part.Copy(tensors[1], Sum(part, tensors[0], tensors[0]));
             });
    return Values{out};
  });
}

TEST_P(OwnerCalledInsideTest, WhatOpaqueWorkReads) {
  ExpectLaterWorkIsAwaited([this](Launcher& on, Values&) {
    const Tensor out = on.Empty(known_.layout());
    const AddressRange in = Tensor::From(known_).raw_bytes();
    on.Reads(Tensor::From(known_));
    on.Writes(out);
    known_ = Value();
    FromOther(makes_, 77);
    if (on.ok()) on.Fail(Add(on.stream(), out.raw_bytes(), in, in));
    return Values{out};
  });
}

TEST_P(OwnerCalledInsideTest, WhatOpaqueWorkOfAPartReads) {
  ExpectLaterWorkIsAwaited([this](Launcher& on, Values&) {
    const Tensor out = on.Empty(known_.layout());
    on.Break("calls", {Out(out)}, [this](Launcher& part, absl::Span<const Tensor> tensors) {
      const AddressRange in = Tensor::From(known_).raw_bytes();
      part.Reads(Tensor::From(known_));
      known_ = Value();
      FromOther(makes_, 77);
      if (part.ok()) part.Fail(Add(part.stream(), tensors[0].raw_bytes(), in, in));
    });
    return Values{out};
  });
}

// The last work of the call writes to the input that the call was handed.
TEST_P(OwnerCalledInsideTest, ACopyOfAnInputIsWrittenBack) {
  for (const int kind : {0, 1, 2, 3}) {
    SetMaker(kind % 2 == 1);
    const bool exclude = kind > 1;
    for (uint32_t step = 1; step <= 8; ++step) {
      const FunctionId bumps = Register("bumps", {.alignments = {{0, 16}}, .exclude = exclude},
                                        [this](Launcher& on, Values& inputs) {
                                          Bump(on, inputs[0], 1);
                                          FromOther(makes_, 77);
                                          return Values{};
                                        });
      NewStep();
      Values inputs = FromOtherAlone(step), outputs;
      inputs[0] = Slice(inputs[0], 1, kWords - 1);
      ASSERT_THAT(RunOnB(bumps, inputs, &outputs), IsOk());
      EXPECT_EQ(NextOfOther(50 + step), Times(PatternOf(50 + step), 2))
          << "step " << step << ", kind " << kind;
    }
  }
}

// The call comes in the capture, and what was captured is launched after it.
TEST_P(OwnerCalledInsideTest, ARecordingsFirstLaunchReadsAnInput) {
  OpenTree({.patch_bytes = 1});
  SetMaker(true);
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    const Values inputs = FromOtherAlone(seed);
    FromOther(makes_, 77);
  }
  for (uint32_t step = 1; step <= 8; ++step) {
    const FunctionId uses = Register("uses", {}, [this](Launcher& on, Values& inputs) {
      const Tensor sum = Sum(on, inputs[0], inputs[0]);
      FromOther(makes_, 77);
      return Values{sum};
    });
    for (int call = 0; call < 2; ++call) {
      NewStep();
      Values inputs = FromOtherAlone(step), outputs;
      ASSERT_THAT(RunOnB(uses, inputs, &outputs), IsOk());
      NextOfOther(50 + step);
      EXPECT_EQ(Read(outputs[0]), Times(PatternOf(step), 4)) << "step " << step;
    }
  }
  EXPECT_EQ(graphs(), 8u);
}

// A part of a replay has the other tree forget all streams, and the section after it writes to what
// the recording holds.
TEST_P(OwnerCalledInsideTest, AReplayWritesWhatItHolds) {
  const FunctionId keeps = other().Register("keeps", {.kept_outputs = {0}}, Twice);
  known_ = FromOther(keeps, 1);
  const FunctionId bumps = Register("bumps", {}, [this](Launcher& on, Values&) {
    on.Break("forgets", {}, [this](Launcher& part, absl::Span<const Tensor>) {
      part.Fail(other().pool().FreeQueued());
      part.Fail(other().pool().streams().WaitAndForget());
    });
    Bump(on, known_, 1);
    return Values{};
  });
  ASSERT_THAT(a().Synchronize(), IsOk());
  Words expected = Times(PatternOf(1), 2);
  for (int step = 0; step < 10; ++step) {
    NewStep();
    Values inputs, outputs;
    ASSERT_THAT(RunOnB(bumps, inputs, &outputs), IsOk());
    ASSERT_THAT(other().pool().parking().Park(ParkContents::kToHost), IsOk()) << "step " << step;
    ASSERT_THAT(other().pool().parking().Wake(), IsOk());
    for (uint32_t& word : expected) ++word;
    EXPECT_EQ(Read(known_), expected) << "step " << step;
  }
  EXPECT_EQ(replays(), 8u);
  EXPECT_THAT(device().health(), IsOk());
}

// A call that fails behind its first section gives its input back, as that was. Its caller lets go
// of it.
TEST_P(OwnerCalledInsideTest, AFailedCallPutsBackAnInput) {
  SetMaker(true);
  bool fails = false;
  const FunctionId bumps = Register("bumps", {}, [&fails](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], 1);
    on.Break("fails", {}, [&fails](Launcher& part, absl::Span<const Tensor>) {
      if (fails) part.Fail(absl::InternalError("not now"));
    });
    return Values{};
  });
  for (uint32_t step = 1; step <= 10; ++step) {
    fails = step > 2;
    NewStep();
    Values inputs = FromOtherAlone(step), outputs;
    EXPECT_EQ(RunOnB(bumps, inputs, &outputs).ok(), !fails);
    inputs.clear();
    EXPECT_EQ(NextOfOther(50 + step), Times(PatternOf(50 + step), 2)) << "step " << step;
  }
  EXPECT_EQ(graphs(), 1u);
}

// Nothing was put on that stream, for which the other tree could not wait.
TEST_P(OwnerCalledInsideTest, ACallIsRefusedOnAStreamOfAnotherDevice) {
  if (device().info().architecture != "host") GTEST_SKIP() << "needs two host devices";
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Device> elsewhere, GetParam().open());
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Stream> stream, elsewhere->NewStream());
  const FunctionId uses = Register("uses", {}, Twice);
  for (const bool replays : {false, true}) {
    SetMaker(replays);
    for (uint32_t step = 1; step <= 4; ++step) {
      Values inputs = FromOtherAlone(step), outputs;
      EXPECT_THAT(tree().Run(uses, absl::MakeSpan(inputs), *stream, &outputs),
                  FailsWith(absl::StatusCode::kInvalidArgument, "on a stream of another device"));
      inputs.clear();
      EXPECT_EQ(NextOfOther(50 + step), Times(PatternOf(50 + step), 2)) << "step " << step;
    }
  }
  stream.reset();
  EXPECT_THAT(elsewhere->Close(), IsOk());
}

// A static input stays its caller's, who lets go of it while the call's work is under way.
TEST_P(OwnerCalledInsideTest, AStaticInputIsDroppedBehindAHit) {
  SetMaker(true);
  const FunctionId uses = Register("uses", {.static_inputs = {0}}, Twice);
  for (uint32_t step = 1; step <= 10; ++step) {
    NewStep();
    Values inputs = FromOtherAlone(step), outputs;
    ASSERT_THAT(RunOnB(uses, inputs, &outputs), IsOk());
    inputs.clear();
    NextOfOther(50 + step);
    EXPECT_EQ(Read(outputs[0]), Times(PatternOf(step), 4)) << "step " << step;
  }
  EXPECT_EQ(replays(), 8u);
}

// A run that fails has written to what the other tree has given away since.
class TakenBackTest : public OwnerCalledInsideTest {
 protected:
  void TearDown() override {
    next_ = Value();
    OwnerCalledInsideTest::TearDown();
  }
  // Forgets what is known, for which the other tree has another use.
  void Forget() {
    known_ = Value();
    next_ = FromOther(makes_, 77);
  }
  // The call that comes after `calls` others fails.
  void ExpectOthersBytesStay(FunctionId bumps, int calls) {
    for (int call = 0; call <= calls; ++call) {
      NewStep();
      fails_ = call == calls;
      known_ = Value();
      known_ = FromOther(makes_, 1);
      ASSERT_THAT(a().Synchronize(), IsOk());
      Values inputs, outputs;
      EXPECT_EQ(RunOnB(bumps, inputs, &outputs).ok(), !fails_);
      ASSERT_THAT(b().Synchronize(), IsOk());
    }
    EXPECT_EQ(Read(next_), Times(PatternOf(77), 2));
    // Nothing holds what was known any more.
    next_ = Value();
    FromOther(makes_, 3);
    EXPECT_EQ(other().stats().live_blocks, 0u);
    EXPECT_THAT(device().health(), IsOk());
  }
  // The part alone knows it.
  Body BumpingInAPart() {
    return [this](Launcher& on, Values&) {
      on.Break("bumps", {}, [this](Launcher& part, absl::Span<const Tensor>) {
        Bump(part, known_, 1);
        if (!fails_) return;
        Forget();
        part.Fail(absl::InternalError("not now"));
      });
      return Values{};
    };
  }
  bool fails_ = false;
  Value next_;
};
GRAPHTREE_ON_EVERY_DEVICE(TakenBackTest);

TEST_P(TakenBackTest, AnEagerRun) {
  const FunctionId bumps = Register("bumps", {.exclude = true}, [this](Launcher& on, Values&) {
    on.Break("does nothing", {}, [](Launcher&, absl::Span<const Tensor>) {});
    Bump(on, known_, 1);
    if (!fails_) return Values{};
    Forget();
    on.Fail(absl::InternalError("not now"));
    return Values{};
  });
  ExpectOthersBytesStay(bumps, 1);
}

// The break says that the part only reads it.
TEST_P(TakenBackTest, APartWritesWhatItsBreakNames) {
  const FunctionId bumps = Register("bumps", {.exclude = true}, [this](Launcher& on, Values&) {
    on.Break("bumps", {In(Tensor::From(known_))},
             [](Launcher& part, absl::Span<const Tensor> tensors) { Bump(part, tensors[0], 1); });
    if (!fails_) return Values{};
    Forget();
    on.Fail(absl::InternalError("not now"));
    return Values{};
  });
  ExpectOthersBytesStay(bumps, 1);
}

TEST_P(TakenBackTest, APartOfAnEagerRun) {
  ExpectOthersBytesStay(Register("bumps", {.exclude = true}, BumpingInAPart()), 1);
}

TEST_P(TakenBackTest, APartOfARecording) {
  ExpectOthersBytesStay(Register("bumps", {}, BumpingInAPart()), 1);
}

TEST_P(TakenBackTest, APartOfAReplay) {
  ExpectOthersBytesStay(Register("bumps", {}, BumpingInAPart()), 3);
}

}  // namespace
}  // namespace graphtree
