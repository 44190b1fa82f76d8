// What the tests of the tree stand on: a tree on every device of the conformance suite, tensors of
// the caller's own, and the numbers that the tests are about.
//
//   TEST_P(LivenessTest, SomeRow) {
//     const FunctionId twice = Register("twice", {}, Twice);
//     NewStep();
//     Values out = Call(twice, {Given(7)});
//     EXPECT_EQ(Read(out[0]), Times(Pattern(7, kWords), 2));
//     EXPECT_EQ(live(), 1u);
//
// Calls go to stream a(). A test named like a row of the table in graphs/README.md is that row.
#ifndef GRAPHTREE_TESTS_TREE_TREE_FIXTURE_H_
#define GRAPHTREE_TESTS_TREE_TREE_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graphs/launcher.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "tests/conformance/conformance.h"
#include "tests/tree/bodies.h"

namespace graphtree {

class TreeTest : public ConformanceTest {
 protected:
  static constexpr int64_t kWords = 48;
  static constexpr size_t kMostOutputs = 8;

  void SetUp() override;
  void TearDown() override;

  // Another tree in place of the present one, which is closed.
  void OpenTree(TreeOptions options);
  void CloseTree() { tree_.reset(); }
  Tree& tree() { return *tree_; }

  FunctionId Register(std::string name, FunctionOptions options, Body body) {
    return tree_->Register(std::move(name), std::move(options), std::move(body));
  }
  void NewStep() { tree_->BeginStep(); }
  // Fails the test if the call fails, and returns nothings to go on with.
  Values Call(FunctionId function, Values inputs);
  // What a call that should fail says.
  absl::Status Refusal(FunctionId function, Values inputs);
  // A step of its own, as often as that; the last outputs.
  Values CallInSteps(int steps, FunctionId function, const Values& inputs);

  // Memory of the caller's own with Pattern(seed) in it.
  Tensor Given(uint32_t seed, int64_t words = kWords);
  // x + x on stream b(), forked off the body's; a body that joins it does so by JoinSide.
  Tensor TwiceOnSide(Launcher& on, const Value& x);
  void JoinSide(Launcher& on);
  // What a tensor holds once all of the caller's stream is done.
  Words Read(const Value& value);
  Words PatternOf(uint32_t seed) { return Pattern(seed, kWords); }

  // The numbers.
  uint64_t graphs() { return tree_->stats().recordings; }
  uint64_t checkpoints() { return tree_->stats().restores; }
  uint64_t live() { return tree_->stats().live_blocks; }
  uint64_t replays() { return tree_->stats().replays; }
  uint64_t eager() { return tree_->stats().eager; }
  uint64_t reasons(Reason reason) {
    return tree_->stats().reasons[static_cast<size_t>(reason)];
  }
  std::vector<uint64_t> descendants() { return tree_->descendants(); }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::unique_ptr<Tree> tree_;
  std::vector<std::string> warnings_;
};

using Counts = std::vector<uint64_t>;

// Inputs that nobody else holds: a braced list would keep copies until the call's line is over.
template <typename... V>
Values Gathered(V&&... value) {
  Values values;
  (values.push_back(std::forward<V>(value)), ...);
  return values;
}

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_TREE_TREE_FIXTURE_H_
