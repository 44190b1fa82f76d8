// Rows about modules whose parameters and buffers are exchanged for others and back, the forward
// pass with its backward: four recordings, two for each set, and nothing runs eagerly. A module is
// what a front end makes of it; here it is its static inputs and what the body does with them.
#include <utility>

#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class ModulesTest : public TreeTest {
 protected:
  // Five steps with the first set, five with the second, five with the first again.
  template <typename Step>
  void Exchange(Step step) {
    for (const int set : {0, 1, 0}) {
      for (int i = 0; i < 5; ++i) {
        NewStep();
        step(set);
      }
    }
    EXPECT_EQ(graphs(), 4u);
    EXPECT_EQ(descendants(), (Counts{1, 1}));
    EXPECT_EQ(replays(), 24u) << "all but one warm-up, and four recordings";
    EXPECT_EQ(eager(), 0u);
    EXPECT_EQ(reasons(Reason::kStaticMoved), 1u);
  }
};
GRAPHTREE_ON_EVERY_DEVICE(ModulesTest);

// A linear layer; the weight is exchanged, the bias stays.
TEST_P(ModulesTest, MultiDispatchSingleCompileBuiltinModule) {
  const FunctionId forward =
      Register("forward", {.static_inputs = {1, 2}}, [](Launcher& on, Values& inputs) {
        const Tensor product = Sum(on, inputs[0], inputs[1]);
        return Values{Sum(on, product, inputs[2]), product};
      });
  const FunctionId backward = Register("backward", {.static_inputs = {1}}, AddBoth);
  const Tensor weights[] = {Given(1), Given(2)}, bias = Given(3), x = Given(4);
  Exchange([&](int set) {
    const Words product = Plus(PatternOf(4), PatternOf(1 + set));
    Values out = Call(forward, {x, weights[set], bias});
    EXPECT_EQ(Read(out[0]), Plus(product, PatternOf(3)));
    const Values gradient = Call(backward, Gathered(std::move(out[1]), weights[set]));
    EXPECT_EQ(Read(gradient[0]), Plus(product, PatternOf(1 + set)));
  });
}

// A batch normalisation: its running mean, which every forward pass moves in place, is exchanged,
// and each goes on from where it was. The backward pass takes the weight alone.
TEST_P(ModulesTest, MultiDispatchSingleCompileBuiltinModuleBuffers) {
  const FunctionId forward =
      Register("forward", {.static_inputs = {1, 2}}, [](Launcher& on, Values& inputs) {
        Bump(on, inputs[2], 3);
        return Values{Sum(on, Sum(on, inputs[0], inputs[1]), inputs[2])};
      });
  const FunctionId backward = Register("backward", {.static_inputs = {1}}, AddBoth);
  const Tensor weight = Given(3), x = Given(4), means[] = {Given(1), Given(2)};
  Words expected[] = {PatternOf(1), PatternOf(2)};
  Exchange([&](int set) {
    expected[set] = Plus(expected[set], Words(kWords, 3));
    Values out = Call(forward, {x, weight, means[set]});
    const Words sum = Plus(Plus(PatternOf(4), PatternOf(3)), expected[set]);
    EXPECT_EQ(Read(out[0]), sum);
    const Values gradient = Call(backward, Gathered(std::move(out[0]), weight));
    EXPECT_EQ(Read(gradient[0]), Plus(sum, PatternOf(3)));
    for (const int which : {0, 1}) EXPECT_EQ(Read(means[which]), expected[which]);
  });
}

// A module of the user's own that uses one parameter in two places.
TEST_P(ModulesTest, MultiDispatchCustomModule) {
  const FunctionId forward =
      Register("forward", {.static_inputs = {1, 2}}, [](Launcher& on, Values& inputs) {
        return Values{Sum(on, Sum(on, inputs[0], inputs[1]), inputs[2])};
      });
  const FunctionId backward = Register("backward", {.static_inputs = {0}}, AddBoth);
  const Tensor tied[] = {Given(1), Given(2)}, x = Given(4);
  Exchange([&](int set) {
    const Words sum = Plus(PatternOf(4), Times(PatternOf(1 + set), 2));
    Values out = Call(forward, {x, tied[set], tied[set]});
    EXPECT_EQ(Read(out[0]), sum);
    const Values gradient = Call(backward, Gathered(tied[set], std::move(out[0])));
    EXPECT_EQ(Read(gradient[0]), Plus(sum, PatternOf(1 + set)));
  });
}

// A buffer that is only read, by the forward pass alone, and whose values the user changes between
// steps without exchanging it.
TEST_P(ModulesTest, MultiDispatchCustomModuleBuffer) {
  const FunctionId forward = Register("forward", {.static_inputs = {1}}, AddBoth);
  const FunctionId backward = Register("backward", {}, Twice);
  const Tensor x = Given(4), buffers[] = {Given(1), Given(2)};
  uint32_t step = 10;
  Exchange([&](int set) {
    Write(buffers[set].raw_bytes(), PatternOf(++step));
    const Words sum = Plus(PatternOf(4), PatternOf(step));
    Values out = Call(forward, {x, buffers[set]});
    EXPECT_EQ(Read(out[0]), sum);
    EXPECT_EQ(Read(Call(backward, std::move(out))[0]), Times(sum, 2));
  });
}

}  // namespace
}  // namespace graphtree
