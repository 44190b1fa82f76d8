// What the lambda of a part holds of its body's memory.
#include <utility>

#include "tests/tree/breaks_fixture.h"

namespace graphtree {
namespace {

class TakenAlongTest : public BreaksFixture {};
GRAPHTREE_ON_EVERY_DEVICE(TakenAlongTest);

// What a part takes along of its body's memory is made again by every replay, outputs too.
TEST_P(TakenAlongTest, APartThatTakesAnOutputAlong) {
  for (const bool keeps : {false, true}) {
    FunctionOptions options;
    if (keeps) options.kept_outputs = {1};
    const FunctionId function = Register("f", options, [](Launcher& on, Values& inputs) {
      const Tensor twice = Sum(on, inputs[0], inputs[0]);
      const Tensor out = Sum(on, twice, inputs[0]);
      on.Break("bumps", {In(twice)},
               [out](Launcher& part, absl::Span<const Tensor>) { Bump(part, out, 10); });
      return Values{Sum(on, out, out), Slice(out, 0, kWords)};
    });
    for (uint32_t step = 0; step < 5; ++step) {
      NewStep();
      const Values outputs = Call(function, {Given(step)});
      const Words expected = Plus(Times(PatternOf(step), 3), Words(kWords, 10));
      EXPECT_EQ(Read(outputs[0]), Times(expected, 2)) << "step " << step;
      EXPECT_EQ(Read(outputs[1]), expected) << "step " << step;
    }
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(replays(), 6u);
}

// Beside the parts of that recording it is stale like any other, in another function's part too.
TEST_P(TakenAlongTest, AnOutputThatAPartTookAlongIsStaleElsewhere) {
  Values held;
  const FunctionId makes = Register("makes", {}, [](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    on.Break("bumps", {}, [out](Launcher& part, absl::Span<const Tensor>) { Bump(part, out, 1); });
    return Values{out};
  });
  const FunctionId uses = Register("uses", {}, [&](Launcher& on, Values&) {
    on.Break("bumps", {},
             [&](Launcher& part, absl::Span<const Tensor>) { Bump(part, held[0], 1); });
    return Values{};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 4; ++step) {
    NewStep();
    if (!held.empty()) {
      EXPECT_THAT(Refusal(uses, {}),
                  FailsWith(absl::StatusCode::kFailedPrecondition,
                            "eager part 'bumps': increment: output 0 of 'makes'"));
    }
    held = Call(makes, {x});
    EXPECT_EQ(Read(held[0]), Plus(Times(PatternOf(1), 2), Words(kWords, 1))) << "step " << step;
  }
  EXPECT_EQ(replays(), 2u);
}

}  // namespace
}  // namespace graphtree
