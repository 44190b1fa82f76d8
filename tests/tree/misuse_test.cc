// Options, arguments and callbacks that cannot be right: an error says so, nothing ends the
// process, and the tree works on.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class MisuseTest : public TreeTest {};
GRAPHTREE_ON_EVERY_DEVICE(MisuseTest);

TEST_P(MisuseTest, OptionsThatNoInputCanHave) {
  constexpr uint32_t kFarOff = ~uint32_t{0};
  const Tensor x = Given(1);
  const std::pair<FunctionOptions, const char*> rows[] = {
      {{.static_inputs = {kFarOff}}, "'f' was registered with options for input 4294967295"},
      {{.mutated_inputs = {kFarOff}}, "'f' was registered with options for input 4294967295"},
      {{.alignments = {{4000000000u, 16}}}, "'f' was registered with options for input 4000000000"},
      {{.alignments = {{0, uint64_t{1} << 63}}}, "input 0 of 'f' is declared aligned to 9223"},
  };
  for (const auto& [options, words] : rows) {
    EXPECT_THAT(Refusal(Register("f", options, Twice), {x}),
                FailsWith(StatusCode::kInvalidArgument, words));
  }
  EXPECT_THAT(Refusal(Register("f", {}, Body()), {x}),
              FailsWith(StatusCode::kInvalidArgument, "'f' was registered without a body"));
}

// A body may go on with what it asked for and did not get.
TEST_P(MisuseTest, TensorsThatCannotBe) {
  const std::vector<int64_t> impossible[] = {
      {-1, 8}, {int64_t{1} << 62}, {int64_t{1} << 32, int64_t{1} << 32}, {INT64_MAX, INT64_MAX}};
  for (const std::vector<int64_t>& sizes : impossible) {
    const FunctionId function = Register("f", {}, [&sizes](Launcher& on, Values&) {
      const Tensor made = on.Empty(DType::kF64, sizes);
      EXPECT_EQ(made.shape().sizes().size(), sizes.size());
      return Values{Sum(on, made, Tensor::From(made))};
    });
    EXPECT_THAT(Refusal(function, {}),
                FailsWith(StatusCode::kInvalidArgument, "'f', before the first op of its body: a "
                                                        "tensor of f64["));
  }
  const FunctionId nothing = Register("g", {}, [](Launcher& on, Values& inputs) {
    on.Break("nothing", {In(Tensor::From(inputs[0]))}, EagerPart());
    return Values{};
  });
  EXPECT_THAT(Refusal(nothing, {Given(1)}),
              FailsWith(StatusCode::kInvalidArgument, "break 'nothing' was given nothing to run"));
}

TEST_P(MisuseTest, AStreamOfAnotherDevice) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Device> elsewhere, GetParam().open());
  if (device().info().architecture != "host") GTEST_SKIP() << "a GPU is one device";
  const Tensor x = Given(1);
  for (const bool exclude : {true, false}) {
    const FunctionId function = Register("f", {.exclude = exclude}, Twice);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> theirs, elsewhere->NewStream());
    for (int call = 0; call < 2; ++call) {
      Values inputs = {x}, outputs;
      EXPECT_THAT(tree().Run(function, absl::MakeSpan(inputs), *theirs, &outputs),
                  FailsWith(StatusCode::kInvalidArgument, "'f' was called on a stream of another"));
      EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
    }
  }
  EXPECT_THAT(elsewhere->Close(), IsOk());
}

TEST_P(MisuseTest, AStreamThatCaptures) {
  const FunctionId function = Register("f", {}, Twice);
  const Tensor x = Given(1);
  ASSERT_THAT(b().BeginCapture(CaptureMode::kRelaxed), IsOk());
  Values inputs = {x}, outputs;
  EXPECT_THAT(tree().Run(function, absl::MakeSpan(inputs), b(), &outputs),
              FailsWith(StatusCode::kFailedPrecondition, "'f' was called on a stream that cap"));
  EXPECT_THAT(b().EndCapture(), IsOk()) << "and the capture goes on";
  EXPECT_EQ(Read(CallInSteps(3, function, {x})[0]), Times(PatternOf(1), 2));
}

// By a warning, and by the end of an object that the call lets go of.
TEST_P(MisuseTest, ATreeThatIsClosedByWhatACallTells) {
  for (const bool by_warning : {true, false}) {
    std::unique_ptr<Tree> tree;
    TreeOptions options;
    options.warn = [&](const std::string&) { tree.reset(); };
    ASSERT_OK_AND_ASSIGN(tree, Tree::Create(device(), options));
    const FunctionId waits = tree->Register("waits", {}, [](Launcher& on, Values& inputs) {
      on.Fail(on.stream().Synchronize());
      return Twice(on, inputs);
    });
    const FunctionId quiet = tree->Register("quiet", {}, Twice);
    Values outputs;
    absl::Status status;
    for (int call = 0; call < 2 && tree != nullptr; ++call) {
      if (!by_warning) {
        const auto closes = [&](const int* object) {
          const std::unique_ptr<const int> last(object);
          tree.reset();
        };
        outputs = {Value::Opaque(std::shared_ptr<const int>(new int(1), closes))};
      }
      Values inputs = {Given(1)};
      status = tree->Run(by_warning ? waits : quiet, absl::MakeSpan(inputs), a(), &outputs);
    }
    EXPECT_EQ(tree, nullptr);
    EXPECT_THAT(status, FailsWith(StatusCode::kFailedPrecondition, "closed its own tree, or what"));
  }
}

TEST_P(MisuseTest, OptionsThatSpeakOfAnInputThatIsNotThere) {
  const FunctionOptions options[] = {
      {.static_inputs = {0, 2}}, {.mutated_inputs = {2}}, {.alignments = {{2, 64}}}};
  for (const FunctionOptions& option : options) {
    const FunctionId function = Register("speaks", option, Twice);
    for (int call = 0; call < 2; ++call) {
      EXPECT_THAT(Refusal(function, {Given(1)}),
                  FailsWith(StatusCode::kInvalidArgument,
                            "'speaks' was called with 1 inputs, and its options speak of input 2"));
    }
    const Tensor x = Given(2);
    EXPECT_EQ(Read(CallInSteps(3, function, {x, x, x})[0]), Times(PatternOf(2), 2));
  }
}

TEST_P(MisuseTest, AnInputThatWasConsumedAlready) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId use = Register("use", {}, Thrice);
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    NewStep();
    Values made = Call(make, {x}), first, second;
    ASSERT_THAT(tree().Run(use, absl::MakeSpan(made), a(), &first), IsOk());
    EXPECT_THAT(tree().Run(use, absl::MakeSpan(made), a(), &second),
                FailsWith(StatusCode::kInvalidArgument,
                          "input 0 of 'use' was consumed by an earlier call"))
        << "step " << step;
    EXPECT_EQ(Read(first[0]), Times(PatternOf(1), 6)) << "and nothing is lost";
  }
  EXPECT_GT(replays(), 0u);
  EXPECT_EQ(graphs(), 2u);
}

// In the warm-up, in the recording and in a replay.
TEST_P(MisuseTest, APartThatClosesItsOwnTree) {
  for (const int runs : {1, 2, 3}) {
    OpenTree({});
    int left = runs;
    const FunctionId function = Register("f", {}, [&](Launcher& on, Values& inputs) {
      const Tensor out = Sum(on, inputs[0], inputs[0]);
      on.Break("closes", {In(out)}, [&](Launcher&, absl::Span<const Tensor>) {
        if (--left == 0) CloseTree();
      });
      return Values{Sum(on, out, out)};
    });
    const Tensor x = Given(1);
    for (int run = 1; run < runs; ++run) CallInSteps(1, function, {x});
    EXPECT_THAT(Refusal(function, {x}),
                FailsWith(StatusCode::kFailedPrecondition, "closed its own tree"));
  }
}

TEST_P(MisuseTest, NumbersThatAreNoValueOfTheirEnum) {
  const Tensor x = Given(1);
  const FunctionId moves = Register("moves", {.moving = static_cast<Moving>(3)}, Twice);
  EXPECT_THAT(Refusal(moves, {x}),
              FailsWith(StatusCode::kInvalidArgument,
                        "'moves' was registered with FunctionOptions::moving 3, and there is none "
                        "with that number"));
  const FunctionId access = Register("access", {}, [](Launcher& on, Values& inputs) {
    const Tensor in = Tensor::From(inputs[0]);
    on.Launch(IncrementKernel(), TestShape(),
              {Arg(static_cast<Access>(4), in), Val(1u), Val(uint32_t{kWords})});
    return Values{};
  });
  EXPECT_THAT(Refusal(access, {x}),
              FailsWith(StatusCode::kInvalidArgument, "given a tensor with access 4"));
  EXPECT_STREQ(ReasonName(static_cast<Reason>(250)), "unknown");
  EXPECT_EQ(Read(x), PatternOf(1));
}

TEST_P(MisuseTest, AWorkspaceBeyondTheLastAddress) {
  constexpr AddressRange kWraps = {~uint64_t{0} - 15, 32};
  const AddressRange fine = NewWords(16);
  const WorkspaceId scratch = tree().RegisterWorkspace("scratch", fine);
  EXPECT_THAT(tree().MoveWorkspace(scratch, kWraps),
              FailsWith(StatusCode::kInvalidArgument,
                        "workspace 'scratch' is said to lie at 0xfffffffffffffff0 with 32 bytes, "
                        "which go beyond the last address"));
  const WorkspaceId wrong = tree().RegisterWorkspace("wrong", kWraps);
  AddressRange found;
  const auto uses = [&](WorkspaceId id) {
    return Register("uses", {}, [&found, id](Launcher& on, Values& inputs) {
      found = on.Workspace(id);
      return on.ok() ? Values{Sum(on, inputs[0], inputs[0])} : Values{};
    });
  };
  CallInSteps(1, uses(scratch), {Given(1)});
  EXPECT_EQ(found, fine) << "as it was";
  EXPECT_THAT(Refusal(uses(wrong), {Given(1)}),
              FailsWith(StatusCode::kInvalidArgument, "workspace 'wrong' is said to lie"));
}

// Of a function that its owner alone may call, not even a recording serves others.
TEST_P(MisuseTest, AFunctionThatItsOwnerAloneMayCall) {
  std::atomic<std::thread::id> owner = std::this_thread::get_id();
  const FunctionId owned = Register("owned", {.owners_thread = &owner}, Twice);
  const Tensor x = Given(1);
  CallInSteps(3, owned, {x});
  const uint64_t before = replays();
  NewStep();
  std::thread([&] {
    EXPECT_THAT(tree().Run(owned, {x}, a()).status(),
                FailsWith(StatusCode::kFailedPrecondition, "'owned' was called by somebody else"));
  }).join();
  owner = std::thread::id();
  EXPECT_THAT(Refusal(owned, {x}),
              FailsWith(StatusCode::kFailedPrecondition, "'owned' was called by somebody else"));
  EXPECT_THAT(tree().Record(owned, {x}, a()),
              FailsWith(StatusCode::kFailedPrecondition, "'owned' was called by somebody else"));
  Values inputs = {x};
  EXPECT_FALSE(tree().WouldReplay(owned, absl::MakeSpan(inputs), a(), true));
  EXPECT_EQ(replays(), before);
  owner = std::this_thread::get_id();
  EXPECT_EQ(Read(CallInSteps(1, owned, {x})[0]), Times(PatternOf(1), 2));
  EXPECT_EQ(replays(), before + 1);
}

}  // namespace
}  // namespace graphtree
