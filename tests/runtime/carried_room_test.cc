// A step that is staged with the last step's output, and whose recording serves it but finds no
// room for what a replay needs: it runs eagerly, and the tensor was carried over before its memory
// went. In mode strict it is an error.
#include <string>
#include <utility>
#include <vector>

#include "tests/kernels/launches.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

class CarriedRoomTest : public RuntimeTest {
 protected:
  // Doubles its slot, and adds as many ops as there are tokens, so that executables differ in size.
  ProgramId AddSized(std::string name, uint32_t lane, const std::vector<int32_t>& tokens) {
    ProgramOptions options = DoubleOptions(std::move(name));
    options.lane = lane;
    options.body = [](Launcher& on, const ProgramInputs& in) -> Values {
      const int32_t ops = in.key().tokens == 4 ? 0 : in.key().tokens;
      for (int32_t op = 0; op < ops; ++op) DoubleBody(on, in);
      return DoubleBody(on, in);
    };
    return Add(std::move(options), KeysOf(tokens));
  }
  void Serve(int steps, ProgramId program, int32_t tokens) {
    for (int i = 0; i < steps; ++i) StepWith(program, IdsFrom(1, tokens));
  }
  // A step of lane 0 whose recording is there, and whose executable went for lane 1's.
  ProgramId MakeOneThatHasNoRoom() {
    RuntimeOptions options;
    options.shared.executable_bytes = 500000;
    OpenRuntime(options);
    const ProgramId program = AddSized("first", 0, {4, 60});
    const ProgramId other = AddSized("second", 1, {30, 31});
    Serve(3, program, 60);
    Serve(3, program, 4);
    Serve(8, other, 30);
    Serve(8, other, 31);
    return program;
  }
};
GRAPHTREE_ON_EVERY_DEVICE(CarriedRoomTest);

TEST_P(CarriedRoomTest, WithoutRoomForTheExecutable) {
  const ProgramId program = MakeOneThatHasNoRoom();
  StepWith(program, IdsFrom(5, 4));
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 60}, a()));
  ASSERT_THAT(step.Stage(0, Tensor::From(LastValue())), IsOk());
  Values outputs;
  ASSERT_THAT(step.Run(&outputs), IsOk());
  if (device().info().architecture == "host") {
    EXPECT_EQ(step.why(), Why::kNoMemory) << "else this test shows nothing";
  }
  EXPECT_EQ(ReadIds(outputs[0]), Doubled(Doubled(IdsFrom(5, 4), 4), 60));
}

TEST_P(CarriedRoomTest, WithoutRoomForTheExecutableInModeStrict) {
  const ProgramId program = MakeOneThatHasNoRoom();
  if (device().info().architecture != "host") GTEST_SKIP() << "its executables have other sizes";
  StepWith(program, IdsFrom(5, 4));
  ASSERT_THAT(runtime().SetServing({.serving = Serving::kStrict}), IsOk());
  ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 60}, a()));
  ASSERT_THAT(step.Stage(0, Tensor::From(LastValue())), IsOk());
  Values outputs;
  const absl::Status said = step.Run(&outputs);
  EXPECT_EQ(said.code(), absl::StatusCode::kResourceExhausted) << said;
  EXPECT_THAT(std::string(said.message()), HasSubstr("was to be replayed"));
  EXPECT_TRUE(outputs.empty());
  ASSERT_THAT(runtime().SetServing({}), IsOk());
  StepWith(program, IdsFrom(7, 60));
  EXPECT_EQ(LastOutput(), Doubled(IdsFrom(7, 60), 60)) << "nothing is lost";
}

// Each step holds on to what it keeps, until the pool has no room for more.
TEST_P(CarriedRoomTest, WithoutRoomForWhatIsKept) {
  RuntimeOptions options;
  options.tree.pool_bytes = 16 << 20;
  OpenRuntime(options);
  ProgramOptions keeps = DoubleOptions("keeps");
  keeps.kept_outputs = {1};
  keeps.body = [](Launcher& on, const ProgramInputs& in) -> Values {
    const Tensor kept = on.Empty(DType::kU8, {1400000});
    on.Fill(kept, 3);
    const Values doubled = DoubleBody(on, in);
    return on.ok() ? Values{doubled[0], kept} : Values();
  };
  const ProgramId program = Add(std::move(keeps), {{.tokens = 4}});
  StepWith(program, IdsFrom(1, 4));
  Values outputs = {LastValue()};
  std::vector<Value> held;
  Ids expected = Doubled(IdsFrom(1, 4), 4);
  int refused = 0;
  for (int i = 0; i < 14 && refused == 0; ++i) {
    ASSERT_OK_AND_ASSIGN(Step step, runtime().Begin(program, {.tokens = 4}, a()));
    ASSERT_THAT(step.Stage(0, Tensor::From(outputs[0])), IsOk());
    const absl::Status said = step.Run(&outputs);
    refused += absl::IsResourceExhausted(said);
    if (refused > 0) break;
    ASSERT_THAT(said, IsOk());
    held.push_back(outputs[1]);
    expected = Doubled(expected, 4);
    ASSERT_EQ(ReadIds(outputs[0]), expected) << "step " << i << ", " << step.Describe();
  }
  EXPECT_GT(refused, 0) << "else this test shows nothing";
}

}  // namespace
}  // namespace graphtree
