// Rows about outputs that are not memory of their own: aliases, constants, nothing at all; and
// about inputs that are not plain.
#include <set>
#include <utility>
#include <vector>

#include "tests/kernels/kernels.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class AliasesTest : public TreeTest {};
GRAPHTREE_ON_EVERY_DEVICE(AliasesTest);

TEST_P(AliasesTest, ConstantOutput) {
  const FunctionId function =
      Register("constant", {.static_inputs = {0}}, [](Launcher& on, Values& inputs) {
        return Values{inputs[0], Slice(inputs[0], 8, 4), Sum(on, inputs[0], inputs[1])};
      });
  const Tensor parameter = Given(1), x = Given(2);
  for (int step = 0; step < 3; ++step) {
    Values out = CallInSteps(1, function, {parameter, x});
    EXPECT_EQ(out[0].word(), parameter.word());
    EXPECT_EQ(out[1].word(), parameter.word() + 32);
    EXPECT_EQ(Read(out[2]), Plus(PatternOf(1), PatternOf(2)));
  }
  EXPECT_EQ(graphs(), 1u);
}

TEST_P(AliasesTest, AliasOfParameter) {
  const FunctionId function =
      Register("parameter", {.static_inputs = {0}}, [](Launcher& on, Values& inputs) {
        return Values{Slice(inputs[0], 0, 4), inputs[0], Sum(on, inputs[0], inputs[1])};
      });
  const Tensor parameter = Given(1), x = Given(2);
  for (int step = 0; step < 3; ++step) {
    Values out = CallInSteps(1, function, {parameter, x});
    EXPECT_EQ(out[1].word(), parameter.word());
    EXPECT_EQ(live(), 1u) << "the parameter is the caller's";
    EXPECT_EQ(Read(out[2]), Plus(PatternOf(1), PatternOf(2)));
  }
}

// A static input that a tree made: outputs that look into it share its storage at every call.
TEST_P(AliasesTest, AliasedStaticParameter) {
  const FunctionId make = Register("make", {.exclude = true}, Twice);
  const FunctionId alias =
      Register("alias", {.static_inputs = {0}},
               [](Launcher&, Values& inputs) { return Values{Slice(inputs[0], 4, 8)}; });
  NewStep();
  const Values parameter = Call(make, {Given(1)});
  for (int step = 0; step < 3; ++step) {
    Values out = CallInSteps(1, alias, {parameter[0]});
    EXPECT_EQ(out[0].storage(), parameter[0].storage());
    EXPECT_EQ(Read(out[0])[0], PatternOf(1)[4] * 2);
    EXPECT_EQ(live(), 0u);
  }
  EXPECT_EQ(graphs(), 1u);
}

TEST_P(AliasesTest, AliasingStaticRef) {
  const FunctionId make = Register("make", {.exclude = true}, Twice);
  const FunctionId first =
      Register("first", {.static_inputs = {1}}, [](Launcher& on, Values& inputs) {
        return Values{Sum(on, inputs[0], inputs[1]), inputs[1], Slice(inputs[1], 8, 8)};
      });
  const FunctionId second = Register("second", {}, [](Launcher&, Values& inputs) {
    return Values{Slice(inputs[0], 0, 8)};
  });
  NewStep();
  const Values weight = Call(make, {Given(1)});
  const Tensor x = Given(2);
  for (int step = 0; step < 3; ++step) {
    NewStep();
    Values out = Call(first, {x, weight[0]});
    EXPECT_EQ(out[1].storage(), weight[0].storage());
    EXPECT_EQ(out[2].storage(), weight[0].storage());
    const Storage* product = out[0].storage();
    Values slice = Call(second, {out[0]});
    EXPECT_EQ(slice[0].storage(), product);
    out.clear();
    EXPECT_EQ(live(), 1u);
    EXPECT_EQ(Read(slice[0])[7], PatternOf(2)[7] + PatternOf(1)[7] * 2);
  }
  EXPECT_EQ(descendants(), (Counts{1}));
}

TEST_P(AliasesTest, AliasedStorageSingleWeakref) {
  const FunctionId first = Register("first", {}, [](Launcher& on, Values& inputs) {
    const Tensor x = Sum(on, inputs[0], inputs[0]);
    const Tensor y = Sum(on, x, x);
    return Values{x, Slice(x, 0, 8), y, Slice(y, 0, 8)};
  });
  const FunctionId second = Register("second", {}, [](Launcher&, Values& inputs) {
    return Values{Slice(inputs[0], 8, 8), Slice(inputs[1], 8, 8)};
  });
  const Tensor x = Given(3);
  for (int step = 0; step < 4; ++step) {
    NewStep();
    Values out = Call(first, {x});
    Values more = Call(second, {out[0], out[2]});
    std::set<const Storage*> storages;
    for (const Value& value : out) storages.insert(value.storage());
    for (const Value& value : more) storages.insert(value.storage());
    EXPECT_EQ(storages.size(), 2u);
    EXPECT_EQ(live(), 2u);
    EXPECT_EQ(Read(more[1])[0], PatternOf(3)[8] * 4);
    out.clear();
    EXPECT_EQ(live(), 2u);
    more.clear();
    EXPECT_EQ(live(), 0u);
  }
  EXPECT_EQ(graphs(), 2u);
}

// An input that comes back is the caller's own tensor, also when it is another one at a replay.
TEST_P(AliasesTest, OutputAlias) {
  const FunctionId function = Register("alias", {}, [](Launcher&, Values& inputs) {
    return Values{inputs[0], Slice(inputs[0], 4, 8)};
  });
  const Tensor x = Given(3), y = Given(4);
  for (const Tensor& given : {x, x, x, y}) {
    Values out = CallInSteps(1, function, {given});
    EXPECT_EQ(out[0].word(), given.word());
    EXPECT_EQ(out[1].word(), given.word() + 16);
    EXPECT_EQ(live(), 0u);
  }
  EXPECT_EQ(graphs(), 1u);
}

// Nothing is no block of the pool's, but it is an output all the same: it counts as held here.
TEST_P(AliasesTest, EmptyStorage) {
  const FunctionId function = Register("empty", {}, [](Launcher& on, Values& inputs) {
    const Tensor nothing = on.Empty(DType::kI32, {0});
    return Values{Sum(on, inputs[0], inputs[0]), nothing, Slice(inputs[0], kWords, 0), Value()};
  });
  const FunctionId reader = Register("reader", {}, [](Launcher& on, Values& inputs) {
    return Values{Sum(on, inputs[1], inputs[1]), inputs[0]};
  });
  const Tensor x = Given(3);
  for (int step = 0; step < 3; ++step) {
    NewStep();
    Values out = Call(function, {x});
    EXPECT_EQ(Read(out[0]), Times(PatternOf(3), 2));
    EXPECT_EQ(Tensor::From(out[1]).shape().elements(), 0);
    EXPECT_EQ(Tensor::From(out[2]).shape().elements(), 0);
    EXPECT_TRUE(out[3].is_none());
    Values read = Call(reader, {out[1], out[0]});
    EXPECT_EQ(Read(read[0]), Times(PatternOf(3), 4));
    EXPECT_LE(live(), 3u);
    out.clear();
    read.clear();
    EXPECT_EQ(live(), 0u);
  }
  EXPECT_EQ(graphs(), 2u);
}

// Four rows that are one: each is read at its own index, and all at the same place.
TEST_P(AliasesTest, ExpandedInputs) {
  constexpr int64_t kRow = 16, kRows = 4;
  const FunctionId function = Register("expanded", {}, [](Launcher& on, Values& inputs) {
    const Tensor x = Tensor::From(inputs[0]);
    const Tensor out = on.Empty(DType::kI32, {kRows, kRow});
    const uint32_t count = kRow;
    for (int64_t row = 0; row < kRows && on.ok(); ++row) {
      const Tensor from = x.View(WordsLayout(kRow), row * x.shape().strides()[0] * 4);
      on.Launch(AddKernel(), TestShape(),
                {Out(Slice(out, row * kRow, kRow)), In(from), In(from), Val(count)});
    }
    return Values{out};
  });
  const Layout* layout = Layout::Strided(DType::kI32, {kRows, kRow}, {0, 1});
  for (const uint32_t seed : {5, 5, 5, 6}) {
    const Tensor given = Given(seed, kRow);
    Values out = CallInSteps(1, function, {Tensor::Foreign(given.word(), layout)});
    const Words row = Times(Pattern(seed, kRow), 2);
    Words expected;
    for (int64_t i = 0; i < kRows; ++i) expected.insert(expected.end(), row.begin(), row.end());
    EXPECT_EQ(Read(out[0]), expected);
  }
  EXPECT_EQ(graphs(), 1u);
}

TEST_P(AliasesTest, UnalignedStaticParameter) {
  const FunctionId function = Register("unaligned", {.static_inputs = {0}}, AddBoth);
  const Tensor memory = Given(1, kWords + 1), x = Given(2);
  const Tensor parameter = Slice(memory, 1, kWords);
  for (int step = 0; step < 3; ++step) {
    Values out = CallInSteps(1, function, {parameter, x});
    EXPECT_EQ(Read(out[0])[0], Pattern(1, 2)[1] + PatternOf(2)[0]);
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(tree().stats().copied_inputs, 1u);
}

// Rows 26 to 28: three static inputs and one that is not, all of them misaligned at first and
// aligned then, in a tree, in one that is off and in eager runs. No static one is copied in any of
// them: the body sees the caller's own memory. The other one is, by a recording alone, as it is
// however it is aligned.
TEST_P(AliasesTest, UnalignedStaticInput) {
  std::vector<Tensor> memory;
  for (uint32_t seed = 1; seed <= 4; ++seed) memory.push_back(Given(seed, kWords + 4));
  const auto inputs_from = [&memory](bool aligned) {
    Values inputs;
    for (int64_t i = 0; i < 4; ++i) {
      inputs.push_back(Slice(memory[i], aligned ? 4 : i % 3 + 1, kWords));
    }
    return inputs;
  };
  for (const int way : {0, 1, 2}) {
    OpenTree({.enabled = way != 1});
    Address seen[4] = {};
    const FunctionId function =
        Register("static", {.static_inputs = {0, 1, 2}, .exclude = way == 2},
                 [&](Launcher& on, Values& inputs) {
                   for (int i = 0; i < 4; ++i) seen[i] = inputs[i].word();
                   const Tensor left = Sum(on, inputs[0], inputs[1]);
                   return Values{Sum(on, left, Sum(on, inputs[2], inputs[3]))};
                 });
    for (const bool aligned : {false, true}) {
      const Values x = inputs_from(aligned);
      const Words expected = Plus(Plus(Read(x[0]), Read(x[1])), Plus(Read(x[2]), Read(x[3])));
      for (int call = 0; call < 3; ++call) {
        EXPECT_EQ(Read(CallInSteps(1, function, x)[0]), expected);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(seen[i], x[i].word());
      }
      EXPECT_EQ(seen[3] == x[3].word(), way != 0);
    }
    EXPECT_EQ(tree().stats().copied_inputs, way == 0 ? 2u : 0u) << "one in each recording";
    EXPECT_EQ(eager(), way == 0 ? 0u : 6u);
    EXPECT_EQ(graphs(), way == 0 ? 2u : 0u);
    EXPECT_EQ(replays(), way == 0 ? 3u : 0u);
  }
}

// An object that goes in comes out again, whichever; one that the body made is a constant.
TEST_P(AliasesTest, OpaqueOutputs) {
  const auto object = [](int number) { return Value::Opaque(std::make_shared<int>(number)); };
  const FunctionId second = Register("second", {}, [](Launcher& on, Values& inputs) {
    return Values{inputs[1], Sum(on, inputs[2], inputs[2])};
  });
  const FunctionId makes =
      Register("makes", {.static_inputs = {0}}, [&](Launcher& on, Values& inputs) {
        return Values{object(7), Sum(on, inputs[0], inputs[0])};
      });
  const Tensor x = Given(1);
  for (int call = 0; call < 4; ++call) {
    EXPECT_EQ(CallInSteps(1, second, {object(1), object(2 + call), x})[0].opaque<int>(), 2 + call);
    EXPECT_EQ(CallInSteps(1, second, {Value::Integer(7), object(5), x})[0].opaque<int>(), 5);
    EXPECT_EQ(CallInSteps(1, makes, {x})[0].opaque<int>(), 7);
  }
  EXPECT_EQ(graphs(), 3u);
}

// Storages of two trees are told apart, though both count them from the first.
TEST_P(AliasesTest, AnotherTreesTensorIsNoInputOfThisOne) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tree> other, Tree::Create(device(), {}));
  const FunctionId make = other->Register("make", {}, Thrice);
  const Tensor x = Given(1);
  std::vector<Values> theirs;
  for (int i = 0; i < 4; ++i) {
    ASSERT_OK_AND_ASSIGN(Values made, other->Run(make, {x}, a()));
    theirs.push_back(std::move(made));
  }
  for (const Values& held : theirs) {
    const FunctionId function = Register("f", {}, [&](Launcher& on, Values& inputs) {
      return Values{Sum(on, inputs[0], inputs[0]), held[0]};
    });
    for (int step = 0; step < 3; ++step) {
      Values out = CallInSteps(1, function, {x});
      EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
      EXPECT_EQ(Read(out[1]), Times(PatternOf(1), 3));
    }
  }
}

}  // namespace
}  // namespace graphtree
