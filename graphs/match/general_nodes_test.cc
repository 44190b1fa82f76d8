// Look-ups by the inputs that stay, and filing again when another input moves.
#include "graphs/match/general_nodes.h"

#include <memory>
#include <vector>

#include "graphs/layout.h"
#include "graphs/tensor.h"
#include "gtest/gtest.h"

namespace graphtree {

// The index never looks inside.
struct Node {};

namespace {

constexpr uint32_t kFunction = 3;

class GeneralNodesTest : public testing::Test {
 protected:
  static Value At(Address address) {
    return Tensor::Foreign(address, Layout::Of(DType::kF32, {8}));
  }
  // Looks up a call whose inputs are all static.
  Node* Find(const Values& inputs, uint32_t function = kFunction) {
    return nodes_.Find(
        function, inputs, [](size_t) { return InputRole::kStatic; }, [] { return uint64_t{0}; },
        [](const Node&) { return true; });
  }
  // Files a node that was recorded with these inputs, those in `moving` as copied ones.
  Node* File(const Values& inputs, const std::vector<bool>& moving) {
    std::vector<InputRole> roles;
    for (bool moves : moving) roles.push_back(moves ? InputRole::kCopied : InputRole::kStatic);
    patterns_.push_back(std::make_unique<InputPattern>(roles, inputs));
    made_.push_back(std::make_unique<Node>());
    nodes_.Add(kFunction, made_.back().get(), {patterns_.back().get(), 0}, moving);
    return made_.back().get();
  }

  GeneralNodes nodes_;
  std::vector<std::unique_ptr<InputPattern>> patterns_;
  std::vector<std::unique_ptr<Node>> made_;
};

TEST_F(GeneralNodesTest, FoundAtAnyAddressOfWhatMoves) {
  EXPECT_TRUE(nodes_.empty());
  EXPECT_EQ(Find({At(1), At(2)}), nullptr);
  Node* node = File({At(1), At(2)}, {true, false});
  EXPECT_EQ(Find({At(1), At(2)}), node);
  EXPECT_EQ(Find({At(77), At(2)}), node);
  EXPECT_EQ(Find({At(1), At(3)}), nullptr);
  EXPECT_EQ(Find({At(1), At(2)}, kFunction + 1), nullptr);
}

TEST_F(GeneralNodesTest, StillFoundWhenAnotherInputJoins) {
  Node* first = File({At(1), At(2), At(3)}, {true, false, false});
  Node* second = File({At(1), At(5), At(4)}, {false, true, false});
  EXPECT_EQ(Find({At(9), At(2), At(3)}), first);
  EXPECT_EQ(Find({At(1), At(9), At(4)}), second);
  EXPECT_EQ(Find({At(1), At(2), At(9)}), nullptr);
}

TEST_F(GeneralNodesTest, GoneWhenRemoved) {
  Node* first = File({At(1)}, {true});
  Node* second = File({At(1)}, {true});
  nodes_.Remove(kFunction, first);
  EXPECT_EQ(Find({At(4)}), second);
  nodes_.Remove(kFunction, second);
  EXPECT_EQ(Find({At(4)}), nullptr);
}

}  // namespace
}  // namespace graphtree
