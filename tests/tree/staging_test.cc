// An input that moves and that all functions of a path take: each copies it by itself, or a
// function of its own does so once, and the others have it at one address.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class StagingTest : public TreeTest {
 protected:
  static constexpr int kFunctions = 14;

  void RegisterPath() {
    for (int i = 0; i < kFunctions; ++i) {
      path_.push_back(Register("f" + std::to_string(i), {}, AddBoth));
    }
  }
  // x + 14 times the position.
  void CallPath(const Value& x, const Value& position) {
    Value sum = x;
    for (const FunctionId function : path_) {
      Values inputs = Gathered(std::move(sum), Value(position));
      sum = Call(function, std::move(inputs))[0];
    }
    last_ = Read(sum);
  }

  std::vector<FunctionId> path_;
  Words last_;
};
GRAPHTREE_ON_EVERY_DEVICE(StagingTest);

TEST_P(StagingTest, AFunctionThatCopiesItLeavesOneCopy) {
  RegisterPath();
  const FunctionId stages = Register("stages", {}, [](Launcher& on, Values& inputs) {
    const Tensor position = Tensor::From(inputs[0]);
    const Tensor copy = on.Empty(position.layout());
    on.Copy(copy, position);
    return Values{copy};
  });
  const Tensor x = Given(1);
  const std::vector<Tensor> positions = {Given(2), Given(3), Given(4)};
  for (uint32_t step = 0; step < 9; ++step) {
    NewStep();
    const Value staged = Call(stages, {positions[step % 3]})[0];
    CallPath(x, staged);
    EXPECT_EQ(last_, Plus(PatternOf(1), Times(PatternOf(2 + step % 3), kFunctions)));
  }
  // The position into the first function's graph, and x into the one behind it.
  EXPECT_EQ(tree().stats().copied_inputs, 2u);
  EXPECT_EQ(graphs(), kFunctions + 1u);
  EXPECT_EQ(replays(), 7u * (kFunctions + 1)) << "all of every step but the first two";
}

TEST_P(StagingTest, WithoutItEachCopies) {
  RegisterPath();
  const Tensor x = Given(1);
  const std::vector<Tensor> positions = {Given(2), Given(3), Given(4)};
  for (uint32_t step = 0; step < 9; ++step) {
    NewStep();
    CallPath(x, positions[step % 3]);
    EXPECT_EQ(last_, Plus(PatternOf(1), Times(PatternOf(2 + step % 3), kFunctions)));
  }
  EXPECT_EQ(tree().stats().copied_inputs, kFunctions + 1u);
  EXPECT_EQ(replays(), 7u * kFunctions);
}

}  // namespace
}  // namespace graphtree
