// Kept outputs of warm-ups whose function is never recorded afterwards: it is unregistered, its
// sizes vary, no budget has room for it, or the limit of kept outputs stands against it. They live
// on all the same, what does not is freed, and errors say why.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class KeptGivenUpTest : public TreeTest {
 protected:
  FunctionId Keeps(FunctionOptions options = {}) {
    options.kept_outputs = {0};
    return Register("keeps", options, [](Launcher& on, Values& inputs) {
      const Tensor twice = Sum(on, inputs[0], inputs[0]);
      return Values{twice, Sum(on, twice, twice)};
    });
  }
  void ExpectNothingLeft(Value* kept) {
    NewStep();
    EXPECT_EQ(Read(*kept), Times(PatternOf(1), 2));
    EXPECT_GT(tree().stats().kept_bytes, 0u);
    *kept = Value();
    EXPECT_EQ(tree().stats().kept_bytes, 0u);
    NewStep();
    Call(Register("other", {}, Twice), {Given(1)});
    NewStep();
    EXPECT_EQ(live(), 0u);
  }
  uint64_t live_bytes() { return tree().stats().pool_live_bytes; }
};
GRAPHTREE_ON_EVERY_DEVICE(KeptGivenUpTest);

TEST_P(KeptGivenUpTest, ItIsUnregistered) {
  for (const bool in_step : {false, true}) {
    OpenTree({});
    const uint64_t before = live_bytes();
    const FunctionId function = Keeps();
    NewStep();
    Values out = Call(function, {Given(1)});
    Value kept = out[0], dies = out[1];
    out.clear();
    if (!in_step) NewStep();
    EXPECT_THAT(tree().Unregister(function), IsOk());
    if (in_step) {
      EXPECT_EQ(Read(dies), Times(PatternOf(1), 4));
    } else {
      EXPECT_TRUE(dies.storage()->stale());
    }
    dies = Value();
    ExpectNothingLeft(&kept);
    NewStep();
    EXPECT_EQ(live_bytes(), before);
  }
}

TEST_P(KeptGivenUpTest, NoBudgetHasRoomForIt) {
  OpenTree({.budget = {.executable_bytes = 1}});
  const uint64_t before = live_bytes();
  const FunctionId function = Keeps();
  for (int call = 0; call < 12; ++call) {
    NewStep();
    Values out = Call(function, {Given(1)});
    Value kept = out[0];
    EXPECT_EQ(Read(out[1]), Times(PatternOf(1), 4));
    out.clear();
    ExpectNothingLeft(&kept);
    NewStep();
    EXPECT_EQ(live_bytes(), before) << call;
  }
  EXPECT_EQ(graphs(), 0u);
  EXPECT_GT(reasons(Reason::kOverBudget), 0u);
}

TEST_P(KeptGivenUpTest, ItsSizesVary) {
  OpenTree({.skip_varying_sizes = true});
  const uint64_t before = live_bytes();
  const FunctionId function = Keeps();
  std::vector<Value> kept;
  for (int64_t words : {48, 32, 16, 64, 24}) {
    NewStep();
    kept.push_back(Call(function, {Given(1, words)})[0]);
  }
  NewStep();
  EXPECT_EQ(Read(kept[0]), Times(PatternOf(1), 2));
  kept.clear();
  NewStep();
  EXPECT_EQ(tree().stats().kept_bytes, 0u);
  EXPECT_EQ(live_bytes(), before);
}

// A warm-up that may not keep its output is an error that says so, and takes nothing with it.
TEST_P(KeptGivenUpTest, TheLimitStandsAgainstIt) {
  OpenTree({.kept_bytes = kWords * 4});
  const uint64_t before = live_bytes();
  const FunctionId function = Keeps();
  NewStep();
  Value kept = Call(function, {Given(1)})[0];
  for (int call = 0; call < 5; ++call) {
    NewStep();
    EXPECT_THAT(Refusal(function, {Given(1)}),
                FailsWith(StatusCode::kResourceExhausted, "TreeOptions::kept_bytes"));
    EXPECT_EQ(Read(kept), Times(PatternOf(1), 2));
  }
  EXPECT_THAT(tree().Unregister(function), IsOk());
  ExpectNothingLeft(&kept);
  NewStep();
  EXPECT_EQ(live_bytes(), before);
}

}  // namespace
}  // namespace graphtree
