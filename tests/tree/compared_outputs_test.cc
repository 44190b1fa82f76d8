// Outputs of every kind, in every order, of replays that are compared: by Tree::RunCompared, and in
// checked mode. What is the same is never told, and what is not is told by the output's number.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "graphs/reports/parity.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

using Maker = std::function<Value(Launcher& on, const Values& inputs)>;

Value Nothing(Launcher&, const Values&) { return {}; }
Value Integer(Launcher&, const Values&) { return Value::Integer(7); }
Value NewObject(Launcher&, const Values&) { return Value::Opaque(std::make_shared<int>(1)); }
Value Versioned(Launcher&, const Values&) { return Value::Opaque(std::make_shared<int>(1), 4); }
Value Summed(Launcher& on, const Values& inputs) { return Sum(on, inputs[0], inputs[0]); }
Value NoBytes(Launcher& on, const Values&) { return on.Empty(DType::kI32, {0}); }
Value Shaped(Launcher& on, const Layout* layout) {
  const Tensor filled = Filled(on, 3, layout->elements());
  return filled.defined() ? filled.View(layout, 0) : filled;
}
Value ThreeByFive(Launcher& on, const Values&) {
  return Shaped(on, Layout::Of(DType::kI32, {3, 5}));
}
Value TheInput(Launcher&, const Values& inputs) { return inputs[0]; }
Value ViewOfTheInput(Launcher&, const Values& inputs) { return Slice(inputs[0], 5, 9); }
Value EndOfTheInput(Launcher&, const Values& inputs) { return Slice(inputs[0], 48, 0); }
Value ViewOfSum(Launcher& on, const Values& inputs) {
  const Tensor sum = Sum(on, inputs[0], inputs[0]);
  return sum.defined() ? Slice(sum, 3, 7) : sum;
}
Value EveryThirdOfSum(Launcher& on, const Values& inputs) {
  const Tensor sum = Sum(on, inputs[0], inputs[0]);
  if (!sum.defined()) return sum;
  return sum.View(Layout::Strided(DType::kI32, {4, 2}, {9, 3}), 4);
}

const std::vector<Maker>& Makers() {
  static const auto* const makers = new std::vector<Maker>{
      Nothing,  Integer,       NewObject,      Versioned,     Summed,    NoBytes,
      TheInput, ViewOfTheInput, EndOfTheInput, ViewOfSum, EveryThirdOfSum, ThreeByFive};
  return *makers;
}

class ComparedOutputsTest : public TreeTest {
 protected:
  void OpenChecked() {
    TreeOptions options;
    options.check = options.compare_replays = true;
    OpenTree(options);
  }
  ParityResult Compared(FunctionId function, Values inputs, Values* outputs) {
    ParityResult result;
    NewStep();
    EXPECT_THAT(tree().RunCompared(function, absl::MakeSpan(inputs), a(), outputs, {.absolute = 1},
                                   &result),
                IsOk());
    return result;
  }
  // Every pair of kinds, and some triples, drawn by lot.
  void CompareKinds(bool are_kept);
  void CompareThese(const std::vector<size_t>& kinds, bool are_kept, const Tensor& x);
  // What is said of a replay whose body, from the recording on, makes another output 1.
  std::string Told(Maker recorded, Maker now) {
    const auto made = std::make_shared<Maker>(std::move(recorded));
    const FunctionId function = Register("step", {}, [made](Launcher& on, Values& inputs) {
      return Values{Value::Integer(1), (*made)(on, inputs), Sum(on, inputs[0], inputs[0])};
    });
    const Tensor x = Given(1);
    Values out = CallInSteps(3, function, {x});
    *made = std::move(now);
    const ParityResult result = Compared(function, {x}, &out);
    EXPECT_EQ(result.parity, result.text.empty() ? Parity::kSame : Parity::kDiffers);
    EXPECT_EQ(Read(out[2]), Times(PatternOf(1), 2));
    return result.text;
  }
  // The same of checked mode, which compares the first replay.
  std::string Warned(Maker recorded, Maker now) {
    OpenChecked();
    const auto made = std::make_shared<Maker>(std::move(recorded));
    const FunctionId function = Register("step", {}, [made](Launcher& on, Values& inputs) {
      return Values{Value::Integer(1), (*made)(on, inputs), Sum(on, inputs[0], inputs[0])};
    });
    const Tensor x = Given(1);
    CallInSteps(2, function, {x});
    *made = std::move(now);
    const Values out = CallInSteps(1, function, {x});
    EXPECT_EQ(Read(out[2]), Times(PatternOf(1), 2));
    EXPECT_EQ(replays(), 1u);
    return warnings().empty() ? "" : warnings()[0];
  }
};
GRAPHTREE_ON_EVERY_DEVICE(ComparedOutputsTest);

void ComparedOutputsTest::CompareThese(const std::vector<size_t>& kinds, bool are_kept,
                                       const Tensor& x) {
  FunctionOptions options;
  for (uint32_t i = 0; are_kept && i < kinds.size(); ++i) options.kept_outputs.push_back(i);
  const FunctionId function = Register("step", options, [kinds](Launcher& on, Values& inputs) {
    Values outputs;
    for (const size_t kind : kinds) outputs.push_back(Makers()[kind](on, inputs));
    return outputs;
  });
  Values out;
  for (int step = 0; step < 4; ++step) {
    const ParityResult result = Compared(function, {x}, &out);
    ASSERT_EQ(result.parity, step < 2 ? Parity::kNotCompared : Parity::kSame) << result.text;
    ASSERT_THAT(a().Synchronize(), IsOk());
  }
  EXPECT_EQ(tree().last_call().route, CallRoute::kReplayed);
  out.clear();
  ASSERT_THAT(tree().Unregister(function), IsOk());
}

void ComparedOutputsTest::CompareKinds(bool are_kept) {
  constexpr uint32_t kTriples = 30;
  const Tensor x = Given(1);
  const size_t kinds = Makers().size();
  std::mt19937 random(5);
  for (size_t i = 0; i < kinds * kinds + kTriples && !HasFatalFailure(); ++i) {
    std::vector<size_t> chosen = {i % kinds, i / kinds};
    if (i >= kinds * kinds) chosen = {random() % kinds, random() % kinds, random() % kinds};
    SCOPED_TRACE(testing::PrintToString(chosen));
    CompareThese(chosen, are_kept, x);
  }
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_P(ComparedOutputsTest, OfAnyKindsAndInAnyOrderAreTheSame) { CompareKinds(false); }

TEST_P(ComparedOutputsTest, KeptOnes) { CompareKinds(true); }

TEST_P(ComparedOutputsTest, AlsoInCheckedMode) {
  OpenChecked();
  CompareKinds(false);
}

Value Another(Launcher&, const Values&) { return Value::Integer(8); }
Value AnotherVersion(Launcher&, const Values&) {
  return Value::Opaque(std::make_shared<int>(1), 5);
}
Value FiveByThree(Launcher& on, const Values&) {
  return Shaped(on, Layout::Of(DType::kI32, {5, 3}));
}

struct DifferenceCase {
  Maker recorded;
  Maker now;
  const char* text;
};

const std::vector<DifferenceCase>& Differences() {
  static const auto* const differences = new std::vector<DifferenceCase>{
      {Integer, Another, "output 1 is the integer 7 in the replay, and the integer 8 in a run"},
      {Integer, Nothing, "output 1 is the integer 7 in the replay, and nothing in a run"},
      {Nothing, Integer, "output 1 is nothing in the replay, and the integer 7 in a run"},
      {Versioned, AnotherVersion, "output 1 is an opaque object of version 4 in the replay, and an "
                                  "opaque object of version 5 in a run"},
      {NewObject, Versioned, "output 1 is an opaque object in the replay, and an opaque object of "
                             "version 4 in a run"},
      {Summed, NoBytes, "output 1 is a tensor of i32[48] in the replay, and a tensor of i32[0]"},
      {NoBytes, Summed, "output 1 is a tensor of i32[0] in the replay, and a tensor of i32[48]"},
      {Summed, Integer, "output 1 is a tensor of i32[48] in the replay, and the integer 7"},
      {Integer, Summed, "output 1 is the integer 7 in the replay, and a tensor of i32[48]"},
      {ThreeByFive, FiveByThree, "output 1 is a tensor of i32[3,5] in the replay, and a tensor of "
                                 "i32[5,3]"},
      {TheInput, ViewOfTheInput, "output 1 is a tensor of i32[48] in the replay, and a tensor of "
                                 "i32[9]"},
  };
  return *differences;
}

TEST_P(ComparedOutputsTest, AnotherOneIsTold) {
  for (const DifferenceCase& one : Differences()) {
    EXPECT_THAT(Told(one.recorded, one.now), HasSubstr(one.text));
    EXPECT_THAT(Told(one.recorded, one.recorded), "");
  }
}

TEST_P(ComparedOutputsTest, AnotherOneIsWarnedOfInCheckedMode) {
  for (const DifferenceCase& one : Differences()) {
    EXPECT_THAT(Warned(one.recorded, one.now),
                AllOf(HasSubstr("a replay of 'step'"), HasSubstr(one.text)));
    EXPECT_THAT(Warned(one.recorded, one.recorded), "");
  }
}

// A body that makes another output in each run is told only where no run makes the replay's.
TEST_P(ComparedOutputsTest, OneThatDiffersInEveryRunIsToldIfNoRunMakesIt) {
  const auto in_turns = [](int64_t first, int64_t second) -> Maker {
    return [first, second, runs = 0](Launcher&, const Values&) mutable {
      return Value::Integer(runs++ % 2 == 0 ? first : second);
    };
  };
  EXPECT_EQ(Told(Integer, in_turns(7, 8)), "");
  EXPECT_EQ(Told(Integer, in_turns(8, 7)), "");
  EXPECT_THAT(Told(Integer, in_turns(8, 9)), HasSubstr("output 1 is the integer 7 in the replay"));
  EXPECT_EQ(Warned(Integer, in_turns(7, 8)), "");
  EXPECT_EQ(Warned(Integer, in_turns(8, 7)), "");
  EXPECT_THAT(Warned(Integer, in_turns(8, 9)),
              HasSubstr("output 1 is the integer 7 in the replay"));
}

TEST_P(ComparedOutputsTest, AnotherNumberOfThemIsTold) {
  for (const bool is_checked : {false, true}) {
    if (is_checked) OpenChecked();
    size_t count = 2;
    const FunctionId function = Register("step", {}, [&count](Launcher&, Values& inputs) {
      return Values(count, inputs[0]);
    });
    const Tensor x = Given(1);
    CallInSteps(2, function, {x});
    count = 3;
    Values out;
    const ParityResult result = Compared(function, {x}, &out);
    EXPECT_EQ(out.size(), 2u);
    EXPECT_EQ(result.parity, Parity::kDiffers);
    EXPECT_THAT(result.text, HasSubstr("has 2 outputs in the replay, and 3 in a run of its body"));
    if (!is_checked) continue;
    ASSERT_EQ(warnings().size(), 1u);
    EXPECT_THAT(warnings()[0],
                HasSubstr("has 2 outputs in the replay, and 3 in a run of its body"));
  }
}

// What the body returns is its caller's memory: other memory with the same bytes is another output.
TEST_P(ComparedOutputsTest, OtherMemoryOfTheCallersIsTold) {
  const Tensor one = Given(3), other = Given(3);
  const auto returns = [](const Tensor& tensor) -> Maker {
    return [tensor](Launcher&, const Values&) { return tensor; };
  };
  EXPECT_EQ(Told(returns(one), returns(one)), "");
  EXPECT_THAT(Told(returns(one), returns(other)), HasSubstr("output 1 is memory of the caller's"));
  EXPECT_THAT(Warned(returns(one), returns(other)),
              HasSubstr("output 1 is memory of the caller's"));
}

}  // namespace
}  // namespace graphtree
