// For tests of two trees: bodies of one know tensors of the other without being given them.
#ifndef GRAPHTREE_TESTS_TREE_OTHER_TREES_FIXTURE_H_
#define GRAPHTREE_TESTS_TREE_OTHER_TREES_FIXTURE_H_

#include <cstdint>
#include <memory>

#include "tests/tree/breaks_fixture.h"

namespace graphtree {

class OtherTreesFixture : public BreaksFixture {
 protected:
  void SetUp() override {
    BreaksFixture::SetUp();
    if (!IsSkipped()) other_ = *Tree::Create(device(), {.pool_bytes = 64 << 20});
  }
  void TearDown() override {
    known_ = Value();
    other_.reset();
    BreaksFixture::TearDown();
  }
  Tree& other() { return *other_; }
  // 2x, by the other tree on stream a().
  Value FromOther(FunctionId function, uint32_t seed) {
    Values inputs = {Given(seed)}, outputs;
    EXPECT_THAT(other().Run(function, absl::MakeSpan(inputs), a(), &outputs), IsOk());
    return outputs.empty() ? Value() : outputs[0];
  }

  std::unique_ptr<Tree> other_;
  FunctionId makes_ = 0;  // of the other tree
  Value known_;           // to the bodies, without being given
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_TREE_OTHER_TREES_FIXTURE_H_
