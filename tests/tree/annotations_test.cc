// Rows about functions that are opted out of recording, and into it where the others are out. The
// option stands on each function (FunctionOptions::exclude), so that a forward pass decides nothing
// for its backward pass, and a front end that is off by default registers the others excluded.
#include <string>
#include <utility>
#include <vector>

#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class AnnotationsTest : public TreeTest {
 protected:
  enum Annotation { kIn, kOut };

  // The recordings that three steps make of this chain of functions, x -> 2x each.
  uint64_t GraphsOf(const std::vector<Annotation>& chain) {
    std::vector<FunctionId> functions;
    uint64_t excluded = 0;
    for (const Annotation annotation : chain) {
      const bool is_out = annotation == kOut;
      excluded += is_out ? 1 : 0;
      functions.push_back(Register("f" + std::to_string(functions.size()), {.exclude = is_out},
                                   Twice));
    }
    const Tensor x = Given(1);
    for (int step = 0; step < 3; ++step) {
      NewStep();
      Values out = {x};
      for (const FunctionId function : functions) out = Call(function, std::move(out));
      EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 1u << chain.size()));
    }
    EXPECT_EQ(eager(), 3 * excluded);
    EXPECT_EQ(reasons(Reason::kExcluded), eager());
    EXPECT_EQ(replays(), chain.size() - excluded) << "the third step's";
    EXPECT_TRUE(warnings().empty()) << "the caller knows";
    return graphs();
  }
};
GRAPHTREE_ON_EVERY_DEVICE(AnnotationsTest);

TEST_P(AnnotationsTest, CudagraphAnnotationDisable) { EXPECT_EQ(GraphsOf({kOut}), 0u); }
TEST_P(AnnotationsTest, DisableFwdBwd) { EXPECT_EQ(GraphsOf({kOut, kOut}), 0u); }
TEST_P(AnnotationsTest, DisableBwdOnly) { EXPECT_EQ(GraphsOf({kIn, kOut}), 1u); }
TEST_P(AnnotationsTest, DisableFwdOnly) { EXPECT_EQ(GraphsOf({kOut, kIn}), 1u); }
TEST_P(AnnotationsTest, GraphBreakSelective) { EXPECT_EQ(GraphsOf({kOut, kIn, kOut}), 1u); }
TEST_P(AnnotationsTest, ContextManager) { EXPECT_EQ(GraphsOf({kIn, kOut, kOut, kIn}), 2u); }

TEST_P(AnnotationsTest, Enable) { EXPECT_EQ(GraphsOf({kOut, kOut, kIn}), 1u); }
TEST_P(AnnotationsTest, EnableFwdBwd) { EXPECT_EQ(GraphsOf({kOut, kIn, kIn}), 2u); }
TEST_P(AnnotationsTest, EnableFwdOnly) { EXPECT_EQ(GraphsOf({kIn, kOut, kOut}), 1u); }
TEST_P(AnnotationsTest, EnableContextManager) { EXPECT_EQ(GraphsOf({kOut, kIn, kIn, kOut}), 2u); }

// Beside each other instead of behind each other: the outputs of both are held.
TEST_P(AnnotationsTest, MultipleFunctions) {
  const FunctionId first = Register("first", {.exclude = true}, Twice);
  const FunctionId second = Register("second", {.exclude = true}, Thrice);
  const Tensor x = Given(1);
  for (int step = 0; step < 3; ++step) {
    NewStep();
    const Values twice = Call(first, {x}), thrice = Call(second, {x});
    EXPECT_EQ(Read(twice[0]), Times(PatternOf(1), 2));
    EXPECT_EQ(Read(thrice[0]), Times(PatternOf(1), 3));
  }
  EXPECT_EQ(graphs(), 0u);
  EXPECT_EQ(reasons(Reason::kExcluded), 6u);
}

}  // namespace
}  // namespace graphtree
