// A tensor of one tree that is handed over to another tree, on another stream: the first tree gives
// its bytes away after the other one's work alone.
#include <memory>
#include <utility>

#include "allocator/pool.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class HandedOverTest : public TreeTest {
 protected:
  void SetUp() override {
    TreeTest::SetUp();
    if (IsSkipped()) return;
    other_ = *Tree::Create(device(), {});
    ready_ = *device().NewEvent({});
  }
  void TearDown() override {
    other_.reset();
    ready_.reset();
    TreeTest::TearDown();
  }
  Tree& other() { return *other_; }

  // make on a(), then the other tree's function on b(), which takes the only handle; at once the
  // first tree goes on.
  void ExpectOrder(FunctionOptions makes, FunctionOptions takes) {
    const FunctionId make = Register("make", std::move(makes), Twice);
    const FunctionId take = other().Register("take", std::move(takes), Thrice);
    for (uint32_t step = 1; step <= 8; ++step) {
      NewStep();
      other().BeginStep();
      Values made = Call(make, {Given(step)});
      ASSERT_THAT(a().Record(*ready_), IsOk());
      ASSERT_THAT(b().Wait(*ready_), IsOk());
      Values outputs;
      ASSERT_THAT(other().Run(take, absl::MakeSpan(made), b(), &outputs), IsOk());
      EXPECT_TRUE(made[0].is_consumed());
      // The same bytes again, while b() may not have begun.
      const Values next = Call(make, {Given(step + 100)});
      ASSERT_THAT(b().Synchronize(), IsOk());
      EXPECT_EQ(Read(outputs[0]), Times(PatternOf(step), 6)) << "step " << step;
      EXPECT_EQ(Read(next[0]), Times(PatternOf(step + 100), 2)) << "step " << step;
    }
  }

 private:
  std::unique_ptr<Tree> other_;
  std::unique_ptr<Event> ready_;
};
GRAPHTREE_ON_EVERY_DEVICE(HandedOverTest);

TEST_P(HandedOverTest, FromReplaysToReplays) { ExpectOrder({}, {}); }
TEST_P(HandedOverTest, FromEagerRunsToReplays) { ExpectOrder({.exclude = true}, {}); }
TEST_P(HandedOverTest, FromReplaysToEagerRuns) { ExpectOrder({}, {.exclude = true}); }
TEST_P(HandedOverTest, FromEagerRunsToEagerRuns) {
  ExpectOrder({.exclude = true}, {.exclude = true});
}
TEST_P(HandedOverTest, KeptOutputs) { ExpectOrder({.kept_outputs = {0}}, {}); }

// The memory goes back to the device while the other tree's work may not have begun.
TEST_P(HandedOverTest, ThePoolIsTrimmed) {
  const FunctionId make = Register("make", {.exclude = true}, Twice);
  const FunctionId take = other().Register("take", {}, Thrice);
  for (uint32_t step = 1; step <= 4; ++step) {
    other().BeginStep();
    Values made = Call(make, {Given(step)});
    ASSERT_THAT(a().Synchronize(), IsOk());
    Values outputs;
    ASSERT_THAT(other().Run(take, absl::MakeSpan(made), b(), &outputs), IsOk());
    EXPECT_THAT(tree().pool().memory().Trim(0), IsOk());
    ASSERT_THAT(b().Synchronize(), IsOk());
    EXPECT_EQ(Read(outputs[0]), Times(PatternOf(step), 6)) << "step " << step;
  }
}

// The other tree's caller captures a graph of its own on the stream that had the work. What was put
// there before that is awaited all the same.
TEST_P(HandedOverTest, TheOtherStreamCapturesNow) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId take = other().Register("take", {}, Thrice);
  for (uint32_t step = 1; step <= 8; ++step) {
    NewStep();
    other().BeginStep();
    Values made = Call(make, {Given(step)});
    ASSERT_THAT(a().Synchronize(), IsOk());
    ASSERT_THAT(Delay(b(), 2000), IsOk());
    Values outputs;
    ASSERT_THAT(other().Run(take, absl::MakeSpan(made), b(), &outputs), IsOk());
    const bool captures = step > 4;  // both trees replay
    if (captures) {
      ASSERT_THAT(b().BeginCapture(CaptureMode::kThreadLocal), IsOk());
    }
    const Values next = Call(make, {Given(step + 100)});
    if (captures) {
      EXPECT_THAT(b().EndCapture(), IsOk());
    }
    ASSERT_THAT(b().Synchronize(), IsOk());
    EXPECT_EQ(Read(outputs[0]), Times(PatternOf(step), 6)) << "step " << step;
    EXPECT_EQ(Read(next[0]), Times(PatternOf(step + 100), 2)) << "step " << step;
  }
  EXPECT_GE(replays(), 8u);
}

// The stream that had the other tree's work may be gone.
TEST_P(HandedOverTest, TheOtherStreamIsGone) {
  const FunctionId make = Register("make", {.exclude = true}, Twice);
  const FunctionId take = other().Register("take", {}, Thrice);
  for (uint32_t step = 1; step <= 4; ++step) {
    other().BeginStep();
    Values made = Call(make, {Given(step)});
    ASSERT_THAT(a().Synchronize(), IsOk());
    auto brief = *device().NewStream();
    Values outputs;
    ASSERT_THAT(other().Run(take, absl::MakeSpan(made), *brief, &outputs), IsOk());
    brief.reset();
    const Values next = Call(make, {Given(step + 100)});
    EXPECT_EQ(Read(next[0]), Times(PatternOf(step + 100), 2));
  }
}

}  // namespace
}  // namespace graphtree
