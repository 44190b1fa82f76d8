// Bodies that compute on the host from data, in checked mode.
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class HostValuesTest : public TreeTest {
 protected:
  void Open(bool check, bool strict = false) {
    TreeOptions options;
    options.check = check;
    options.strict = strict;
    OpenTree(options);
  }
  // Adds what the test's variable says to a fresh tensor.
  FunctionId Plan() {
    return Register("plan", {}, [this](Launcher& on, Values&) {
      const Tensor out = Filled(on, 1, kWords);
      if (!on.ok()) return Values{};
      on.Launch(IncrementKernel(), TestShape(),
                {InOut(out), Val(lengths_), Val(static_cast<uint32_t>(kWords))});
      return Values{out};
    });
  }

  uint32_t lengths_ = 3;
};
GRAPHTREE_ON_EVERY_DEVICE(HostValuesTest);

TEST_P(HostValuesTest, AValueThatChangesBetweenWarmUpAndRecordingIsTold) {
  Open(true);
  const FunctionId plan = Plan();
  NewStep();
  Call(plan, {});
  lengths_ = 5;
  NewStep();
  Call(plan, {});
  EXPECT_EQ(reasons(Reason::kHostValue), 1u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0], AllOf(HasSubstr("'plan'"), HasSubstr("was given 3 as argument 1"),
                                   HasSubstr("5 now")));
  NewStep();
  Call(plan, {});
  EXPECT_EQ(replays(), 1u) << "a warning leaves the recording";
}

TEST_P(HostValuesTest, AStrictTreeRecordsNoSuchBody) {
  Open(true, true);
  const FunctionId plan = Plan();
  NewStep();
  Call(plan, {});
  lengths_ = 5;
  NewStep();
  EXPECT_THAT(Refusal(plan, {}).message(), HasSubstr("was given 3"));
  EXPECT_EQ(graphs(), 0u);
  NewStep();
  lengths_ = 3;
  const Values out = Call(plan, {});
  Words expected = Pattern(1, kWords);
  for (uint32_t& word : expected) word += 3;
  EXPECT_EQ(Read(out[0]), expected);
  EXPECT_EQ(graphs(), 1u);
}

TEST_P(HostValuesTest, ABodyThatIsRightIsNotBlamed) {
  Open(true);
  const FunctionId plan = Plan();
  const FunctionId takes = Register("takes", {}, [](Launcher& on, Values&) {
    const Tensor out = Filled(on, 1, kWords);
    if (!on.ok()) return Values{};
    on.Launch(IncrementKernel(), TestShape(),
              {InOut(out), Val(static_cast<uint32_t>(on.Integer(0))),
               Val(static_cast<uint32_t>(kWords))});
    return Values{out, Sum(on, out, on.Input(1))};
  });
  for (int i = 0; i < 9; ++i) {
    NewStep();
    const Values out = Call(plan, {});
    // An integer is part of the key, and inputs may lie anywhere.
    Call(takes, {Value::Integer(i % 3), Given(i)});
  }
  EXPECT_EQ(reasons(Reason::kHostValue), 0u);
  EXPECT_GT(replays(), 9u);
}

struct ThreeWords {
  uint64_t words[3];
};
struct WithPadding {
  uint8_t small;
  uint32_t large;
};

const Kernel& TakesStructsKernel() {
  static const Kernel* const kernel =
      new Kernel("takes_structs", Params<ThreeWords, WithPadding>(), [](const HostCall&) {}, {});
  return *kernel;
}

TEST_P(HostValuesTest, StructsAreComparedWhereTheirBytesAreTheirValue) {
  if (!device().info().checks_accesses) GTEST_SKIP() << "the kernel has no CUDA body";
  Open(true);
  ThreeWords three = {{1, 2, 3}};
  uint8_t rubbish = 0x11;
  const FunctionId function = Register("structs", {}, [&](Launcher& on, Values&) {
    alignas(WithPadding) uint8_t bytes[sizeof(WithPadding)];
    std::memset(bytes, rubbish, sizeof(bytes));
    auto* const padded = new (bytes) WithPadding;
    padded->small = 1;
    padded->large = 2;
    const Tensor out = Filled(on, 1, kWords);
    on.Launch(TakesStructsKernel(), {}, {Val(three), Val(*padded)});
    return Values{out};
  });
  NewStep();
  Call(function, {});
  rubbish = 0x22;
  NewStep();
  Call(function, {});
  EXPECT_EQ(reasons(Reason::kHostValue), 0u) << "padding has no value";

  const FunctionId other = Register("other", {}, [&](Launcher& on, Values&) {
    const Tensor out = Filled(on, 1, kWords);
    on.Launch(TakesStructsKernel(), {}, {Val(three), Val(WithPadding{})});
    return Values{out};
  });
  NewStep();
  Call(other, {});
  three.words[2] = 4;
  NewStep();
  Call(other, {});
  EXPECT_EQ(reasons(Reason::kHostValue), 1u);
}

TEST_P(HostValuesTest, WhatFollowsFromAWorkspaceThatHasMovedIsNoHostValue) {
  Open(true, true);
  const Tensor first = Given(1), second = Given(2);
  const WorkspaceId workspace = tree().RegisterWorkspace("library", first.raw_bytes());
  const FunctionId function = Register("sized", {}, [&](Launcher& on, Values&) {
    const AddressRange memory = on.Workspace(workspace);
    const Tensor out = Filled(on, static_cast<uint32_t>(memory.bytes % 1000), kWords);
    return Values{out};
  });
  NewStep();
  Call(function, {});
  AddressRange smaller = second.raw_bytes();
  smaller.bytes -= 4;
  ASSERT_THAT(tree().MoveWorkspace(workspace, smaller), IsOk());
  for (int step = 0; step < 3; ++step) {
    NewStep();
    const Values out = Call(function, {});
    EXPECT_EQ(Read(out[0]), Pattern(static_cast<uint32_t>(smaller.bytes % 1000), kWords));
  }
  EXPECT_GT(replays(), 0u);
}

TEST_P(HostValuesTest, OutsideOfCheckedModeNothingIsLookedAt) {
  Open(false);
  const FunctionId plan = Plan();
  for (int i = 0; i < 3; ++i) {
    NewStep();
    Call(plan, {});
    lengths_ = 5;
  }
  EXPECT_EQ(reasons(Reason::kHostValue), 0u);
}

}  // namespace
}  // namespace graphtree
