// The caller captures on a stream where the tree was called before, and the tree goes on on another
// stream meanwhile. The tree's memory does not grow with that, round after round.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graphs/reports/parity.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class CapturesBesideTest : public TreeTest {
 protected:
  static constexpr int kRounds = 24;
  static constexpr int kFirstRounds = 6;
  bool compares_ = false;  // calls run the body beside a replay (Tree::RunCompared)

  Values RunOn(Stream& stream, FunctionId function, const Values& given) {
    NewStep();
    Values inputs = given, outputs;
    ParityResult result;
    EXPECT_THAT(compares_ ? tree().RunCompared(function, absl::MakeSpan(inputs), stream, &outputs,
                                               {}, &result)
                          : tree().Run(function, absl::MakeSpan(inputs), stream, &outputs),
                IsOk());
    return outputs;
  }
  void SynchronizeBoth() {
    ASSERT_THAT(a().Synchronize(), IsOk());
    ASSERT_THAT(b().Synchronize(), IsOk());
  }
  uint64_t reserved() { return tree().stats().pool_reserved_bytes; }
  FunctionId RegisterTwice(bool replays) {
    return Register("twice", {.kept_outputs = {0}, .exclude = !replays}, Twice);
  }
  // Calls on a(), then on b(), then on b() while a() captures, with as much memory in each round.
  // `holds`: the output of the first call is let go in the capture.
  void ExpectFlatWhereOneJoins();
  void ExpectFlat(bool holds) {
    for (const bool replays : {true, false}) {
      OpenTree({});
      const FunctionId twice = RegisterTwice(replays);
      const Tensor x = Given(1), y = Given(2);
      Values out, kept;
      uint64_t at_first = 0;
      for (int round = 0; round < kRounds; ++round) {
        if (round == kFirstRounds) at_first = reserved();
        (holds ? kept : out) = RunOn(a(), twice, {x});
        out = RunOn(b(), twice, {y});
        SynchronizeBoth();
        ASSERT_THAT(a().BeginCapture(CaptureMode::kRelaxed), IsOk());
        kept.clear();
        out = RunOn(b(), twice, {x});
        ASSERT_THAT(a().EndCapture().status(), IsOk());
        EXPECT_THAT(b().Synchronize(), IsOk());
        EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
      }
      EXPECT_EQ(reserved(), at_first) << "replays: " << replays;
      out.clear();
    }
  }
};
GRAPHTREE_ON_EVERY_DEVICE(CapturesBesideTest);

TEST_P(CapturesBesideTest, MemoryIsUsedAgain) { ExpectFlat(/*holds=*/false); }

// What was made on the stream that captures is freed meanwhile.
TEST_P(CapturesBesideTest, WhatIsFreedMeanwhileKeepsNothingElseBack) { ExpectFlat(/*holds=*/true); }

// What the stream that captures has used is freed while a second one is the last, and a third one
// goes on: it can come after the event that the first has left.
TEST_P(CapturesBesideTest, AThirdStreamUsesMemoryAgain) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> third, device().NewStream());
  for (const bool replays : {true, false}) {
    OpenTree({});
    const FunctionId twice = RegisterTwice(replays);
    const Tensor x = Given(1), y = Given(2);
    Values first, second, out;
    uint64_t at_first = 0;
    for (int round = 0; round < kRounds; ++round) {
      if (round == kFirstRounds) at_first = reserved();
      first = RunOn(a(), twice, {x});
      second = RunOn(b(), twice, {y});
      first.clear();
      SynchronizeBoth();
      ASSERT_THAT(a().BeginCapture(CaptureMode::kRelaxed), IsOk());
      out = RunOn(*third, twice, {x});
      ASSERT_THAT(a().EndCapture().status(), IsOk());
      EXPECT_THAT(third->Synchronize(), IsOk());
      EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
    }
    EXPECT_EQ(reserved(), at_first) << "replays: " << replays;
    first.clear(), second.clear(), out.clear();
    ASSERT_THAT(third->Synchronize(), IsOk());
    CloseTree();
  }
}

// A stream that joins a capture leaves no event. Who goes on after it does so behind a stream that
// came after it, before memory for kept outputs is taken.
void CapturesBesideTest::ExpectFlatWhereOneJoins() {
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 4; ++i) {
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<Stream> stream, device().NewStream());
    streams.push_back(std::move(stream));
  }
  Stream& other = *streams[3];  // the tree never sees it
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> event, device().NewEvent({}));
  const FunctionId twice = RegisterTwice(/*replays=*/true);
  const Tensor x = Given(1);
  Values first, second;
  uint64_t at_first = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (round == kFirstRounds) at_first = reserved();
    Stream& joins = *streams[round % 3];
    first = RunOn(joins, twice, {x});
    second = RunOn(*streams[(round + 1) % 3], twice, {x});
    first.clear(), second.clear();
    for (const auto& stream : streams) ASSERT_THAT(stream->Synchronize(), IsOk());
    ASSERT_THAT(other.BeginCapture(CaptureMode::kRelaxed), IsOk());
    ASSERT_THAT(other.Record(*event), IsOk());
    ASSERT_THAT(joins.Wait(*event), IsOk());
    first = RunOn(*streams[(round + 1) % 3], twice, {x});
    second = RunOn(*streams[(round + 2) % 3], twice, {x});
    ASSERT_THAT(joins.Record(*event), IsOk());
    ASSERT_THAT(other.Wait(*event), IsOk());
    ASSERT_THAT(other.EndCapture().status(), IsOk());
    for (const auto& stream : streams) ASSERT_THAT(stream->Synchronize(), IsOk());
    EXPECT_EQ(Read(second[0]), Times(PatternOf(1), 2));
    first.clear(), second.clear();
  }
  EXPECT_EQ(reserved(), at_first);
  CloseTree();
}

TEST_P(CapturesBesideTest, AStreamThatJoinsACaptureKeepsNoMemoryBack) {
  ExpectFlatWhereOneJoins();
}

// What a comparison saves of written inputs takes memory before anything of it is launched.
TEST_P(CapturesBesideTest, ComparedReplaysBesideACaptureUseMemoryAgain) {
  compares_ = true;
  ExpectFlatWhereOneJoins();
}

// The tree was called on a stream that joins a capture after that, and goes on on two others. What
// its steps let go carries the joined stream's name on and on, though that stream uses nothing new.
TEST_P(CapturesBesideTest, AStreamThatJoinedOnceUsesNoNewMemory) {
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 4; ++i) {
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<Stream> stream, device().NewStream());
    streams.push_back(std::move(stream));
  }
  Stream &joins = *streams[0], &captures = *streams[1];
  const FunctionId chain =
      Register("chain", {.kept_outputs = {0}}, [](Launcher& on, Values& inputs) -> Values {
        Tensor sum = Tensor::From(inputs[0]), kept;
        for (int i = 0; i < 6 && on.ok(); ++i) {
          sum = Sum(on, sum, sum);
          if (i == 2) kept = sum;
        }
        return {kept, sum};
      });
  const Tensor x = Given(1);
  // In one step, as RunOn begins one for each call.
  const auto run = [&](Stream& stream, Value input) {
    Values inputs, outputs;
    inputs.push_back(std::move(input));
    EXPECT_THAT(tree().Run(chain, absl::MakeSpan(inputs), stream, &outputs), IsOk());
    return outputs;
  };
  Stream &b = *streams[2], &c = *streams[3];
  Value last;
  run(b, x);
  last = run(b, x)[1];
  const Values of_joined = run(joins, x);
  NewStep();
  last = run(c, x)[1];
  const Value held = run(c, last)[1];
  run(c, std::move(last));
  for (const auto& stream : streams) ASSERT_THAT(stream->Synchronize(), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> event, device().NewEvent({}));
  ASSERT_THAT(captures.BeginCapture(CaptureMode::kRelaxed), IsOk());
  ASSERT_THAT(captures.Record(*event), IsOk());
  ASSERT_THAT(joins.Wait(*event), IsOk());
  uint64_t at_first = 0;
  Values first, third;
  for (int round = 0; round < 10 * kRounds; ++round) {
    if (round == kRounds) at_first = reserved();
    NewStep();
    first = run(b, x);
    first.pop_back();
    last = run(c, x)[1];
    third = run(c, std::move(last));
    third.pop_back();
  }
  EXPECT_EQ(reserved(), at_first);
  ASSERT_THAT(joins.Record(*event), IsOk());
  ASSERT_THAT(captures.Wait(*event), IsOk());
  ASSERT_THAT(captures.EndCapture().status(), IsOk());
  for (const auto& stream : streams) ASSERT_THAT(stream->Synchronize(), IsOk());
  EXPECT_EQ(Read(first[0]), Times(PatternOf(1), 8));
  EXPECT_EQ(Read(third[0]), Times(PatternOf(1), 512));
  first.clear(), third.clear();
  CloseTree();
}

// What is recorded meanwhile may lie in new memory, as its launches come after nothing that cannot
// be awaited. The next recordings use that memory, too.
TEST_P(CapturesBesideTest, RecordingsUseMemoryAgain) {
  OpenTree({});
  const Tensor x = Given(1), y = Given(2);
  Values out, kept;
  uint64_t at_first = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (round == kFirstRounds) at_first = reserved();
    const FunctionId twice = RegisterTwice(/*replays=*/true);
    kept = RunOn(a(), twice, {x});
    out = RunOn(b(), twice, {y});
    SynchronizeBoth();
    ASSERT_THAT(a().BeginCapture(CaptureMode::kRelaxed), IsOk());
    kept.clear();
    const FunctionId other = RegisterTwice(/*replays=*/true);
    for (int i = 0; i < 3; ++i) out = RunOn(b(), other, {x});
    ASSERT_THAT(a().EndCapture().status(), IsOk());
    EXPECT_THAT(b().Synchronize(), IsOk());
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
    ASSERT_THAT(tree().Unregister(twice), IsOk());
    ASSERT_THAT(tree().Unregister(other), IsOk());
  }
  EXPECT_LE(reserved(), 2 * at_first);
  out.clear();
}

}  // namespace
}  // namespace graphtree
