// What is refused, and with which words; and that the function runs all the same where it can.
#include <string>
#include <thread>
#include <utility>

#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class RefusalsTest : public TreeTest {
 protected:
  absl::Status Refusal(FunctionId function, Values inputs) {
    Values outputs;
    return tree().Run(function, absl::MakeSpan(inputs), a(), &outputs);
  }
};
GRAPHTREE_ON_EVERY_DEVICE(RefusalsTest);

TEST_P(RefusalsTest, ASecondThreadInside) {
  absl::Status refusal;
  FunctionId other = 0;
  const FunctionId function = Register("outer", {}, [&](Launcher& on, Values& inputs) {
    std::thread([&] { refusal = Refusal(other, {}); }).join();
    return Twice(on, inputs);
  });
  other = Register("other", {}, [](Launcher&, Values&) { return Values{}; });
  Values out = CallInSteps(1, function, {Given(1)});
  EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
  EXPECT_THAT(refusal, FailsWith(StatusCode::kFailedPrecondition, "second thread"));
}

TEST_P(RefusalsTest, ABodyThatCallsItsOwnTree) {
  absl::Status refusal;
  FunctionId function = 0;
  function = Register("recursive", {}, [&](Launcher& on, Values& inputs) {
    refusal = Refusal(function, {});
    return Twice(on, inputs);
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
    EXPECT_THAT(refusal, FailsWith(StatusCode::kFailedPrecondition, "its own tree"));
  }
}

TEST_P(RefusalsTest, AnOutputAsInputAfterItsStep) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId use = Register("use", {}, Thrice);
  const Tensor x = Given(1);
  for (int step = 0; step < 4; ++step) {
    NewStep();
    Values out = Call(make, {x});
    const Values kept = out;
    EXPECT_EQ(Read(Call(use, {out[0]})[0]), Times(PatternOf(1), 6));
    NewStep();
    const absl::Status refusal = Refusal(use, {kept[0]});
    EXPECT_THAT(refusal, FailsWith(StatusCode::kFailedPrecondition, "input 0 of 'use'"));
    EXPECT_THAT(refusal, FailsWith(StatusCode::kFailedPrecondition, "output 0 of 'make'"));
  }
  EXPECT_GT(replays(), 0u);
}

TEST_P(RefusalsTest, AFunctionThatIsNotThere) {
  EXPECT_THAT(Refusal(7, {}), FailsWith(StatusCode::kInvalidArgument, "function 7"));
}

// The recording is given up, the function has run, and the warning says why.
TEST_P(RefusalsTest, ABodyThatSynchronisesWhileItIsRecorded) {
  const FunctionId function = Register("waits", {}, [](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[0]);
    on.Fail(on.stream().Synchronize());
    return Values{sum};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(graphs(), 0u);
  EXPECT_EQ(reasons(Reason::kSynchronised), 2u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("'waits' runs eagerly: it waits for the device"),
            std::string::npos)
      << warnings()[0];
}

TEST_P(RefusalsTest, AForkThatDoesNotJoin) {
  const FunctionId function = Register("forks", {}, [this](Launcher& on, Values& inputs) {
    const Tensor x = Tensor::From(inputs[0]);
    const Tensor out = on.Empty(x.layout());
    if (!on.ok()) return Values{};
    on.Fail(on.stream().Record(event()));
    on.Fail(b().Wait(event()));
    on.Reads(x);
    on.Writes(out);
    on.Fail(Add(b(), out.raw_bytes(), x.raw_bytes(), x.raw_bytes()));
    return Values{out};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 3; ++step) {
    Values out = CallInSteps(1, function, {x});
    EXPECT_THAT(b().Synchronize(), IsOk());
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(graphs(), 0u);
  EXPECT_EQ(reasons(Reason::kUnjoinedFork), 2u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("'forks' runs eagerly: it forked work"), std::string::npos)
      << warnings()[0];
}

}  // namespace
}  // namespace graphtree
