// Inputs that are not plain: less aligned than declared, overlapping themselves, or nothing that a
// kernel reads.
#include <memory>
#include <string>
#include <utility>

#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class InputsTest : public TreeTest {};
GRAPHTREE_ON_EVERY_DEVICE(InputsTest);

// The body looks at what it was promised, in every run.
TEST_P(InputsTest, AMisalignedInputIsCopiedWhateverItIs) {
  const Tensor memory = Given(1, kWords + 4);
  for (const bool is_static : {false, true}) {
    OpenTree({.patch_bytes = 1});
    FunctionOptions options;
    options.alignments = {{0, 16}};
    if (is_static) options.static_inputs = {0};
    const FunctionId function = Register("aligned", options, [](Launcher& on, Values& inputs) {
      EXPECT_EQ(inputs[0].word() % 16, 0u);
      return Values{Sum(on, inputs[0], inputs[0]), Slice(inputs[0], 2, 4)};
    });
    for (const int64_t first : {1, 1, 2, 3, 0, 0, 0, 1}) {
      const Tensor x = Slice(memory, first, kWords);
      Values out = CallInSteps(1, function, {x});
      EXPECT_EQ(Read(out[0]), Times(Read(x), 2)) << "first word " << first;
      EXPECT_EQ(out[1].word(), x.word() + 8) << "the caller's own, not the copy";
    }
    EXPECT_EQ(graphs(), 1u) << "what copies serves aligned ones as well";
    EXPECT_EQ(tree().stats().copied_inputs, 1u);
    EXPECT_EQ(eager(), 0u);
  }
}

// In one copy, so that what is written through one is read through the other.
TEST_P(InputsTest, InputsThatShareBytesAreCopiedTogether) {
  const Tensor memory = Given(1, kWords + 8);
  const Tensor x = Slice(memory, 1, kWords), y = Slice(memory, 5, kWords);
  FunctionOptions options;
  options.alignments = {{0, 16}};
  options.exclude = true;
  const FunctionId function = Register("shares", options, [](Launcher& on, Values& inputs) {
    EXPECT_EQ(inputs[0].word() % 16, 0u);
    Bump(on, inputs[1], 3);
    return Values{Sum(on, inputs[0], inputs[0]), inputs[1]};
  });
  Words expected = Read(memory);
  Values out = CallInSteps(1, function, {x, y});
  for (int64_t i = 5; i < kWords + 5; ++i) expected[i] += 3;
  EXPECT_EQ(Read(memory), expected);
  EXPECT_EQ(Read(out[0]), Times(Words(expected.begin() + 1, expected.begin() + 1 + kWords), 2));
  EXPECT_EQ(out[1].word(), y.word());
  // A write that only the options tell of comes back as well.
  options.mutated_inputs = {1};
  const FunctionId opaque = Register("opaque", options, [](Launcher& on, Values& inputs) {
    if (on.ok()) on.Fail(Increment(on.stream(), Tensor::From(inputs[1]).raw_bytes(), 2));
    return Values{};
  });
  CallInSteps(1, opaque, {x, y});
  for (int64_t i = 5; i < kWords + 5; ++i) expected[i] += 2;
  EXPECT_EQ(Read(memory), expected);
}

// No copy of both is aligned as both declare: what is only read is copied apart.
TEST_P(InputsTest, InputsThatShareBytesAndAreOnlyReadAreCopiedApart) {
  const Tensor memory = Given(1, kWords + 8);
  const Tensor x = Slice(memory, 1, kWords), y = Slice(memory, 2, kWords);
  for (const bool exclude : {false, true}) {
    FunctionOptions options;
    options.alignments = {{0, 16}, {1, 64}};
    options.exclude = exclude;
    const FunctionId reads = Register("reads", options, [](Launcher& on, Values& inputs) {
      EXPECT_EQ(inputs[0].word() % 16, 0u);
      EXPECT_EQ(inputs[1].word() % 64, 0u);
      return Values{Sum(on, inputs[0], inputs[1]), inputs[0]};
    });
    for (int step = 0; step < 4; ++step) {
      Values out = CallInSteps(1, reads, {x, y});
      EXPECT_EQ(Read(out[0]), Plus(Read(x), Read(y)));
      EXPECT_EQ(out[1].word(), x.word());
    }
    for (const uint32_t written : {0u, 1u}) {
      const FunctionId writes =
          Register("writes", options, [written](Launcher& on, Values& inputs) {
            Bump(on, inputs[written], 1);
            return Values{};
          });
      const Words before = Read(memory);
      for (int step = 0; step < 3; ++step) {
        EXPECT_THAT(Refusal(writes, {x, y}),
                    FailsWith(StatusCode::kInvalidArgument, " of 'writes'"));
        EXPECT_EQ(Read(memory), before) << "input " << written;
      }
    }
  }
}

// An excluded function runs eagerly and may look at its alignment, too.
TEST_P(InputsTest, AnEagerRunGetsAlignedInputs) {
  FunctionOptions options;
  options.alignments = {{1, 64}};
  options.exclude = true;
  const FunctionId function = Register("eager", options, [](Launcher& on, Values& inputs) {
    EXPECT_EQ(inputs[1].word() % 64, 0u);
    return Values{Sum(on, inputs[0], inputs[1]), inputs[1]};
  });
  const Tensor x = Given(1), memory = Given(2, kWords + 1);
  const Tensor y = Slice(memory, 1, kWords);
  Values out = CallInSteps(2, function, {x, y});
  EXPECT_EQ(Read(out[0]), Plus(PatternOf(1), Read(y)));
  EXPECT_EQ(out[1].word(), y.word());
}

// More than the pool aligns a block to of its own accord.
// A write to bytes that two inputs shared was a write to one of them, and which one is not known.
TEST_P(InputsTest, AMisalignedInputThatOnceSharedItsBytesWithAWrittenOne) {
  const FunctionId function =
      Register("f", {.alignments = {{1, 256}}}, [](Launcher& on, Values& inputs) {
        Bump(on, inputs[0], 1);
        return Values{Sum(on, inputs[1], inputs[1])};
      });
  const Tensor aligned = Given(1), other = Given(2), wide = Given(3, 2 * kWords);
  const Value misaligned = Slice(wide, 1, kWords);
  Words words = PatternOf(1);
  for (int step = 0; step < 3; ++step) {
    words = Plus(words, Words(kWords, 1));
    EXPECT_EQ(Read(CallInSteps(1, function, {aligned, aligned})[0]), Times(words, 2));
  }
  const Words looked_at = Read(misaligned);
  for (uint32_t step = 1; step <= 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {other, misaligned})[0]), Times(looked_at, 2));
    EXPECT_EQ(Read(other), Plus(PatternOf(2), Words(kWords, step)));
    EXPECT_EQ(Read(misaligned), looked_at);
  }
}

TEST_P(InputsTest, ALargeAlignmentHoldsOnEveryRoute) {
  const Tensor memory = Given(1, kWords + 64);
  for (const bool exclude : {false, true}) {
    const FunctionId function = Register(
        "large", {.alignments = {{0, 8192}}, .exclude = exclude}, [](Launcher& on, Values& inputs) {
          EXPECT_EQ(inputs[0].word() % 8192, 0u);
          return Values{Sum(on, inputs[0], inputs[0])};
        });
    for (int step = 0; step < 4; ++step) {
      const Tensor x = Slice(memory, 16 + step, kWords);
      EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(Read(x), 2));
    }
  }
  EXPECT_EQ(graphs(), 1u);
}

TEST_P(InputsTest, AMisalignedInputThatIsWrittenToRunsEagerly) {
  FunctionOptions options;
  options.alignments = {{0, 16}};
  options.static_inputs = {0};
  const FunctionId function = Register("writes", options, [](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], 3);
    return Values{};
  });
  const Tensor memory = Given(1, kWords + 4);
  const Tensor crooked = Slice(memory, 1, kWords), straight = Slice(memory, 4, kWords);
  const Words before = Read(memory);
  CallInSteps(1, function, {crooked});
  Words expected = before;
  for (int64_t i = 1; i < kWords + 1; ++i) expected[i] += 3;
  EXPECT_EQ(Read(memory), expected) << "the first run did not know, and wrote it back";
  CallInSteps(2, function, {crooked});
  for (int64_t i = 1; i < kWords + 1; ++i) expected[i] += 6;
  EXPECT_EQ(Read(memory), expected);
  EXPECT_EQ(eager(), 2u);
  EXPECT_EQ(reasons(Reason::kMutatedInput), 2u);
  CallInSteps(3, function, {straight});
  EXPECT_EQ(Read(straight)[0], expected[4] + 9);
  EXPECT_GT(replays(), 0u);
}

// Windows that share words: one element is read at several indices.
TEST_P(InputsTest, AnInputThatOverlapsItselfIsCopiedAsOneExtent) {
  constexpr int64_t kRows = 5, kWidth = 8, kStep = 3;
  constexpr int64_t kExtent = kStep * (kRows - 1) + kWidth;
  for (const uint64_t patch_bytes : {uint64_t{1}, kDefaultPatchBytes}) {
    OpenTree({.patch_bytes = patch_bytes});
    const FunctionId function = Register("windows", {}, [](Launcher& on, Values& inputs) {
      const Tensor x = Tensor::From(inputs[0]);
      const Tensor out = on.Empty(DType::kI32, {kRows, kWidth});
      const uint32_t count = kWidth;
      for (int64_t row = 0; row < kRows && on.ok(); ++row) {
        const Tensor window = x.View(WordsLayout(kWidth), row * x.shape().strides()[0] * 4);
        on.Launch(AddKernel(), TestShape(),
                  {Out(Slice(out, row * kWidth, kWidth)), In(window), In(window), Val(count)});
      }
      return Values{out};
    });
    const Layout* layout = Layout::Strided(DType::kI32, {kRows, kWidth}, {kStep, 1});
    ASSERT_TRUE(layout->overlaps_itself());
    for (const uint32_t seed : {5, 5, 5, 6, 7}) {
      const Tensor given = Given(seed, kExtent);
      Values out = CallInSteps(1, function, {Tensor::Foreign(given.word(), layout)});
      Words expected;
      for (int64_t row = 0; row < kRows; ++row) {
        for (int64_t i = 0; i < kWidth; ++i) {
          expected.push_back(2 * Pattern(seed, kExtent)[row * kStep + i]);
        }
      }
      EXPECT_EQ(Read(out[0]), expected);
    }
    EXPECT_EQ(graphs(), 1u);
    EXPECT_EQ(eager(), 0u);
  }
}

TEST_P(InputsTest, AnOpaqueInputIsHandedThroughAndNotCompared) {
  int bodies = 0;
  const FunctionId function = Register("opaque", {}, [&](Launcher& on, Values& inputs) {
    ++bodies;
    EXPECT_TRUE(inputs[1].is_opaque());
    EXPECT_FALSE(inputs[1].is_tensor());
    EXPECT_EQ(inputs[1].opaque<std::string>().substr(0, 4), "mesh");
    return Values{Sum(on, inputs[0], inputs[0]), inputs[1]};
  });
  const Tensor x = Given(1);
  auto object = std::make_shared<std::string>("mesh 0");
  const std::weak_ptr<std::string> watch = object;
  Value value = Value::Opaque(std::move(object));
  for (int step = 0; step < 4; ++step) {
    Values out = CallInSteps(1, function, {x, value});
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
    EXPECT_EQ(out[1].opaque<std::string>(), "mesh 0");
    EXPECT_FALSE(value.is_none()) << "it is not consumed";
  }
  Values out = CallInSteps(
      1, function, {x, Value::Opaque(std::make_shared<std::string>("mesh 1"))});
  EXPECT_EQ(out[1].opaque<std::string>(), "mesh 1");
  EXPECT_EQ(bodies, 2);
  EXPECT_EQ(replays(), 3u);
  value = Value();
  EXPECT_TRUE(watch.expired());
}

// Outputs may take the inputs' place, and then the last handle of the object goes in the call.
TEST_P(InputsTest, AnOpaqueInputThatGoesWithinItsCall) {
  const FunctionId function = Register("opaque", {}, [](Launcher& on, Values& inputs) {
    return Values{Filled(on, static_cast<uint32_t>(inputs[0].opaque<int>()), kWords)};
  });
  for (const int object : {5, 5, 5, 6}) {
    NewStep();
    Values values = {Value::Opaque(std::make_shared<int>(object))};
    ASSERT_THAT(tree().Run(function, absl::MakeSpan(values), a(), &values), IsOk());
    EXPECT_EQ(Read(values[0]), PatternOf(5)) << "the object is not compared";
  }
  Values values = {Value::Opaque(std::make_shared<int>(7))};
  tree().Unregister(function).IgnoreError();
  EXPECT_FALSE(tree().Run(function, absl::MakeSpan(values), a(), &values).ok());
}

// Rows 175, 181: an object, something without memory and a tensor, in the two calls that a tree
// needs before it replays, and in the replay.
TEST_P(InputsTest, OpaqueValueInputCudagraph) {
  const FunctionId function = Register("opaque", {}, [](Launcher& on, Values& inputs) {
    EXPECT_TRUE(inputs[1].is_none());
    const Tensor sum = Sum(on, inputs[2], inputs[2]);
    Bump(on, sum, inputs[0].opaque<uint32_t>());
    return Values{sum, inputs[1]};
  });
  const Value five = Value::Opaque(std::make_shared<uint32_t>(5));
  for (uint32_t call = 1; call <= 3; ++call) {
    const Values out = CallInSteps(1, function, {five, Value(), Given(call)});
    EXPECT_EQ(Read(out[0]), Plus(Times(PatternOf(call), 2), Words(kWords, 5)));
    EXPECT_TRUE(out[1].is_none());
    EXPECT_EQ(graphs(), call == 1 ? 0u : 1u);
  }
  EXPECT_EQ(replays(), 1u);
  EXPECT_EQ(eager(), 0u);
}

TEST_P(InputsTest, TheVersionOfAnOpaqueInputIsPartOfTheKey) {
  const FunctionId function = Register("version", {}, [&](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[0]);
    Bump(on, sum, static_cast<uint32_t>(inputs[1].opaque<int>()));
    return Values{sum};
  });
  const Tensor x = Given(1);
  const auto one = std::make_shared<int>(1), two = std::make_shared<int>(2);
  for (const uint64_t version : {1, 1, 1, 2, 2, 2, 1, 2}) {
    const Value value = Value::Opaque(version == 1 ? one : two, version);
    Values out = CallInSteps(1, function, {x, value});
    const uint32_t by = static_cast<uint32_t>(version);
    EXPECT_EQ(Read(out[0]), Plus(Times(PatternOf(1), 2), Words(kWords, by)));
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(replays(), 4u);
  const absl::Status lie = Refusal(function, {x, Value::Opaque(two, 1)});
  EXPECT_THAT(lie, FailsWith(StatusCode::kInvalidArgument, "input 1 of 'version' has version 1"));
}

// No run before the recording wrote to it: the write must not land in the copy.
TEST_P(InputsTest, AWriteThatIsFirstSeenInTheRecording) {
  int runs = 0;
  const FunctionId function = Register("late", {}, [&runs](Launcher& on, Values& inputs) {
    if (runs++ > 0) Bump(on, inputs[0], 1);
    return Values{Sum(on, inputs[0], inputs[0])};
  });
  const Tensor x = Given(1);
  for (uint32_t call = 0; call < 5; ++call) {
    const Words expected = Plus(PatternOf(1), Words(kWords, call));
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(expected, 2));
    EXPECT_EQ(Read(x), expected);
  }
}

// The body knows a buffer of the caller's that it is not given, and writes to it. An input that is
// that buffer is read as it is at the time, and not as it was before the body wrote.
TEST_P(InputsTest, AnInputThatTheBodyKnowsFromElsewhereAndWritesTo) {
  for (const Moving moving : {Moving::kPatch, Moving::kCopy}) {
    OpenTree({});
    const Tensor cache = Given(1), x = Given(2), y = Given(3);
    const FunctionId function =
        Register("f", {.moving = moving}, [&cache](Launcher& on, Values& inputs) {
          Bump(on, cache, 5);
          return Values{Sum(on, inputs[0], inputs[0])};
        });
    Words held = PatternOf(1);
    const auto check = [&](const Tensor& input, const char* which) {
      held = Plus(held, Words(kWords, 5));
      const Words before = input.word() == cache.word() ? held : Words();
      const Words expected = !before.empty()                ? before
                             : input.word() == x.word() ? PatternOf(2)
                                                            : PatternOf(3);
      EXPECT_EQ(Read(CallInSteps(1, function, {input})[0]), Times(expected, 2)) << which;
      EXPECT_EQ(Read(cache), held) << which;
    };
    for (int call = 0; call < 2; ++call) check(x, "another, warmed up and recorded");
    check(y, "another, replayed");
    const uint64_t replayed = replays();
    EXPECT_EQ(replayed, 1u);
    for (int call = 0; call < 3; ++call) check(cache, "the buffer itself");
    for (int call = 0; call < 3; ++call) check(x, "another again");
    check(cache, "the buffer again");
    EXPECT_GT(replays(), replayed);
  }
}

}  // namespace
}  // namespace graphtree
