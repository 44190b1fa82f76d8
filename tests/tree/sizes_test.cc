// Rows about functions that come in many sizes: the list of sizes to record, and the warning.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class SizesTest : public TreeTest {
 protected:
  using Size = std::vector<int64_t>;

  // A function of that many integers and a tensor: x + x.
  FunctionId RegisterSized(int integers, FunctionOptions options) {
    return Register("sized", std::move(options), [integers](Launcher& on, Values& inputs) {
      return Values{Sum(on, inputs[integers], inputs[integers])};
    });
  }
  void CallWith(FunctionId function, const Size& size) {
    NewStep();
    Values inputs;
    for (int64_t integer : size) inputs.push_back(Value::Integer(integer));
    inputs.push_back(x_);
    EXPECT_EQ(Read(Call(function, std::move(inputs))[0]), Times(PatternOf(1), 2));
  }
  void MakeInput() { x_ = Given(1); }

  Tensor x_;
};
GRAPHTREE_ON_EVERY_DEVICE(SizesTest);

TEST_P(SizesTest, CudagraphCaptureSizes) {
  MakeInput();
  const FunctionId function = RegisterSized(1, {.recorded_sizes = {{2}, {5}, {7}}});
  for (int64_t size = 1; size <= 9; ++size) {
    for (int round = 0; round < 3; ++round) CallWith(function, {size});
  }
  EXPECT_EQ(graphs(), 3u);
  EXPECT_EQ(reasons(Reason::kSizeNotListed), 18u);
  EXPECT_EQ(eager(), 18u);
  EXPECT_EQ(tree().stats().shapes, 3u) << "sizes that are not listed have no place";
  EXPECT_TRUE(warnings().empty());
}

TEST_P(SizesTest, CudagraphCaptureSizes1) {
  MakeInput();
  const FunctionId function =
      RegisterSized(2, {.recorded_sizes = {{1, 2}, {3, 4}, {5, 6}, {8, 8}}});
  for (int64_t a = 1; a <= 8; ++a) {
    for (int64_t b = 1; b <= 8; ++b) {
      for (int round = 0; round < 3; ++round) CallWith(function, {a, b});
    }
  }
  EXPECT_EQ(graphs(), 4u);
  EXPECT_EQ(reasons(Reason::kSizeNotListed), 60u * 3);
}

TEST_P(SizesTest, CudagraphCaptureSizes2) {
  MakeInput();
  const FunctionId function =
      RegisterSized(3, {.recorded_sizes = {{1, 2, 3}, {1, 1, 1}, {3, 3, 3}, {2, 3, 1}}});
  for (int64_t a = 1; a <= 3; ++a) {
    for (int64_t b = 1; b <= 3; ++b) {
      for (int64_t c = 1; c <= 3; ++c) {
        for (int round = 0; round < 3; ++round) CallWith(function, {a, b, c});
      }
    }
  }
  EXPECT_EQ(graphs(), 4u);
}

// Where a call has no integers its size is the first dimension of its first tensor.
TEST_P(SizesTest, SizesOfTensorsAreListedByTheirFirstDimension) {
  const FunctionId function =
      Register("doubles", {.static_inputs = {0}, .recorded_sizes = {{16}, {32}}},
               [](Launcher& on, Values& inputs) { return Values{Sum(on, inputs[1], inputs[1])}; });
  const Tensor weight = Given(9, 8);
  for (int64_t words : {8, 16, 24, 32}) {
    const Tensor x = Given(3, words);
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(Read(CallInSteps(1, function, {weight, x})[0]), Times(Pattern(3, words), 2));
    }
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(reasons(Reason::kSizeNotListed), 6u);
}

TEST_P(SizesTest, AListIsNoErrorInStrictMode) {
  OpenTree({.strict = true});
  MakeInput();
  const FunctionId function = RegisterSized(1, {.recorded_sizes = {{2}}});
  for (int64_t size : {1, 2, 2, 2, 3}) CallWith(function, {size});
  EXPECT_EQ(graphs(), 1u);
}

// What was recorded for the first size goes with it, and a list of sizes is another thing.
TEST_P(SizesTest, CudagraphSkipDynamicGraphs) {
  MakeInput();
  const FunctionId function =
      RegisterSized(1, {.skip_varying_sizes = true, .input_names = {"length"}});
  const FunctionId other = RegisterSized(1, {});
  for (int round = 0; round < 4; ++round) CallWith(function, {5});
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 2u);
  EXPECT_TRUE(warnings().empty());
  CallWith(function, {7});
  EXPECT_EQ(tree().stats().nodes, 0u);
  EXPECT_EQ(tree().stats().shapes, 0u);
  EXPECT_EQ(reasons(Reason::kFunctionEvicted), 1u);
  for (int round = 0; round < 4; ++round) CallWith(function, {5});
  EXPECT_EQ(reasons(Reason::kSizesVary), 5u);
  EXPECT_EQ(eager(), 5u);
  EXPECT_EQ(graphs(), 1u);
  ASSERT_EQ(warnings().size(), 1u) << "told once";
  for (const char* part : {"'sized'", "skip_varying_sizes", "input 0 ('length') is 7 after 5"}) {
    EXPECT_NE(warnings()[0].find(part), std::string::npos) << warnings()[0];
  }
  for (int64_t size : {5, 5, 5, 7, 7, 7}) CallWith(other, {size});
  EXPECT_EQ(graphs(), 3u) << "of another function nothing is said";
}

TEST_P(SizesTest, CudagraphSkipDynamicGraphsOfATree) {
  OpenTree({.strict = true, .skip_varying_sizes = true});
  const FunctionId doubles = Register("doubles", {}, Twice);
  for (int64_t words : {16, 16, 16, 32, 32, 16}) {
    EXPECT_EQ(Read(CallInSteps(1, doubles, {Given(3, words)})[0]), Times(Pattern(3, words), 2))
        << "no error in strict mode";
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(reasons(Reason::kSizesVary), 3u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("input 0 has sizes [32] after [16]"), std::string::npos)
      << warnings()[0];
}

// The first size is on the path in force: its output is good until its step ends.
TEST_P(SizesTest, ASizeThatVariesBehindItself) {
  MakeInput();
  const FunctionId function = RegisterSized(1, {.skip_varying_sizes = true});
  for (int round = 0; round < 3; ++round) CallWith(function, {5});
  NewStep();
  const Value held = Call(function, {Value::Integer(5), x_})[0];
  EXPECT_EQ(Read(Call(function, {Value::Integer(7), x_})[0]), Times(PatternOf(1), 2));
  EXPECT_EQ(Read(Call(function, {Value::Integer(5), x_})[0]), Times(PatternOf(1), 2));
  EXPECT_EQ(Read(held), Times(PatternOf(1), 2));
  EXPECT_EQ(tree().stats().nodes, 1u);
  NewStep();
  EXPECT_EQ(tree().stats().nodes, 0u);
}

TEST_P(SizesTest, SizesThatAreNotListedDoNotVary) {
  MakeInput();
  const FunctionId function =
      RegisterSized(1, {.recorded_sizes = {{2}}, .skip_varying_sizes = true});
  for (int64_t size : {1, 2, 3, 2, 4, 2}) CallWith(function, {size});
  EXPECT_EQ(reasons(Reason::kSizesVary), 0u);
  EXPECT_EQ(reasons(Reason::kSizeNotListed), 3u);
  EXPECT_EQ(graphs(), 1u);
}

TEST_P(SizesTest, SkipIfDynamicShapeLimitReached1) {
  OpenTree({.shape_warn_limit = 1});
  MakeInput();
  const FunctionId function = RegisterSized(1, {});
  for (int64_t size : {10, 20, 30}) {
    for (int round = 0; round < 3; ++round) CallWith(function, {size});
  }
  ASSERT_EQ(warnings().size(), 1u);
  for (const char* part : {"'sized'", "2 distinct sizes", "recorded_sizes", "shape_warn_limit"}) {
    EXPECT_NE(warnings()[0].find(part), std::string::npos) << warnings()[0];
  }
  EXPECT_EQ(graphs(), 3u) << "a warning refuses nothing";
}

TEST_P(SizesTest, SkipIfDynamicShapeLimitReached2) {
  OpenTree({.shape_warn_limit = 1});
  MakeInput();
  const FunctionId function = RegisterSized(2, {});
  for (int64_t batch : {1, 2, 4}) {
    for (int64_t length : {8, 16}) CallWith(function, {batch, length});
  }
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("2 distinct sizes"), std::string::npos) << warnings()[0];
}

TEST_P(SizesTest, WarnOnceIfDynamicShapeLimitReached) {
  MakeInput();
  const FunctionId function = RegisterSized(1, {});
  for (int64_t size = 1; size < 20; ++size) CallWith(function, {size});
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("9 distinct sizes"), std::string::npos) << warnings()[0];
}

}  // namespace
}  // namespace graphtree
