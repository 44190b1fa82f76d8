// The caller captures on a stream where the tree was called before, and the tree goes on on another
// stream meanwhile. The tree's memory does not grow with that, round after round.
#include <cstdint>
#include <string>
#include <utility>

#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class CapturesBesideTest : public TreeTest {
 protected:
  static constexpr int kRounds = 24;
  static constexpr int kFirstRounds = 6;

  Values RunOn(Stream& stream, FunctionId function, const Values& given) {
    NewStep();
    Values inputs = given, outputs;
    EXPECT_THAT(tree().Run(function, absl::MakeSpan(inputs), stream, &outputs), IsOk());
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
