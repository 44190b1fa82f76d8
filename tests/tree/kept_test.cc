// Outputs that are kept: they outlive their step, in every state of the path.
#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "graphs/random/generator.h"
#include "graphs/reports/outline.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class KeptTest : public TreeTest {
 protected:
  FunctionOptions Keeping(std::vector<uint32_t> outputs) {
    FunctionOptions options;
    options.kept_outputs = std::move(outputs);
    return options;
  }
  uint64_t kept() { return tree().stats().kept_bytes; }
  static void ExpectNamedOnce(const absl::Status& refusal, const std::string& name) {
    const std::string text(refusal.message());
    EXPECT_NE(text.find(name), std::string::npos) << text;
    EXPECT_EQ(text.find(name), text.rfind(name)) << text;
  }
};
GRAPHTREE_ON_EVERY_DEVICE(KeptTest);

TEST_P(KeptTest, AKeptOutputSurvivesAnyNumberOfSteps) {
  const FunctionId function = Register("two", Keeping({1}), [](Launcher& on, Values& inputs) {
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    return Values{twice, Sum(on, twice, inputs[0])};
  });
  const FunctionId other = Register("other", {}, [](Launcher& on, Values&) {
    Values out;
    for (uint32_t i = 0; i < 6; ++i) out.push_back(Filled(on, 50 + i, kWords));
    return out;
  });
  std::deque<std::pair<Value, Words>> held;
  for (uint32_t step = 0; step < 12; ++step) {
    NewStep();
    const Tensor x = Given(step);
    Values out = Call(function, {x});
    EXPECT_EQ(Read(out[0]), Times(PatternOf(step), 2));
    held.push_back({out[1], Times(PatternOf(step), 3)});
    if (held.size() > 4) held.pop_front();
    const Value dies = out[0];
    Call(other, {});
    NewStep();
    EXPECT_TRUE(dies.storage()->stale());
    Call(other, {});
    for (const auto& [value, words] : held) EXPECT_EQ(Read(value), words) << "step " << step;
    EXPECT_EQ(live(), 0u);
  }
  EXPECT_EQ(graphs(), 3u) << "the other one behind it, and by itself";
  EXPECT_EQ(eager(), 0u);
  EXPECT_GE(kept(), 4u * kWords * 4);
  held.clear();
  EXPECT_EQ(kept(), 0u);
}

// The next step's state is this step's output: it goes in and comes out, at two places in turn.
TEST_P(KeptTest, AStateThatIsHandedFromStepToStep) {
  const FunctionId advance = Register("advance", Keeping({0}), [](Launcher& on, Values& inputs) {
    const Tensor next = Sum(on, inputs[0], inputs[1]);
    return Values{next, Sum(on, next, next)};
  });
  const Tensor one = Given(1);
  Value state = Given(2);
  Words expected = PatternOf(2);
  for (int step = 0; step < 10; ++step) {
    NewStep();
    Values out = Call(advance, Gathered(std::move(state), one));
    expected = Plus(expected, PatternOf(1));
    EXPECT_EQ(Read(out[0]), expected);
    EXPECT_EQ(Read(out[1]), Times(expected, 2));
    state = std::move(out[0]);
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 8u);
}

TEST_P(KeptTest, ViewsShareItsStorage) {
  const FunctionId function = Register("views", Keeping({1}), [](Launcher& on, Values& inputs) {
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    return Values{Slice(twice, 4, 8), twice, Slice(twice, 8, 8)};
  });
  const FunctionId bump = Register("bump", {}, [](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], 5);
    return Values{inputs[0]};
  });
  for (uint32_t step = 0; step < 5; ++step) {
    NewStep();
    Values out = Call(function, {Given(step)});
    EXPECT_EQ(out[0].storage(), out[1].storage());
    EXPECT_EQ(out[2].storage(), out[1].storage());
    EXPECT_EQ(out[0].word(), out[1].word() + 16);
    NewStep();
    Values same = Call(bump, {out[1]});
    EXPECT_EQ(same[0].storage(), out[1].storage()) << "step " << step;
    EXPECT_EQ(Read(out[2])[0], 2 * PatternOf(step)[8] + 5);
  }
  EXPECT_GE(replays(), 3u);
}

// Nothing is copied where every op that takes a kept output is known; else a last op copies it.
TEST_P(KeptTest, TheOpsAreFoundOrTheOutputIsCopied) {
  for (const bool hides : {false, true}) {
    OpenTree({});
    const FunctionId function =
        Register("reuse", Keeping({1, 2}), [hides](Launcher& on, Values& inputs) {
          Tensor first = Sum(on, inputs[0], inputs[0]);
          const Tensor second = Sum(on, first, first);
          first = Tensor();
          const Tensor third = Sum(on, second, inputs[0]);  // where the first was
          if (!on.ok()) return Values{};
          if (hides) {
            on.Fail(Increment(on.stream(), third.raw_bytes(), 1));
          } else {
            Bump(on, third, 1);
          }
          on.Copy(Slice(second, 0, 4), Slice(third, 4, 4));
          on.Fill(Slice(second, 40, 8), 1);
          return Values{Sum(on, second, third), second, third};
        });
    std::deque<Values> held;
    for (uint32_t step = 0; step < 8; ++step) {
      NewStep();
      const Words x = PatternOf(step);
      Words third = Plus(Times(x, 5), Words(kWords, 1));
      Words second = Times(x, 4);
      std::copy(third.begin() + 4, third.begin() + 8, second.begin());
      std::fill(second.begin() + 40, second.end(), 0x01010101);
      held.push_back(Call(function, {Given(step)}));
      if (held.size() > 3) held.pop_front();
      EXPECT_EQ(Read(held.back()[0]), Plus(second, third)) << "step " << step;
      EXPECT_EQ(Read(held.back()[1]), second) << "step " << step;
      EXPECT_EQ(Read(held.back()[2]), third) << "step " << step;
    }
    EXPECT_EQ(graphs(), 1u);
    EXPECT_EQ(eager(), 0u);
    ASSERT_EQ(tree().outline().size(), 1u);
    EXPECT_EQ(tree().outline()[0].ops, hides ? 9u : 8u) << "one of them copies the input in";
  }
}

// Writes seven to a page, of which it is given the number.
constexpr uint64_t kPageBytes = 512;
const Kernel& FillPageKernel() {
  static const Kernel* const kernel = new Kernel(
      "fill_page", Params<uint64_t, uint32_t>(),
      [](const HostCall& call) {
        auto* const words = reinterpret_cast<uint32_t*>(call.Get<uint64_t>(0) * kPageBytes);
        std::fill(words, words + call.Get<uint32_t>(1), 7u);
      },
      {});
  return *kernel;
}

// An address in other units shows in no argument of any op.
TEST_P(KeptTest, AnOutputThatIsWrittenByThePage) {
  if (device().info().architecture != "host") GTEST_SKIP() << "the kernel is the host's";
  for (const bool is_told : {true, false}) {
    FunctionOptions options = Keeping({0});
    options.unseen_writes = is_told;
    const FunctionId function = Register(
        is_told ? "told" : "declared", options, [is_told](Launcher& on, Values&) -> Values {
          const Tensor out = on.Empty(WordsLayout(kWords));
          if (!on.ok()) return {};
          const Argument arguments[] = {Argument::Value(out.word() / kPageBytes),
                                        Argument::Value(uint32_t{kWords})};
          if (!is_told) on.Writes(out);
          on.Fail(on.stream().Launch(FillPageKernel(), {}, arguments));
          return {out};
        });
    std::deque<Values> held;
    for (int step = 0; step < 6; ++step) {
      NewStep();
      held.push_back(Call(function, {}));
      if (held.size() > 3) held.pop_front();
      EXPECT_EQ(Read(held.back()[0]), Words(kWords, 7)) << "step " << step;
    }
  }
  EXPECT_GT(replays(), 4u);
}

TEST_P(KeptTest, AnOutputThatNoOpMakesIsKeptToo) {
  FunctionOptions options = Keeping({0});
  options.unseen_writes = true;
  const FunctionId function = Register("nothing", options, [](Launcher& on, Values&) {
    return Values{on.Empty(WordsLayout(kWords))};
  });
  for (int step = 0; step < 4; ++step) {
    NewStep();
    Values out = Call(function, {});
    EXPECT_NE(out[0].word(), 0u);
    NewStep();
    EXPECT_THAT(Tensor::From(out[0]).bytes(), IsOk());
  }
  EXPECT_EQ(replays(), 2u);
}

TEST_P(KeptTest, DroppedPlacesAreUsedAgain) {
  const FunctionId twice = Register("twice", Keeping({0}), Twice);
  const Tensor x = Given(1);
  Address place = 0;
  for (int step = 0; step < 6; ++step) {
    NewStep();
    Values out = Call(twice, {x});
    if (step > 1) {
      EXPECT_EQ(out[0].word(), place);
    }
    place = out[0].word();
  }
  EXPECT_EQ(replays(), 4u);
}

TEST_P(KeptTest, BeyondTheLimitIsAnErrorAndNothingIsLost) {
  for (const bool exclude : {false, true}) {
    OpenTree({.kept_bytes = 2 * kWords * 4});
    FunctionOptions options = Keeping({0});
    options.exclude = exclude;
    const FunctionId twice = Register("twice", options, Twice);
    const Tensor x = Given(1);
    for (int round = 0; round < 3; ++round) {
      NewStep();
      Values first = Call(twice, {x}), second = Call(twice, {x});
      Values inputs = {x}, outputs;
      const absl::Status refusal = tree().Run(twice, absl::MakeSpan(inputs), a(), &outputs);
      EXPECT_THAT(refusal, FailsWith(StatusCode::kResourceExhausted, "'twice'"));
      EXPECT_THAT(refusal, FailsWith(StatusCode::kResourceExhausted, "the limit is 384"));
      ExpectNamedOnce(refusal, "'twice'");
      EXPECT_EQ(Read(first[0]), Times(PatternOf(1), 2));
      EXPECT_EQ(Read(second[0]), Times(PatternOf(1), 2));
      second.clear();
      EXPECT_EQ(Read(Call(twice, {x})[0]), Times(PatternOf(1), 2)) << "round " << round;
    }
  }
}

// The call that was refused draws no random numbers, and what a known break puts at risk is back.
TEST_P(KeptTest, ARunBeyondTheLimitIsTakenBack) {
  for (const int runs_before : {0, 1, 2}) {
    OpenTree({.kept_bytes = kWords * sizeof(uint32_t)});
    auto generator = std::make_shared<Generator>(7);
    const FunctionId fills = Register("fills", {.kept_outputs = {0}}, Twice);
    const FunctionId refused = Register(
        "refused", {.static_inputs = {0}, .kept_outputs = {0}}, [&](Launcher& on, Values& inputs) {
          on.Random(generator, 4);
          Bump(on, inputs[0], 1);
          on.Break("nothing", {}, [](Launcher&, absl::Span<const Tensor>) {});
          Bump(on, inputs[0], 10);
          return Values{Sum(on, inputs[0], inputs[0])};
        });
    const Tensor x = Given(1);
    for (int run = 0; run < runs_before; ++run) CallInSteps(1, refused, {x});
    NewStep();
    const Values held = Call(fills, {Given(2)});
    NewStep();
    const uint64_t drawn = generator->offset();
    const Words words = Read(x);
    const absl::Status refusal = Refusal(refused, {x});
    EXPECT_THAT(refusal, FailsWith(StatusCode::kResourceExhausted, "'refused'"));
    ExpectNamedOnce(refusal, "'refused'");
    EXPECT_EQ(generator->offset(), drawn);
    if (runs_before > 0) {
      EXPECT_EQ(Read(x), words);
    }
  }
}

// An input that dies in a function that keeps an output is consumed like any other: where somebody
// holds it, what runs after must not take its place.
TEST_P(KeptTest, WhatDiesBesideAKeptOutput) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId function = Register("eats", Keeping({0}), [](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    inputs[0] = Value();
    return Values{out};
  });
  const Tensor x = Given(1);
  for (const bool keep : {false, false, false, true, true, false}) {
    NewStep();
    Values made = Call(make, {x});
    Value held;
    if (keep) held = made[0];
    Values out = Call(function, std::move(made));
    Values more = Call(make, {x});
    Values last = Call(make, {x});
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 4));
    EXPECT_EQ(Read(more[0]), Times(PatternOf(1), 2));
    if (keep) {
      Values other = Call(make, {Given(9)});
      EXPECT_EQ(Read(held), Times(PatternOf(1), 2));
    }
  }
  EXPECT_EQ(reasons(Reason::kConsumerDiffers), 1u);
  EXPECT_GT(replays(), 0u);
  EXPECT_EQ(eager(), 0u);
}

TEST_P(KeptTest, WhatLooksIntoAnEarlierOutputCannotBeKept) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId view = Register("view", Keeping({0}), [](Launcher&, Values& inputs) {
    return Values{Slice(inputs[0], 0, 8)};
  });
  for (int step = 0; step < 3; ++step) {
    NewStep();
    Values made = Call(make, {Given(1)}), outputs;
    const absl::Status refusal = tree().Run(view, absl::MakeSpan(made), a(), &outputs);
    EXPECT_THAT(refusal, FailsWith(StatusCode::kInvalidArgument, "output 0 of 'view'"));
  }
  Values out = CallInSteps(1, view, {Given(3)});
  EXPECT_EQ(Read(out[0])[0], PatternOf(3)[0]) << "the caller's own needs no keeping";
}

// Recorded for the caller's own memory, which lasts. What was made in this step does not, and may
// not be handed out as kept by a replay either.
TEST_P(KeptTest, WhatEndsWithTheStepIsNotKeptByAReplay) {
  for (const uint64_t patch_bytes : {uint64_t{1}, kDefaultPatchBytes}) {
    OpenTree({.patch_bytes = patch_bytes});
    const FunctionId make = Register("make", {}, Twice);
    const FunctionId view = Register("view", Keeping({0}), [](Launcher& on, Values& inputs) {
      return Values{Slice(inputs[0], 0, 8), Sum(on, inputs[0], inputs[0])};
    });
    for (int step = 0; step < 6; ++step) {
      NewStep();
      Values made = Call(make, {Given(1)});
      if (step % 2 == 1) {
        EXPECT_THAT(Refusal(view, {made[0]}),
                    FailsWith(StatusCode::kInvalidArgument,
                              "output 0 of 'view' is to be kept, but looks into"))
            << "step " << step;
      }
      const Values out = Call(view, {Given(3)});
      EXPECT_EQ(Read(out[0])[0], PatternOf(3)[0]) << "step " << step;
      EXPECT_EQ(Read(out[1]), Times(PatternOf(3), 2)) << "step " << step;
    }
    EXPECT_GT(replays(), 4u);
  }
}

// What is no tensor lasts, whatever the call brings beside it.
TEST_P(KeptTest, AnOpaqueInputIsKeptBesideAStepsTensor) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId pass = Register("pass", Keeping({0}), [](Launcher& on, Values& inputs) {
    return Values{inputs[1], Sum(on, inputs[0], inputs[0])};
  });
  const auto object = std::make_shared<int>(1);
  for (int step = 0; step < 4; ++step) {
    NewStep();
    Values made = Call(make, {Given(1)});
    made.push_back(Value::Opaque(object, 2));
    const Values out = Call(pass, std::move(made));
    EXPECT_TRUE(out[0].is_opaque()) << "step " << step;
    EXPECT_EQ(Read(out[1]), Times(PatternOf(1), 4)) << "step " << step;
  }
  EXPECT_GT(replays(), 0u);
}

TEST_P(KeptTest, AKeptOutputOutlivesTheTree) {
  const FunctionId twice = Register("twice", Keeping({0}), Twice);
  const Tensor x = Given(1);
  Values out = CallInSteps(4, twice, {x});
  EXPECT_EQ(replays(), 2u);
  CloseTree();
  EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
}

}  // namespace
}  // namespace graphtree
