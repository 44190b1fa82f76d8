// A function that no budget has room for, called in turn with others that have their recordings. It
// costs these next to nothing, however often it comes, and is counted and told.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graphs/budget.h"
#include "graphs/shared_budget.h"
#include "graphs/tree.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using testing::Contains;
using testing::HasSubstr;

class TooLargeTest : public TreeTest {
 protected:
  static constexpr uint64_t kRounds = 100;
  // The first two failures may be accidents; then pauses double.
  static constexpr uint64_t kMostAttempts = 10;

  void Open(const TreeOptions& options) {
    OpenTree(options);
    x_ = Given(1);
  }
  // x -> x + x by so many ops more than one, with a break in the middle or without.
  FunctionId Large(int ops, bool breaks) {
    return Register("large", {}, [ops, breaks](Launcher& on, Values& inputs) {
      const Tensor zero = on.Empty(DType::kI32, {kWords});
      on.Fill(zero, 0);
      Tensor sum = Sum(on, inputs[0], inputs[0]);
      if (breaks) on.Break("half", {InOut(sum)}, [](Launcher&, absl::Span<const Tensor>) {});
      for (int i = 0; i < ops; ++i) sum = Sum(on, sum, zero);
      return Values{sum};
    });
  }
  std::vector<FunctionId> Small(int count) {
    std::vector<FunctionId> small;
    for (int i = 0; i < count; ++i) {
      small.push_back(Register("small" + std::to_string(i), {}, Twice));
      for (int call = 0; call < 3; ++call) CallAlone(small.back());
    }
    return small;
  }
  void CallAlone(FunctionId function) {
    NewStep();
    EXPECT_EQ(Read(Call(function, {x_})[0]), Times(PatternOf(1), 2));
  }
  // Calls of the small ones that were not replayed.
  uint64_t Misses(FunctionId large, const std::vector<FunctionId>& small) {
    const uint64_t before = replays();
    for (uint64_t round = 0; round < kRounds; ++round) {
      CallAlone(large);
      for (const FunctionId function : small) CallAlone(function);
    }
    return kRounds * small.size() - (replays() - before);
  }
  void ExpectTold(const std::string& option) {
    EXPECT_GE(reasons(Reason::kOverBudget), 1u);
    EXPECT_LE(reasons(Reason::kOverBudget), kMostAttempts);
    EXPECT_EQ(reasons(Reason::kOverBudget) + reasons(Reason::kPaused), kRounds - 1);
    EXPECT_THAT(warnings(), Contains(AllOf(HasSubstr("'large' runs eagerly"), HasSubstr(option))));
  }

  Tensor x_;
};
GRAPHTREE_ON_EVERY_DEVICE(TooLargeTest);

TEST_P(TooLargeTest, ForTheBytesOfExecutables) {
  for (const bool breaks : {false, true}) {
    Open({});
    Small(3);
    const uint64_t bytes = tree().stats().executable_bytes;
    Open({.budget = {.executable_bytes = bytes}});
    const std::vector<FunctionId> small = Small(3);
    EXPECT_EQ(Misses(Large(200, breaks), small), 0u);
    EXPECT_LE(tree().stats().instantiated_again, 3 * kMostAttempts);
    ExpectTold("TreeBudget::executable_bytes");
  }
}

// A recording goes for it before it is known to be too large.
TEST_P(TooLargeTest, WhereTheNodesAreFullToo) {
  Open({});
  Small(3);
  const uint64_t bytes = tree().stats().executable_bytes;
  Open({.budget = {.nodes = 3, .executable_bytes = bytes}});
  const std::vector<FunctionId> small = Small(3);
  EXPECT_LE(Misses(Large(200, false), small), kMostAttempts);
  EXPECT_LE(graphs(), 3 + kMostAttempts);
  ExpectTold("TreeBudget::executable_bytes");
}

TEST_P(TooLargeTest, ForTheNumberOfExecutables) {
  Open({.budget = {.executables = 1}});
  const std::vector<FunctionId> small = Small(1);
  EXPECT_EQ(Misses(Large(2, true), small), 0u);
  EXPECT_LE(tree().stats().instantiated_again, kMostAttempts);
  ExpectTold("TreeBudget::executables");
}

// It fitted once. Other trees have what it would need now, and each call of it would evict what
// fits, for its first section.
TEST_P(TooLargeTest, ForWhatOtherTreesHaveLeft) {
  const auto shared = std::make_shared<SharedBudget>(Share{.executables = 3});
  Open({.shared_budget = shared});
  const FunctionId large = Large(2, true);
  for (int call = 0; call < 3; ++call) CallAlone(large);
  const std::vector<FunctionId> small = Small(1);
  ASSERT_EQ(tree().stats().executables, 3u);
  {
    NewStep();
    const Values held = Call(small[0], {x_});  // so that it stays
    tree().GiveUp({.nodes = 4, .executables = 1, .executable_bytes = uint64_t{1} << 40});
  }
  ASSERT_EQ(tree().stats().executables, 1u);

  const auto other = Tree::Create(device(), {.shared_budget = shared});
  ASSERT_THAT(other, IsOk());
  for (const char* name : {"its first", "its second"}) {
    const FunctionId function = (*other)->Register(name, {}, Twice);
    for (int call = 0; call < 3; ++call) {
      (*other)->BeginStep();
      ASSERT_THAT((*other)->Run(function, Values{x_}, a()), IsOk());
    }
  }
  ASSERT_EQ((*other)->stats().executables, 2u);

  EXPECT_EQ(Misses(large, small), 0u);
  EXPECT_EQ(tree().stats().instantiated_again, 0u);
  EXPECT_EQ(reasons(Reason::kOverBudget), kRounds);
  EXPECT_THAT(warnings(), Contains(AllOf(HasSubstr("'large' runs eagerly"),
                                         HasSubstr("instantiating 2 graphs of one recording"))));
}

}  // namespace
}  // namespace graphtree
