// Forms of outputs: each kind against each other one, what differs in every run, and counts.
#include "graphs/check/output_compare.h"

#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

const Layout* Four() { return Layout::Of(DType::kF32, {4}); }

// All differ from each other.
Values OneOfEach() {
  const auto object = std::make_shared<int>(1);
  return {Value(),
          Value::Integer(7),
          Value::Integer(0),
          Value::Integer(-1),
          Value::Opaque(object),
          Value::Opaque(object, 0),
          Value::Opaque(object, 7),
          Value::Consumed(),
          Tensor::Foreign(0x1000, Four()),
          Tensor::Foreign(0x2000, Four()),
          Tensor::Foreign(0x1000, Layout::Of(DType::kI32, {4})),
          Tensor::Foreign(0x1000, Layout::Of(DType::kF32, {2, 2})),
          Tensor::Foreign(0x1000, Layout::Strided(DType::kF32, {2}, {2})),
          Tensor::Foreign(0x1000, Layout::Of(DType::kF32, {0}))};
}

OutputForms Forms(const Value& value) { return FormsOf({value}); }

TEST(OutputCompareTest, EachIsTheSameAsItselfAndNoOther) {
  const Values all = OneOfEach();
  for (size_t one = 0; one < all.size(); ++one) {
    for (size_t other = 0; other < all.size(); ++other) {
      const std::string text =
          FirstFormDifference(Forms(all[one]), Forms(all[one]), Forms(all[other]));
      EXPECT_EQ(text.empty(), one == other) << one << " and " << other << ": " << text;
    }
  }
}

TEST(OutputCompareTest, AnotherObjectIsTheSame) {
  const Value one = Value::Opaque(std::make_shared<int>(1));
  const Value other = Value::Opaque(std::make_shared<int>(2));
  EXPECT_EQ(FirstFormDifference(Forms(one), Forms(one), Forms(other)), "");
}

TEST(OutputCompareTest, WhatDiffersInEveryRunIsToldIfNoRunMakesIt) {
  const OutputForms seven = Forms(Value::Integer(7)), eight = Forms(Value::Integer(8));
  EXPECT_EQ(FirstFormDifference(seven, eight, seven), "");
  EXPECT_EQ(FirstFormDifference(eight, seven, seven), "");
  EXPECT_EQ(FirstFormDifference(eight, Forms(Value::Integer(9)), seven),
            "output 0 is the integer 7 in the replay, and the integer 8 in a run of its body");
}

TEST(OutputCompareTest, MemoryOfTheCallersThatIsAnotherInEveryRunSaysNothing) {
  const OutputForms one = Forms(Tensor::Foreign(0x1000, Four()));
  const OutputForms two = Forms(Tensor::Foreign(0x2000, Four()));
  const OutputForms three = Forms(Tensor::Foreign(0x3000, Four()));
  EXPECT_EQ(FirstFormDifference(one, two, three), "");
  EXPECT_EQ(FirstFormDifference(one, one, three),
            "output 0 is memory of the caller's at 0x3000 in the replay, and at 0x1000 in a run of "
            "its body");
}

TEST(OutputCompareTest, CountsAreCompared) {
  const OutputForms one = FormsOf(Values(1)), two = FormsOf(Values(2)), three = FormsOf(Values(3));
  EXPECT_EQ(FirstFormDifference(one, two, two), "");
  EXPECT_EQ(FirstFormDifference(two, one, two), "");
  EXPECT_EQ(FirstFormDifference(three, three, two),
            "it has 2 outputs in the replay, and 3 in a run of its body");
  EXPECT_EQ(FirstFormDifference({}, {}, {}), "");
}

// Against the rule, said in the plainest way.
TEST(OutputCompareTest, FindsTheFirstOfRandomOutputs) {
  const Values all = OneOfEach();
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const size_t count = 1 + random() % 5;
    Values run, again, replay;
    std::string expected;
    for (size_t i = 0; i < count; ++i) {
      const size_t usual = random() % 8;
      const auto draw = [&] { return random() % 4 == 0 ? random() % 8 : usual; };
      const size_t numbers[] = {draw(), draw(), draw()};
      run.push_back(all[numbers[0]]);
      again.push_back(all[numbers[1]]);
      replay.push_back(all[numbers[2]]);
      const bool differs = numbers[0] != numbers[2] && numbers[1] != numbers[2];
      if (differs && expected.empty()) expected = "output " + std::to_string(i) + " ";
    }
    const std::string text = FirstFormDifference(FormsOf(run), FormsOf(again), FormsOf(replay));
    EXPECT_EQ(text.empty(), expected.empty()) << "seed " << seed << ": " << text;
    EXPECT_EQ(text.rfind(expected, 0), 0u) << "seed " << seed << ": " << text;
  }
}

TEST(OutputCompareTest, BytesAreComparedOfOneLayout) {
  const OutputForms four = Forms(Tensor::Foreign(0x1000, Four()));
  const OutputForms moved = Forms(Tensor::Foreign(0x2000, Four()));
  const OutputForms other = Forms(Tensor::Foreign(0x1000, Layout::Of(DType::kF32, {2, 2})));
  const OutputForms integer = Forms(Value::Integer(4));
  EXPECT_TRUE(HaveOneForm(0, four, moved, four));
  EXPECT_FALSE(HaveOneForm(0, four, four, other));
  EXPECT_FALSE(HaveOneForm(0, four, other, four));
  EXPECT_FALSE(HaveOneForm(0, other, four, four));
  EXPECT_FALSE(HaveOneForm(0, integer, integer, integer));
  EXPECT_FALSE(HaveOneForm(1, four, four, four));
  EXPECT_FALSE(HaveOneForm(0, four, {}, four));
}

}  // namespace
}  // namespace graphtree
