// Inputs that are less aligned than declared, and written to or reached by another name: such a
// call runs on a copy of the input. What it gives is what a run without copies would give, or it is
// an error in words that leaves the input as it was.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/tree/breaks_fixture.h"
#include "tests/tree/fleeting_memory.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class MisalignedTest : public BreaksFixture {
 protected:
  void SetUp() override {
    BreaksFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    memory_ = Given(1, kWords + 8);
    crooked_ = Slice(memory_, 1, kWords);
  }
  void TearDown() override {
    memory_ = crooked_ = Tensor();
    BreaksFixture::TearDown();
  }
  // Input 0 is declared to be aligned, and never is.
  FunctionId Aligned(Body body, FunctionOptions options = {}) {
    options.alignments = {{0, 16}};
    return Register("f", std::move(options), std::move(body));
  }
  // Of a body that cannot be run on a copy: each call says so, and the input stays as it was.
  void ExpectRefused(const Body& body, const std::string& what) {
    const Words before = Read(memory_);
    for (const bool exclude : {false, true}) {
      const FunctionId function = Aligned(body, {.exclude = exclude});
      for (int call = 0; call < 3; ++call) {
        NewStep();
        const absl::Status refused = Refusal(function, {crooked_});
        EXPECT_THAT(refused, FailsWith(StatusCode::kInvalidArgument, what));
        EXPECT_THAT(refused, FailsWith(StatusCode::kInvalidArgument,
                                       "the bytes of input 0 of 'f' by another name"));
        EXPECT_EQ(Read(memory_), before) << "call " << call << (exclude ? ", excluded" : "");
      }
    }
    EXPECT_THAT(device().health(), IsOk());
  }
  // Of one that can: the output and the input after each call.
  void ExpectWorks(const Body& body, const std::function<Words(const Words&)>& output,
                   const std::function<Words(const Words&)>& input) {
    for (const bool exclude : {false, true}) {
      const FunctionId function = Aligned(body, {.exclude = exclude});
      for (int call = 0; call < 4; ++call) {
        const Words before = Read(crooked_);
        EXPECT_EQ(Read(CallInSteps(1, function, {crooked_})[0]), output(before)) << call;
        EXPECT_EQ(Read(crooked_), input(before)) << call;
      }
    }
  }
  static Words Bumped(const Words& words) { return Plus(words, Words(words.size(), 1)); }

  Tensor memory_, crooked_;
};
GRAPHTREE_ON_EVERY_DEVICE(MisalignedTest);

TEST_P(MisalignedTest, ACapturedTensorIsReadAfterTheInputIsWritten) {
  const auto body = [this](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], 1);
    return Values{Sum(on, crooked_, crooked_)};
  };
  ExpectRefused(body, "'add' reads");
}

TEST_P(MisalignedTest, ACapturedTensorIsWrittenBesideTheInput) {
  const auto body = [this](Launcher& on, Values& inputs) {
    const Tensor before = Sum(on, inputs[0], inputs[0]);
    Bump(on, crooked_, 1);
    return Values{Sum(on, inputs[0], before)};
  };
  ExpectRefused(body, "'increment' writes to");
}

// Part of the bytes is enough.
TEST_P(MisalignedTest, ACapturedTensorOverlapsTheInput) {
  const auto body = [this](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], 1);
    return Values{Sum(on, Slice(memory_, kWords, 4), Slice(memory_, kWords, 4))};
  };
  ExpectRefused(body, "'add' reads");
}

TEST_P(MisalignedTest, ACapturedTensorIsReadBeforeTheInputIsWritten) {
  const auto body = [this](Launcher& on, Values& inputs) {
    const Tensor twice = Sum(on, crooked_, crooked_);
    Bump(on, inputs[0], 1);
    return Values{twice};
  };
  ExpectWorks(
      body, [](const Words& x) { return Times(x, 2); }, Bumped);
}

TEST_P(MisalignedTest, ACapturedTensorIsReadBesideTheInput) {
  const auto body = [this](Launcher& on, Values& inputs) {
    return Values{Sum(on, crooked_, inputs[0])};
  };
  const auto same = [](const Words& x) { return x; };
  ExpectWorks(
      body, [](const Words& x) { return Times(x, 2); }, same);
}

// A tensor of the tree's that the body has from an eager run.
TEST_P(MisalignedTest, AStoredTensorIsReadAfterTheInputIsWritten) {
  const FunctionId make = Register("make", {.exclude = true}, Thrice);
  const Values made = CallInSteps(1, make, {memory_});
  Tensor stored = Tensor::From(made[0]);
  memory_ = stored;
  crooked_ = Slice(stored, 1, kWords);
  const auto body = [stored](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], 1);
    return Values{Sum(on, stored, stored)};
  };
  ExpectRefused(body, "'add' reads");
}

TEST_P(MisalignedTest, OpaqueWorkReadsACapturedTensor) {
  const auto body = [this](Launcher& on, Values& inputs) {
    const Tensor out = on.Empty(inputs[0].layout());
    on.Reads(crooked_);
    on.Writes(out);
    if (on.ok())
      on.Fail(Add(on.stream(), out.raw_bytes(), crooked_.raw_bytes(), crooked_.raw_bytes()));
    return Values{out};
  };
  // Only the options say that the input is written to, and not when.
  const FunctionId function = Aligned(
      [body](Launcher& on, Values& inputs) {
        if (on.ok()) on.Fail(Increment(on.stream(), Tensor::From(inputs[0]).raw_bytes(), 1));
        return body(on, inputs);
      },
      {.mutated_inputs = {0}});
  const Words before = Read(memory_);
  for (int call = 0; call < 3; ++call) {
    EXPECT_THAT(Refusal(function, {crooked_}),
                FailsWith(StatusCode::kInvalidArgument, "opaque work reads the bytes of input 0"));
    EXPECT_EQ(Read(memory_), before);
  }
}

// A part is given the caller's bytes by another name.
TEST_P(MisalignedTest, AnArgumentOfAPartIsTheCallersMemory) {
  const auto reads = [this](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], 1);
    return Values{HostTimes(on, crooked_, 3)};
  };
  ExpectRefused(reads, "'host' reads");
  const auto writes = [this](Launcher& on, Values& inputs) {
    HostBump(on, crooked_, 10);
    return Values{Sum(on, inputs[0], inputs[0])};
  };
  ExpectRefused(writes, "'host' writes to");
}

TEST_P(MisalignedTest, AnArgumentOfAPartIsTheInput) {
  const auto body = [this](Launcher& on, Values& inputs) {
    HostBump(on, inputs[0], 1);
    return Values{HostTimes(on, inputs[0], 3)};
  };
  ExpectWorks(
      body, [](const Words& x) { return Times(Bumped(x), 3); }, Bumped);
}

TEST_P(MisalignedTest, ALaunchOfAPartReachesTheCallersMemory) {
  const auto reads = [this](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], 1);
    const Tensor out = on.Empty(inputs[0].layout());
    on.Break("reads", {Out(out)}, [this](Launcher& part, absl::Span<const Tensor> tensors) {
      const uint32_t count = kWords;
      part.Launch(AddKernel(), TestShape(),
                  {Out(tensors[0]), In(crooked_), In(crooked_), Val(count)});
    });
    return Values{out};
  };
  ExpectRefused(reads, "'add' reads");
  const auto writes = [this](Launcher& on, Values& inputs) {
    on.Break("writes", {},
             [this](Launcher& part, absl::Span<const Tensor>) { Bump(part, crooked_, 1); });
    return Values{Sum(on, inputs[0], inputs[0])};
  };
  ExpectRefused(writes, "'increment' writes to");
}

// A part in a part.
TEST_P(MisalignedTest, ALaunchOfAnInnerPartReachesTheCallersMemory) {
  const auto body = [this](Launcher& on, Values& inputs) {
    on.Break("outer", {}, [this](Launcher& part, absl::Span<const Tensor>) {
      part.Break("inner", {},
                 [this](Launcher& inner, absl::Span<const Tensor>) { Bump(inner, crooked_, 1); });
    });
    return Values{Sum(on, inputs[0], inputs[0])};
  };
  ExpectRefused(body, "'increment' writes to");
}

// The break says that the part reads; what its launch says counts.
TEST_P(MisalignedTest, APartWritesToTheInputThatItWasGivenToRead) {
  const auto body = [](Launcher& on, Values& inputs) {
    on.Break("bumps", {In(Tensor::From(inputs[0]))},
             [](Launcher& part, absl::Span<const Tensor> tensors) { Bump(part, tensors[0], 1); });
    return Values{Sum(on, inputs[0], inputs[0])};
  };
  const FunctionId function = Aligned(body, {.exclude = true});
  for (int call = 0; call < 3; ++call) {
    const Words before = Read(crooked_);
    EXPECT_EQ(Read(CallInSteps(1, function, {crooked_})[0]), Times(Bumped(before), 2));
    EXPECT_EQ(Read(crooked_), Bumped(before)) << call;
  }
}

TEST_P(MisalignedTest, ANestedCallTakesTheCallersMemory) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tree> other,
                       Tree::Create(device(), {.pool_bytes = 32 << 20}));
  const FunctionId bump = other->Register("bump", {}, [](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], 1);
    return Values{};
  });
  for (const bool in_part : {false, true}) {
    const auto call_other = [this, bump, tree = other.get()](Launcher& part) {
      Values inputs = {crooked_}, outputs;
      // A body that does not look at what came of it.
      tree->Run(bump, absl::MakeSpan(inputs), part.stream(), &outputs).IgnoreError();
    };
    const auto body = [call_other, in_part](Launcher& on, Values& inputs) {
      if (!in_part) call_other(on);
      on.Break("calls", {}, [call_other, in_part](Launcher& part, absl::Span<const Tensor>) {
        if (in_part) call_other(part);
      });
      return Values{Sum(on, inputs[0], inputs[0])};
    };
    ExpectRefused(body, "a call of 'bump' inside of its body takes");
  }
}

TEST_P(MisalignedTest, ANestedCallTakesTheInput) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tree> other,
                       Tree::Create(device(), {.pool_bytes = 32 << 20}));
  const FunctionId bump = other->Register("bump", {}, [](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], 1);
    return Values{};
  });
  const auto body = [bump, tree = other.get()](Launcher& on, Values& inputs) {
    on.Break("calls", {InOut(Tensor::From(inputs[0]))},
             [bump, tree](Launcher& part, absl::Span<const Tensor> tensors) {
               Values inputs = {tensors[0]}, outputs;
               part.Fail(tree->Run(bump, absl::MakeSpan(inputs), part.stream(), &outputs));
             });
    return Values{Sum(on, inputs[0], inputs[0])};
  };
  ExpectWorks(
      body, [](const Words& x) { return Times(Bumped(x), 2); }, Bumped);
}

// The nested call writes to the copy, and no op of the body's own does.
TEST_P(MisalignedTest, ANestedCallAloneWritesToTheInput) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tree> other,
                       Tree::Create(device(), {.pool_bytes = 32 << 20}));
  const auto bumps = [](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], 1);
    return Values{};
  };
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tree> third,
                       Tree::Create(device(), {.pool_bytes = 32 << 20}));
  const FunctionId bump = third->Register("bump", {}, bumps);
  const auto passes_on = [bump, tree = third.get()](Launcher& on, Values& inputs) {
    Values taken = {inputs[0]}, outputs;
    on.Fail(tree->Run(bump, absl::MakeSpan(taken), on.stream(), &outputs));
    return Values{};
  };
  for (const FunctionId nested : {other->Register("bump", {}, bumps),
                                  other->Register("passes on", {.exclude = true}, passes_on)}) {
    const auto body = [nested, tree = other.get()](Launcher& on, Values& inputs) {
      Values taken = {inputs[0]}, outputs;
      on.Fail(tree->Run(nested, absl::MakeSpan(taken), on.stream(), &outputs));
      return Values{Sum(on, inputs[0], inputs[0])};
    };
    ExpectWorks(
        body, [](const Words& x) { return Times(Bumped(x), 2); }, Bumped);
  }
}

// The caller's bytes are old from then on.
TEST_P(MisalignedTest, ANestedCallWritesBesideACapturedTensor) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tree> other,
                       Tree::Create(device(), {.pool_bytes = 32 << 20}));
  const FunctionId bump = other->Register("bump", {}, [](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], 1);
    return Values{};
  });
  const auto body = [this, bump, tree = other.get()](Launcher& on, Values& inputs) {
    Values taken = {inputs[0]}, outputs;
    on.Fail(tree->Run(bump, absl::MakeSpan(taken), on.stream(), &outputs));
    return Values{Sum(on, crooked_, crooked_)};
  };
  ExpectRefused(body, "'add' reads");
}

// Another input that overlaps it comes along in the copy, into parts, too.
TEST_P(MisalignedTest, AnotherInputThatOverlapsItIsGivenToAPart) {
  const Tensor other = Slice(memory_, 5, kWords);
  for (const bool exclude : {false, true}) {
    const FunctionId function = Aligned(
        [this](Launcher& on, Values& inputs) {
          HostBump(on, inputs[1], 3);
          return Values{HostTimes(on, inputs[0], 2)};
        },
        {.exclude = exclude});
    for (int call = 0; call < 3; ++call) {
      Words expected = Read(memory_);
      for (int64_t i = 5; i < kWords + 5; ++i) expected[i] += 3;
      const Words out = Read(CallInSteps(1, function, {crooked_, other})[0]);
      EXPECT_EQ(out, Times(Words(expected.begin() + 1, expected.begin() + 1 + kWords), 2)) << call;
      EXPECT_EQ(Read(memory_), expected) << call;
    }
  }
}

// It is seen in the first run, told, and not lost.
TEST_P(MisalignedTest, AWriteThatNobodyDeclaresComesBack) {
  for (const bool check : {false, true}) {
    OpenTree({.check = check});
    const FunctionId function = Aligned([](Launcher& on, Values& inputs) {
      BumpInSecret(on, inputs[0], 1);
      return Values{Sum(on, inputs[0], inputs[0])};
    });
    for (int call = 0; call < 4; ++call) {
      const Words before = Read(crooked_);
      EXPECT_EQ(Read(CallInSteps(1, function, {crooked_})[0]), Times(Bumped(before), 2));
      EXPECT_EQ(Read(crooked_), Bumped(before)) << call << (check ? ", checked" : "");
    }
    EXPECT_EQ(reasons(Reason::kUndeclaredWrite), check ? 4u : 1u) << check;
  }
}

// Nobody knows whether the body read the caller's bytes before or after the write.
TEST_P(MisalignedTest, AWriteThatNobodyDeclaresBesideACapturedTensor) {
  OpenTree({.check = true});
  const FunctionId function = Aligned([this](Launcher& on, Values& inputs) {
    BumpInSecret(on, inputs[0], 1);
    return Values{Sum(on, crooked_, crooked_)};
  });
  const Words before = Read(memory_);
  for (int call = 0; call < 3; ++call) {
    NewStep();
    EXPECT_THAT(Refusal(function, {crooked_}),
                FailsWith(StatusCode::kInvalidArgument, "in ways that no op declares"));
    EXPECT_EQ(Read(memory_), before);
  }
}

// Memory that must not be written at all.
TEST_P(MisalignedTest, AnInputThatIsOnlyReadIsNotWrittenInCheckedMode) {
  FleetingMemory fleeting;
  fleeting.Open(memory());
  const Tensor x = Tensor::Foreign(fleeting.base() + 4, WordsLayout(kWords));
  Write(x.raw_bytes(), PatternOf(3));
  const AddressRange granule = {fleeting.base(), memory().granularity()};
  ASSERT_THAT(memory().SetAccess(granule, MemoryAccess::kRead), IsOk());
  for (const bool check : {false, true}) {
    OpenTree({.check = check});
    for (const bool exclude : {false, true}) {
      const FunctionId function = Aligned(Twice, {.exclude = exclude});
      for (int call = 0; call < 3; ++call) {
        EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(3), 2));
      }
    }
  }
  EXPECT_THAT(a().Synchronize(), IsOk());
  CloseTree();
  fleeting.Close();
}

// A call that fails when its body has run: the input is as it was, and the caller's again.
class MisalignedFailureTest : public MisalignedTest {
 protected:
  void ExpectGivenBack(FunctionId function, StatusCode code, const std::string& what) {
    const FunctionId make = Register("make", {}, Twice);
    for (int call = 0; call < 3; ++call) {
      NewStep();
      const Values made = Call(make, {memory_});
      const Words words = Read(made[0]);
      Values inputs = {Slice(made[0], 1, kWords)};
      if (call == 1) inputs = Gathered(crooked_);
      const Words before = Read(inputs[0]);
      EXPECT_THAT(Failure(function, inputs), FailsWith(code, what));
      ASSERT_TRUE(inputs[0].is_tensor()) << "the input is lost";
      EXPECT_EQ(Read(inputs[0]), before) << call;
      EXPECT_EQ(Read(made[0]), words) << call;
    }
  }
  // The same where the caller has no other handle.
  void ExpectTheOnlyHandleBack(FunctionId function) {
    const FunctionId make = Register("make", {}, Twice);
    for (int call = 0; call < 3; ++call) {
      NewStep();
      Values inputs = Gathered(Slice(Call(make, {memory_})[0], 1, kWords));
      const Words before = Times(Read(crooked_), 2);
      EXPECT_FALSE(Failure(function, inputs).ok());
      ASSERT_TRUE(inputs[0].is_tensor()) << "the input is lost";
      EXPECT_EQ(Read(inputs[0]), before) << call;
    }
  }
};
GRAPHTREE_ON_EVERY_DEVICE(MisalignedFailureTest);

TEST_P(MisalignedFailureTest, AnOutputThatMayNotBeKept) {
  OpenTree({.kept_bytes = 16});
  const FunctionId function = Aligned(
      [](Launcher& on, Values& inputs) {
        Bump(on, inputs[0], 1);
        return Values{Sum(on, inputs[0], inputs[0])};
      },
      {.kept_outputs = {0}});
  ExpectGivenBack(function, StatusCode::kResourceExhausted, "is to be kept");
  ExpectTheOnlyHandleBack(function);
}

TEST_P(MisalignedFailureTest, AnUndeclaredWriteInStrictMode) {
  OpenTree({.strict = true, .check = true});
  const FunctionId function = Aligned([](Launcher& on, Values& inputs) {
    BumpInSecret(on, inputs[0], 1);
    return Values{};
  });
  const FunctionId make = Register("make", {}, Twice);
  NewStep();
  Values inputs = Gathered(Slice(Call(make, {memory_})[0], 1, kWords));
  EXPECT_THAT(Failure(function, inputs),
              FailsWith(StatusCode::kFailedPrecondition, "without declaring it"));
  ASSERT_TRUE(inputs[0].is_tensor()) << "the input is lost";
  EXPECT_EQ(Read(inputs[0]), Times(Read(crooked_), 2));
}

TEST_P(MisalignedFailureTest, ABodyThatFailsAfterItsWrite) {
  const FunctionId function = Aligned([](Launcher& on, Values& inputs) {
    Bump(on, inputs[0], 1);
    inputs.clear();
    on.Fail(absl::UnavailableError("no more"));
    return Values{};
  });
  ExpectGivenBack(function, StatusCode::kUnavailable, "no more");
  ExpectTheOnlyHandleBack(function);
}

}  // namespace
}  // namespace graphtree
