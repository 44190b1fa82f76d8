// Rows about bodies that a front end would split, one by one: what the part in the middle does
// differs, and every run gives the bytes of an eager one. breaks_test.cc has what ours adds.
#include <string>
#include <utility>
#include <vector>

#include "tests/kernels/kernels.h"
#include "tests/tree/breaks_fixture.h"

namespace graphtree {
namespace {

class BreaksRowsTest : public BreaksFixture {
 protected:
  uint64_t sections() { return tree().stats().sections; }

  // Where the mask's words are odd the tensor's become 0x07070707: as many launches as that.
  static void PutWhereOdd(Launcher& on, const Value& mask, const Tensor& tensor) {
    if (!on.ok()) return;
    on.Break("index put", {In(Tensor::From(mask)), InOut(tensor)},
             [](Launcher& part, absl::Span<const Tensor> tensors) {
               const Words words = FromDevice(part, tensors[0]);
               for (size_t i = 0; i < words.size(); ++i) {
                 if (words[i] % 2 != 0) part.Fill(Slice(tensors[1], i, 1), 7);
               }
             });
  }
  static Words WithPut(Words words, const Words& mask) {
    for (size_t i = 0; i < words.size(); ++i) {
      if (mask[i] % 2 != 0) words[i] = 0x07070707;
    }
    return words;
  }
  // The indices of x's odd words, and behind the last of them as often as it takes the number of
  // words: how many there are only the device knows.
  static Tensor Nonzero(Launcher& on, const Tensor& x) {
    const Tensor out = on.ok() ? on.Empty(x.layout()) : Tensor();
    if (!on.ok()) return Tensor();
    on.Break("nonzero", {In(x), Out(out)}, [](Launcher& part, absl::Span<const Tensor> tensors) {
      ToDevice(part, NonzeroOf(FromDevice(part, tensors[0])), tensors[1]);
    });
    return out;
  }
  static Words NonzeroOf(const Words& words) {
    Words indices;
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i] % 2 != 0) indices.push_back(static_cast<uint32_t>(i));
    }
    indices.resize(words.size(), static_cast<uint32_t>(words.size()));
    return indices;
  }
  // Adds the first word of `scalar` to the tensor.
  static void BumpByItem(Launcher& on, const Value& scalar, const Tensor& tensor) {
    if (!on.ok()) return;
    on.Break("item", {In(Tensor::From(scalar)), InOut(tensor)},
             [](Launcher& part, absl::Span<const Tensor> tensors) {
               Bump(part, tensors[1], FromDevice(part, tensors[0])[0]);
             });
  }
};
GRAPHTREE_ON_EVERY_DEVICE(BreaksRowsTest);

// Row 14: a put by a mask, in the middle of what is recorded.
TEST_P(BreaksRowsTest, IndexPutBooleanFallbackPartitions) {
  const FunctionId function = Register("f", {}, [](Launcher& on, Values& inputs) {
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    PutWhereOdd(on, inputs[1], twice);
    return Values{Sum(on, twice, inputs[0])};
  });
  for (uint32_t step = 1; step < 6; ++step) {
    const Words x = PatternOf(step), mask = PatternOf(step + 10);
    EXPECT_EQ(Read(CallInSteps(1, function, {Given(step), Given(step + 10)})[0]),
              Plus(WithPut(Times(x, 2), mask), x));
  }
  EXPECT_EQ(sections(), 2u);
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(eager(), 0u);
}

// Row 15: the put changes a buffer of the caller's, which both sides of the cut read.
TEST_P(BreaksRowsTest, BooleanMutationAcrossPartitions) {
  const FunctionId function =
      Register("f", {.static_inputs = {0}}, [](Launcher& on, Values& inputs) {
        const Tensor before = Sum(on, inputs[0], inputs[0]);
        PutWhereOdd(on, inputs[1], Tensor::From(inputs[0]));
        Bump(on, inputs[0], 2);
        return Values{Sum(on, before, inputs[0])};
      });
  const Tensor buffer = Given(1);
  Words words = PatternOf(1);
  for (uint32_t step = 1; step < 6; ++step) {
    const Words after = Plus(WithPut(words, PatternOf(step)), Words(kWords, 2));
    EXPECT_EQ(Read(CallInSteps(1, function, {buffer, Given(step)})[0]),
              Plus(Times(words, 2), after));
    EXPECT_EQ(Read(buffer), after);
    words = after;
  }
  EXPECT_EQ(sections(), 2u);
  EXPECT_EQ(eager(), 0u);
}

// Row 90: two outputs whose contents only the data knows, and a break of the caller's between them.
TEST_P(BreaksRowsTest, IncompatibleCudagraphOpsNonzeroGraphBreaks) {
  const FunctionId function = Register("f", {}, [](Launcher& on, Values& inputs) {
    const Tensor first = Nonzero(on, Sum(on, Tensor::From(inputs[0]), inputs[1]));
    if (on.ok()) on.Break("the caller's", {}, [](Launcher&, absl::Span<const Tensor>) {});
    const Tensor second = Nonzero(on, Sum(on, first, inputs[0]));
    return Values{first, Sum(on, second, first)};
  });
  for (uint32_t step = 1; step < 6; ++step) {
    const Words x = PatternOf(step), y = PatternOf(20 + step);
    const Words first = NonzeroOf(Plus(x, y));
    const Values out = CallInSteps(1, function, {Given(step), Given(20 + step)});
    EXPECT_EQ(Read(out[0]), first);
    EXPECT_EQ(Read(out[1]), Plus(NonzeroOf(Plus(first, x)), first));
  }
  EXPECT_EQ(sections(), 4u);
  EXPECT_EQ(reasons(Reason::kBreak), 3u);
  EXPECT_EQ(tree().stats().eager_parts, 4u * 3) << "of the recording and of three replays";
  EXPECT_EQ(eager(), 0u);
}

// Row 89: the same in one function, whose results are of another size for every input.
TEST_P(BreaksRowsTest, IncompatibleCudagraphOpsNonzero) {
  const FunctionId function = Register("f", {}, [](Launcher& on, Values& inputs) {
    return Values{Nonzero(on, Tensor::From(inputs[0]))};
  });
  const Words all(kWords, 3), none(kWords, 4);
  for (const Words& words : {PatternOf(1), none, all, PatternOf(2), none}) {
    const Tensor x = Tensor::Foreign(NewWordsWith(words).base, WordsLayout(kWords));
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), NonzeroOf(words));
  }
  EXPECT_EQ(graphs(), 1u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("'nonzero'"), std::string::npos) << warnings()[0];
}

// Row 87: it reads a scalar without saying so, gets 3 and 6, and runs eagerly with the reason.
TEST_P(BreaksRowsTest, IncompatibleCudagraphOpsItem) {
  const AddressRange target = NewHostWords(1);
  const FunctionId function = Register("f", {}, [&](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    if (!on.ok()) return Values{};
    on.Reads(Tensor::From(inputs[1]));
    on.Fail(on.stream().Copy(target.base, inputs[1].word(), 4));
    on.Fail(on.stream().Synchronize());
    Bump(on, out, *PointerTo<uint32_t>(target.base));
    return Values{out};
  });
  const Tensor x = Given(1);
  for (const uint32_t item : {3, 6, 3, 6}) {
    const Tensor scalar = Tensor::Foreign(NewWordsWith({item}).base, WordsLayout(1));
    EXPECT_EQ(Read(CallInSteps(1, function, {x, scalar})[0]),
              Plus(Times(PatternOf(1), 2), Words(kWords, item)));
  }
  EXPECT_EQ(graphs(), 0u);
  EXPECT_EQ(reasons(Reason::kForbiddenCall), eager());
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("'f' runs eagerly: it waits for the device"), std::string::npos)
      << warnings()[0];
}

// Row 170: the same in a part is recorded around it.
TEST_P(BreaksRowsTest, Item) {
  const FunctionId function = Register("f", {}, [](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    BumpByItem(on, inputs[1], out);
    return Values{Sum(on, out, inputs[0])};
  });
  const Tensor x = Given(1);
  for (const uint32_t item : {3, 6, 3, 6, 9}) {
    const Tensor scalar = Tensor::Foreign(NewWordsWith({item}).base, WordsLayout(1));
    EXPECT_EQ(Read(CallInSteps(1, function, {x, scalar})[0]),
              Plus(Times(PatternOf(1), 3), Words(kWords, item)));
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 3u);
}

// Row 128: what crosses the cut is another type's view, in another shape.
TEST_P(BreaksRowsTest, ViewFallback) {
  const FunctionId function = Register("f", {}, [this](Launcher& on, Values& inputs) {
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    if (!on.ok()) return Values{};
    const Tensor as_floats = twice.View(Layout::Of(DType::kF32, {4, kWords / 4}), 0);
    const Tensor back = HostTimes(on, as_floats, 3);
    if (!on.ok()) return Values{};
    EXPECT_EQ(back.shape().type(), DType::kF32);
    return Values{Sum(on, back.View(WordsLayout(kWords), 0), inputs[0])};
  });
  for (uint32_t step = 1; step < 6; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {Given(step)})[0]), Times(PatternOf(step), 7));
  }
  EXPECT_EQ(sections(), 2u);
  EXPECT_EQ(replays(), 3u);
}

// Row 137: where the tree is off a body that breaks has no recordings, and runs in one go.
TEST_P(BreaksRowsTest, ReduceOverheadModeEffectiveness) {
  OpenTree({.enabled = false});
  const FunctionId function = Register("f", {}, [this](Launcher& on, Values& inputs) {
    return Values{Sum(on, HostTimes(on, inputs[0], 3), inputs[0])};
  });
  for (uint32_t step = 1; step < 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {Given(step)})[0]), Times(PatternOf(step), 4));
  }
  EXPECT_EQ(eager(), 3u);
  EXPECT_EQ(reasons(Reason::kTreeOff), 3u);
  EXPECT_EQ(sections(), 0u);
  EXPECT_TRUE(descendants().empty());
}

// Row 141: what was saved between the sections is made at one address by every run, but it is not
// static: the parameter alone is. Another parameter and another saved tensor show the difference.
TEST_P(BreaksRowsTest, SavedActivationNotStatic) {
  const FunctionId forward = Register("forward", {}, [this](Launcher& on, Values& inputs) {
    const Tensor early = Sum(on, inputs[0], inputs[0]);
    return Values{early, HostTimes(on, early, 3)};
  });
  const FunctionId backward =
      Register("backward", {.static_inputs = {2}}, [](Launcher& on, Values& inputs) {
        return Values{Sum(on, Sum(on, inputs[0], inputs[1]), inputs[2])};
      });
  const Tensor parameter = Given(9), other = Given(10);
  auto train = [&](uint32_t seed, bool clones, const Tensor& with) {
    NewStep();
    Values made = Call(forward, {Given(seed)});
    if (clones) {
      made[1] = Tensor::Foreign(NewWordsWith(Read(made[1])).base, WordsLayout(kWords));
    }
    Values inputs = Gathered(std::move(made[0]), std::move(made[1]), with);
    made.clear();
    EXPECT_EQ(Read(Call(backward, std::move(inputs))[0]),
              Plus(Times(PatternOf(seed), 8), Read(with)));
  };
  for (uint32_t step = 1; step <= 6; ++step) train(step, false, parameter);
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(replays(), 8u) << "four more iterations, in both passes";
  train(7, true, parameter);
  EXPECT_EQ(reasons(Reason::kManagedMoved), 1u);
  EXPECT_EQ(reasons(Reason::kStaticMoved), 0u);
  train(8, false, other);
  EXPECT_EQ(reasons(Reason::kStaticMoved), 1u);
  EXPECT_EQ(eager(), 0u);
}

// Row 148: two sizes, two sections each.
TEST_P(BreaksRowsTest, CpuOpAndDynamicShapes) {
  const FunctionId function = Register("f", {}, [this](Launcher& on, Values& inputs) {
    return Values{Sum(on, HostTimes(on, Sum(on, inputs[0], inputs[0]), 5), inputs[0])};
  });
  for (const int64_t words : {kWords, kWords / 2}) {
    for (uint32_t step = 1; step <= 3; ++step) {
      EXPECT_EQ(Read(CallInSteps(1, function, {Given(step, words)})[0]),
                Times(Pattern(step, words), 11));
    }
  }
  EXPECT_EQ(sections(), 4u);
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(replays(), 2u);
}

// Row 150: two ops that cannot be recorded and one that can, which stands between them.
TEST_P(BreaksRowsTest, CustomOp) {
  const FunctionId function = Register("f", {}, [this](Launcher& on, Values& inputs) {
    const Tensor first = HostTimes(on, Sum(on, inputs[0], inputs[0]), 2);
    const Tensor safe = Sum(on, first, inputs[0]);
    return Values{Sum(on, HostTimes(on, safe, 3), first)};
  });
  for (uint32_t step = 1; step < 6; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {Given(step)})[0]), Times(PatternOf(step), 19));
  }
  EXPECT_EQ(sections(), 3u);
  EXPECT_EQ(tree().stats().executables, 3u);
  EXPECT_EQ(eager(), 0u);
}

// Row 151: one part changes several tensors, of the caller's and of the body's own.
TEST_P(BreaksRowsTest, CustomOpMutation) {
  const FunctionId function =
      Register("f", {.static_inputs = {1}}, [](Launcher& on, Values& inputs) {
        const Tensor own = Sum(on, inputs[0], inputs[0]);
        if (!on.ok()) return Values{};
        on.Break("a list", {InOut(own), InOut(Tensor::From(inputs[1]))},
                 [](Launcher& part, absl::Span<const Tensor> tensors) {
                   for (const Tensor& tensor : tensors) {
                     ToDevice(part, Plus(FromDevice(part, tensor), Words(kWords, 4)), tensor);
                   }
                 });
        return Values{own, Sum(on, own, inputs[1])};
      });
  const Tensor buffer = Given(9);
  Words words = PatternOf(9);
  for (uint32_t step = 1; step < 6; ++step) {
    words = Plus(words, Words(kWords, 4));
    const Words own = Plus(Times(PatternOf(step), 2), Words(kWords, 4));
    const Values out = CallInSteps(1, function, {Given(step), buffer});
    EXPECT_EQ(Read(out[0]), own);
    EXPECT_EQ(Read(out[1]), Plus(own, words));
    EXPECT_EQ(Read(buffer), words);
  }
  EXPECT_EQ(sections(), 2u);
  EXPECT_EQ(eager(), 0u);
}

// Row 162: a condition on the device's data, for two sizes; both branches are taken in replays.
TEST_P(BreaksRowsTest, ConditionOp) {
  const FunctionId function = Register("f", {}, [](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    if (!on.ok()) return Values{};
    on.Break("if", {In(Tensor::From(inputs[1])), InOut(out)},
             [](Launcher& part, absl::Span<const Tensor> tensors) {
               if (FromDevice(part, tensors[0])[0] != 0) {
                 Bump(part, tensors[1], 5);
               } else {
                 part.Fill(tensors[1], 0);
               }
             });
    return Values{Sum(on, out, inputs[0])};
  });
  const Tensor yes = Tensor::Foreign(NewWordsWith({1}).base, WordsLayout(1));
  const Tensor no = Tensor::Foreign(NewWordsWith({0}).base, WordsLayout(1));
  for (const int64_t words : {kWords, kWords - 5}) {
    const Words x = Pattern(3, words);
    for (int step = 0; step < 6; ++step) {
      const bool is_true = step % 2 == 0;
      EXPECT_EQ(Read(CallInSteps(1, function, {Given(3, words), is_true ? yes : no})[0]),
                is_true ? Plus(Times(x, 3), Words(words, 5)) : x);
    }
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(replays(), 8u);
}

// Row 171: two round trips; what died before the second one gave its place to what came behind.
TEST_P(BreaksRowsTest, BufferReuse) {
  Address first = 0, third = 0;
  const FunctionId function = Register("f", {}, [&](Launcher& on, Values& inputs) {
    Tensor before = Sum(on, inputs[0], inputs[0]);
    first = before.word();
    const Tensor second = HostTimes(on, Sum(on, before, inputs[0]), 2);  // 6x
    before = Tensor();
    const Tensor behind = Sum(on, second, inputs[0]);  // 7x
    third = behind.word();
    return Values{Sum(on, HostTimes(on, behind, 2), second)};  // 20x
  });
  for (uint32_t step = 1; step < 6; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {Given(step)})[0]), Times(PatternOf(step), 20));
  }
  EXPECT_EQ(first, third) << "in the recording";
  EXPECT_EQ(sections(), 3u);
}

// Row 180: inputs whose strides depend on their size.
TEST_P(BreaksRowsTest, InputLayoutSymints) {
  const FunctionId function = Register("f", {}, [this](Launcher& on, Values& inputs) {
    const Tensor x = Tensor::From(inputs[0]);
    const uint32_t count = static_cast<uint32_t>(x.dim(0));
    const uint32_t stride = static_cast<uint32_t>(x.shape().strides()[0]);
    const Tensor dense = on.Empty(WordsLayout(count));
    if (!on.ok()) return Values{};
    on.Launch(StridedCopyKernel(), TestShape(), {Out(dense), In(x), Val(stride), Val(count)});
    return Values{Sum(on, HostTimes(on, dense, 3), dense)};
  });
  for (const int64_t size : {20, 10, 25}) {
    const int64_t stride = 1 + size / 10;
    for (uint32_t step = 1; step <= 3; ++step) {
      const Words all = Pattern(step, size * stride);
      const Tensor memory = Given(step, size * stride);
      Words expected;
      for (int64_t i = 0; i < size; ++i) expected.push_back(4 * all[i * stride]);
      const Layout* layout = Layout::Strided(DType::kI32, {size}, {stride});
      EXPECT_EQ(Read(CallInSteps(1, function, {Tensor::Foreign(memory.word(), layout)})[0]),
                expected)
          << size;
    }
  }
  EXPECT_EQ(sections(), 6u);
  EXPECT_EQ(replays(), 3u);
}

}  // namespace
}  // namespace graphtree
