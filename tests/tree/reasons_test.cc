// Reasons one by one: each comes up alone, counted exactly, with nothing else counted beside it.
#include <string>
#include <utility>
#include <vector>

#include "tests/kernels/kernels.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

class ReasonsTest : public TreeTest {
 protected:
  // As often as that, and no other reason ever.
  void ExpectOnly(Reason reason, uint64_t count) {
    const ReasonCounts counts = tree().stats().reasons;
    for (size_t i = 0; i < kReasonCount; ++i) {
      const bool is_it = i == static_cast<size_t>(reason);
      EXPECT_EQ(counts[i], is_it ? count : 0u) << ReasonName(static_cast<Reason>(i));
    }
  }
  uint64_t warm_ups() { return tree().stats().warm_ups; }
};
GRAPHTREE_ON_EVERY_DEVICE(ReasonsTest);

// The body takes no memory of the pool, and its recording wants some for the copy of an input.
TEST_P(ReasonsTest, OutOfPoolForTheCopyOfAnInput) {
  OpenTree({.pool_bytes = 1});
  const FunctionId into =
      Register("into", {.static_inputs = {0}}, [](Launcher& on, Values& inputs) {
        const Tensor out = Tensor::From(inputs[0]), x = Tensor::From(inputs[1]);
        const uint32_t count = kWords;
        on.Launch(AddKernel(), TestShape(), {Out(out), In(x), In(x), Val(count)});
        return Values{};
      });
  const Tensor out = Given(9);
  for (uint32_t call = 1; call <= 2; ++call) {
    CallInSteps(1, into, {out, Given(call)});
    EXPECT_EQ(Read(out), Times(PatternOf(call), 2));
  }
  ExpectOnly(Reason::kOutOfPool, 1);
  EXPECT_EQ(warm_ups(), 1u);
  EXPECT_EQ(eager(), 1u);
  EXPECT_EQ(graphs(), 0u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0],
              HasSubstr("'into' runs eagerly: the tree's pool had no memory for it"));
}

// The body's own memory does not fit beside what is held, but for room that no recording may use.
TEST_P(ReasonsTest, OutOfPoolForTheBody) {
  const uint64_t piece = granularity();
  OpenTree({.pool_bytes = 2 * piece});
  const int64_t most = static_cast<int64_t>(piece / sizeof(uint32_t) * 3 / 5);
  const auto large = [most](Launcher& on, Values& inputs) {
    const Tensor room = on.Empty(WordsLayout(most));
    if (!on.ok()) return Values{};
    on.Copy(Slice(room, 0, kWords), Tensor::From(inputs[0]));
    return Values{room};
  };
  const FunctionId keeps = Register("keeps", {.exclude = true}, Twice);
  const FunctionId holds = Register("holds", {}, large), hungry = Register("hungry", {}, large);
  const Tensor x = Given(1), y = Given(2);
  const Values kept = CallInSteps(1, keeps, {x});
  CallInSteps(1, hungry, {x});
  CallInSteps(1, holds, {x});
  EXPECT_EQ(eager(), 1u) << "the excluded one";
  const uint64_t excluded = reasons(Reason::kExcluded);
  EXPECT_EQ(excluded, 1u);
  NewStep();
  const Values held = Call(holds, {x});
  EXPECT_EQ(graphs(), 1u);
  const Values out = Call(hungry, {y});
  EXPECT_EQ(Read(Slice(held[0], 0, kWords)), PatternOf(1));
  EXPECT_EQ(Read(Slice(out[0], 0, kWords)), PatternOf(2));
  EXPECT_EQ(Read(kept[0]), Times(PatternOf(1), 2));
  EXPECT_EQ(reasons(Reason::kOutOfPool), 1u);
  EXPECT_EQ(eager(), 2u);
  EXPECT_EQ(graphs(), 1u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0],
              HasSubstr("'hungry' runs eagerly: the tree's pool had no memory for it"));
}

// An input that was pinned comes elsewhere, and the options ask for an eager run then: nothing is
// recorded again, so nothing counts as recorded again, and no limit on that is ever reached.
TEST_P(ReasonsTest, InputMoves) {
  OpenTree({.rerecord_limit = 1});
  const FunctionId many = Register("many", {}, [](Launcher& on, Values& inputs) {
    Values out;
    for (int i = 0; i < 4; ++i) out.push_back(Sum(on, inputs[0], inputs[0]));
    return out;
  });
  const FunctionId by_managed = Register("managed", {.moving = Moving::kEager}, Thrice);
  const FunctionId by_static =
      Register("static", {.static_inputs = {1}, .moving = Moving::kEager}, AddBoth);
  const Tensor x = Given(1), weight = Given(2);
  for (const int which : {0, 0, 1, 2, 3, 0}) {
    NewStep();
    const Values made = Call(many, {x});
    EXPECT_EQ(Read(Call(by_managed, {made[which]})[0]), Times(PatternOf(1), 6));
  }
  EXPECT_EQ(eager(), 3u);
  ExpectOnly(Reason::kInputMoves, 3);
  CallInSteps(2, by_static, {x, weight});
  for (uint32_t seed = 3; seed <= 5; ++seed) {
    EXPECT_EQ(Read(CallInSteps(1, by_static, {x, Given(seed)})[0]),
              Plus(PatternOf(1), PatternOf(seed)));
  }
  EXPECT_EQ(Read(CallInSteps(1, by_static, {x, weight})[0]), Plus(PatternOf(1), PatternOf(2)));
  ExpectOnly(Reason::kInputMoves, 6);
  EXPECT_EQ(eager(), 6u);
  EXPECT_EQ(graphs(), 3u) << "one of each";
  EXPECT_EQ(replays(), 4u + 1 + 1) << "the maker's, and the two that came back to where they were";
  ASSERT_EQ(warnings().size(), 2u) << "one for each function";
  for (const std::string& warning : warnings()) {
    EXPECT_THAT(warning, HasSubstr("an input that was recorded at one address comes at others"));
  }
}

// What was dead when it was recorded is held: one more recording, and nothing of what is held is
// written over. Then each place of the path has its recording.
TEST_P(ReasonsTest, LivenessDiffers) {
  const FunctionId pair = Register("pair", {}, [](Launcher& on, Values& inputs) {
    return Values{Sum(on, inputs[0], inputs[0]), Thrice(on, inputs)[0]};
  });
  const FunctionId next = Register("next", {}, Thrice);
  const Tensor x = Given(1), y = Given(2);
  const auto step = [&](bool holds_both) {
    NewStep();
    Values made = Call(pair, {x});
    if (!holds_both) made.pop_back();
    EXPECT_EQ(Read(Call(next, {y})[0]), Times(PatternOf(2), 3));
    EXPECT_EQ(Read(made[0]), Times(PatternOf(1), 2));
    if (holds_both) {
      EXPECT_EQ(Read(made[1]), Times(PatternOf(1), 3));
    }
  };
  for (int i = 0; i < 3; ++i) step(false);
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(replays(), 2u);
  ExpectOnly(Reason::kLivenessDiffers, 0);
  step(true);
  ExpectOnly(Reason::kLivenessDiffers, 1);
  EXPECT_EQ(graphs(), 3u);
  for (const bool holds_both : {true, false, true, false}) step(holds_both);
  ExpectOnly(Reason::kLivenessDiffers, 1);
  EXPECT_EQ(graphs(), 3u);
  EXPECT_EQ(replays(), 2u + 1 + 8);
  EXPECT_EQ(eager(), 0u);
  EXPECT_TRUE(warnings().empty());
}

}  // namespace
}  // namespace graphtree
