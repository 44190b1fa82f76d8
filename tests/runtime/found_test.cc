// What the simulation of the runtime has found, each as small as it became.
#include <vector>

#include "gmock/gmock.h"
#include "tests/kernels/kernels.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

class FoundTest : public RuntimeTest {
 protected:
  void TearDown() override {
    held_.clear();
    RuntimeTest::TearDown();
  }
  Why Hold(ProgramId program, int32_t tokens, int32_t first, StepOptions options = {}) {
    absl::StatusOr<Step> step = runtime().Begin(program, {.tokens = tokens}, a(), options);
    EXPECT_THAT(step, IsOk());
    if (!step.ok()) return Why::kFailed;
    const Ids ids = IdsFrom(first, tokens);
    EXPECT_THAT(step->Stage(0, HostRows{ids.data(), DType::kI32, tokens}), IsOk());
    held_.emplace_back();
    EXPECT_THAT(step->Run(&held_.back()), IsOk());
    return step->why();
  }

  std::vector<Values> held_;
};
GRAPHTREE_ON_EVERY_DEVICE(FoundTest);

TEST_P(FoundTest, AnOutputOfAWarmUpIsGoodInAnEagerStepThatGoesOn) {
  ProgramOptions options = DoubleOptions();
  options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor out = on.Empty(DType::kI32, {8});
    if (!on.ok()) return {};
    const auto part = [](Launcher& part, absl::Span<const Tensor> tensors) {
      part.Launch(AddKernel(), TestShape(),
                  {Out(tensors[1]), In(tensors[0]), In(tensors[0]), Val(8u)});
    };
    if (in.mode() == Mode::kFull) {
      const Tensor tensors[] = {in.slot(0), out};
      part(on, tensors);
    } else {
      on.Break("a part", {In(in.slot(0)), Out(out)}, part);
    }
    return {out};
  };
  ASSERT_OK_AND_ASSIGN(const ProgramId program, runtime().AddProgram(options));
  ASSERT_THAT(runtime().AddShapes(program, {{.tokens = 8}}, Mode::kSegmented), IsOk());
  EXPECT_EQ(Hold(program, 8, 1), Why::kWarmingUp);
  ASSERT_OK_AND_ASSIGN(Step step,
                       runtime().Begin(program, {.tokens = 24}, a(), {.continues = true}));
  ASSERT_THAT(step.Stage(0, DeviceRows{held_[0][0].word(), DType::kI32, 8}), IsOk());
  held_.emplace_back();
  ASSERT_THAT(step.Run(&held_.back()), IsOk());
  EXPECT_EQ(ReadIds(held_[0][0]), Doubled(IdsFrom(1, 8), 8));
  EXPECT_EQ(ReadIds(held_[1][0]), Doubled(Doubled(IdsFrom(1, 8), 8), 8));
}

}  // namespace
}  // namespace graphtree
