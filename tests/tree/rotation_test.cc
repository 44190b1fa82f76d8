// More sizes in rotation than there are places: those that have places keep them, and the surplus
// runs eagerly, counted and told once. What the rule costs at every length is in
// graphs/admission_test.cc.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "graphs/budget.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class RotationTest : public TreeTest {
 protected:
  void OpenWith(TreeBudget budget) {
    OpenTree({.budget = budget});
    x_ = Given(1);
    sized_ = Register("sized", {}, [](Launcher& on, Values& inputs) {
      return Values{Sum(on, inputs[1], inputs[1])};
    });
  }
  Values CallSized(uint64_t size) {
    NewStep();
    return Call(sized_, {Value::Integer(static_cast<int64_t>(size)), x_});
  }
  void Rotate(uint64_t sizes, uint64_t passes) {
    for (uint64_t call = 0; call < sizes * passes; ++call) CallSized(call % sizes);
  }
  void ExpectTheSurplusEager(uint64_t sizes, uint64_t passes, uint64_t places) {
    const uint64_t placed = std::min(sizes, places);
    const uint64_t surplus = (sizes - placed) * passes;
    EXPECT_EQ(graphs(), placed) << "of " << sizes << " sizes";
    EXPECT_EQ(replays(), placed * (passes - 2)) << "of " << sizes << " sizes";
    EXPECT_EQ(eager(), surplus) << "of " << sizes << " sizes";
    EXPECT_EQ(reasons(Reason::kShapeLimit), surplus) << "of " << sizes << " sizes";
    EXPECT_EQ(reasons(Reason::kShapeEvicted), 0u) << "of " << sizes << " sizes";
  }
  int WarningsThatSay(const std::string& text) const {
    return static_cast<int>(
        std::count_if(warnings().begin(), warnings().end(), [&](const std::string& warning) {
          return warning.find(text) != std::string::npos;
        }));
  }

  Tensor x_;
  FunctionId sized_ = 0;
};
GRAPHTREE_ON_EVERY_DEVICE(RotationTest);

TEST_P(RotationTest, SizesBeyondTheBudgetRunEagerly) {
  constexpr uint64_t kPlaces = 128, kPasses = 4;
  for (const uint64_t sizes : {128, 129, 256, 273, 300, 700}) {
    OpenWith({});
    Rotate(sizes, kPasses);
    ExpectTheSurplusEager(sizes, kPasses, kPlaces);
    EXPECT_EQ(WarningsThatSay("more shapes than may be recorded"), sizes > kPlaces ? 1 : 0);
    EXPECT_EQ(Read(CallSized(sizes - 1)[0]), Times(PatternOf(1), 2));
  }
}

TEST_P(RotationTest, EveryLengthWithAFewPlaces) {
  constexpr uint64_t kPlaces = 4, kPasses = 6;
  for (uint64_t sizes = 1; sizes <= 48; ++sizes) {
    OpenWith({.shapes_of_function = kPlaces, .half_life = 32});
    Rotate(sizes, kPasses);
    ExpectTheSurplusEager(sizes, kPasses, kPlaces);
  }
}

// The places of a tree, with a function of one shape each.
TEST_P(RotationTest, FunctionsBeyondTheBudgetRunEagerly) {
  constexpr uint64_t kPlaces = 6, kPasses = 6, kFunctions = 20;
  OpenWith({.shapes = kPlaces});
  std::vector<FunctionId> functions;
  for (uint64_t i = 0; i < kFunctions; ++i) {
    functions.push_back(Register("f" + std::to_string(i), {}, Twice));
  }
  for (uint64_t pass = 0; pass < kPasses; ++pass) {
    for (const FunctionId function : functions) CallInSteps(1, function, {x_});
  }
  ExpectTheSurplusEager(kFunctions, kPasses, kPlaces);
}

// A size that is called more and more comes to have a place, out of hundreds that it is one of.
TEST_P(RotationTest, WhoLeadsTheRotationIsRecorded) {
  OpenWith({.shapes_of_function = 16, .half_life = 512});
  Rotate(100, 4);
  for (int round = 0; round < 20; ++round) {
    CallSized(99);
    CallSized(static_cast<uint64_t>(round));
  }
  const uint64_t before = replays();
  for (int call = 0; call < 10; ++call) CallSized(99);
  EXPECT_EQ(replays(), before + 10);
  EXPECT_EQ(tree().stats().shapes, 16u);
  EXPECT_EQ(reasons(Reason::kShapeEvicted), 1u);
}

}  // namespace
}  // namespace graphtree
