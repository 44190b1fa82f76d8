// Callers read outputs on the stream of their call, also after the tree has gone on to other
// streams: whatever gets the bytes next comes after those reads.
#include <memory>
#include <utility>

#include "tests/kernels/launches.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class ReadersTest : public TreeTest {
 protected:
  void SetUp() override {
    TreeTest::SetUp();
    if (IsSkipped()) return;
    c_ = *device().NewStream();
    seen_ = Given(100);
  }
  void TearDown() override {
    seen_ = Tensor();
    c_ = nullptr;
    TreeTest::TearDown();
  }
  Values CallOn(Stream& stream, FunctionId function, Values inputs) {
    Values outputs;
    EXPECT_THAT(tree().Run(function, absl::MakeSpan(inputs), stream, &outputs), IsOk());
    return outputs;
  }
  // Its output goes in the call, and so comes before it: the call may have its bytes.
  Values CallInPlaceOf(Values* before, Stream& stream, FunctionId function, Values inputs) {
    EXPECT_THAT(tree().Run(function, absl::MakeSpan(inputs), stream, before), IsOk());
    return std::move(*before);
  }
  // After a kernel that takes its time, so that a missing order shows.
  void ReadLate(const Value& output) {
    EXPECT_THAT(Delay(a(), 200), IsOk());
    EXPECT_THAT(a().Copy(seen_.word(), output.word(), kWords * sizeof(uint32_t)), IsOk());
  }
  Words Seen() {
    EXPECT_THAT(c_->Synchronize(), IsOk());
    EXPECT_THAT(b().Synchronize(), IsOk());
    return Read(seen_);
  }

  std::unique_ptr<Stream> c_;
  Tensor seen_;
};
GRAPHTREE_ON_EVERY_DEVICE(ReadersTest);

// Nothing is launched, and still the tree goes on with another stream.
TEST_P(ReadersTest, AReplayOfNothingMovesTheTree) {
  const FunctionId excluded = Register("excluded", {.exclude = true}, Twice);
  const FunctionId nothing =
      Register("nothing", {}, [](Launcher&, Values&) -> Values { return {}; });
  const Tensor x = Given(1), y = Given(2);
  CallInSteps(4, nothing, {});
  Values out = CallInSteps(4, excluded, {x});
  NewStep();
  CallOn(b(), nothing, {});
  ReadLate(out[0]);
  NewStep();
  out = CallInPlaceOf(&out, *c_, excluded, {y});
  EXPECT_EQ(Seen(), Times(PatternOf(1), 2));
  EXPECT_EQ(Read(out[0]), Times(PatternOf(2), 2));
}

TEST_P(ReadersTest, AfterOtherStreamsOfTheStep) {
  const FunctionId first = Register("first", {}, Twice);
  const FunctionId second = Register("second", {}, Thrice);
  const FunctionId next = Register("next", {}, Thrice);
  const Tensor x = Given(1), y = Given(2);
  for (int round = 0; round < 4; ++round) {
    NewStep();
    Values out = CallOn(a(), first, {x});
    Values other = CallOn(b(), second, {x});
    ReadLate(out[0]);
    out.clear();
    other.clear();
    NewStep();
    other = CallOn(*c_, next, {y});
    EXPECT_EQ(Seen(), Times(PatternOf(1), 2)) << "round " << round;
    EXPECT_EQ(Read(other[0]), Times(PatternOf(2), 3)) << "round " << round;
  }
  EXPECT_GT(replays(), 0u);
}

// The output has gone by then, so that the call may have its bytes.
TEST_P(ReadersTest, WithinTheStep) {
  const FunctionId first = Register("first", {}, Twice);
  const FunctionId second = Register("second", {}, Thrice);
  const FunctionId third = Register("third", {}, Thrice);
  const Tensor x = Given(1), y = Given(2);
  for (int round = 0; round < 5; ++round) {
    NewStep();
    Values out = CallOn(a(), first, {x});
    Values other = CallOn(b(), second, {x});
    other = CallOn(b(), second, {x});
    ReadLate(out[0]);
    out.clear();
    Values last = CallOn(b(), third, {y});
    EXPECT_EQ(Seen(), Times(PatternOf(1), 2)) << "round " << round;
    EXPECT_EQ(Read(last[0]), Times(PatternOf(2), 3)) << "round " << round;
  }
  EXPECT_GT(replays(), 0u);
}

// A warm-up runs on a stream of the tree's own, which nobody who reads its outputs has waited for.
TEST_P(ReadersTest, WhatAWarmUpKeeps) {
  const FunctionId excluded = Register("excluded", {.exclude = true}, Thrice);
  const Tensor x = Given(1), y = Given(2);
  for (int round = 0; round < 3; ++round) {
    const FunctionId keeps =
        Register("keeps " + std::to_string(round), {.kept_outputs = {0}}, Twice);
    NewStep();
    Values kept = CallOn(a(), keeps, {x});
    Values other = CallOn(b(), excluded, {x});
    ReadLate(kept[0]);
    NewStep();
    kept = CallInPlaceOf(&kept, b(), excluded, {y});
    EXPECT_EQ(Seen(), Times(PatternOf(1), 2)) << "round " << round;
    EXPECT_EQ(Read(kept[0]), Times(PatternOf(2), 3)) << "round " << round;
  }
}

// What a captured stream holds runs where its graph is launched, and is no read of the step.
TEST_P(ReadersTest, AReaderMayCapture) {
  const FunctionId first = Register("first", {}, Twice);
  const FunctionId second = Register("second", {}, Thrice);
  const Tensor x = Given(1);
  for (int round = 0; round < 4; ++round) {
    NewStep();
    const Values out = CallOn(a(), first, {x});
    const Values other = CallOn(b(), second, {x});
    EXPECT_THAT(a().BeginCapture(CaptureMode::kRelaxed), IsOk());
    const Values more = CallOn(b(), second, {x});
    const auto graph = a().EndCapture();
    EXPECT_THAT(graph, IsOk());
    EXPECT_THAT(b().Synchronize(), IsOk());
    EXPECT_EQ(Read(more[0]), Times(PatternOf(1), 3)) << "round " << round;
  }
}

}  // namespace
}  // namespace graphtree
