// A run of the body beside a replay that is compared moves a workspace: the recording that was
// found before points to memory that is gone, and is not launched.
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "graphs/reports/parity.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/tree/fleeting_memory.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

// A library that grows its workspace in the run of this number, and lets the old memory go.
class ComparedWorkspacesTest : public TreeTest {
 protected:
  void TearDown() override {
    CloseTree();
    for (FleetingMemory& memory : memory_) memory.Close();
    TreeTest::TearDown();
  }
  void Open(const TreeOptions& options, bool writes) {
    CloseTree();
    for (FleetingMemory& memory : memory_) memory.Close();
    for (FleetingMemory& memory : memory_) memory.Open(device().memory());
    OpenTree(options);
    now_ = 0;
    runs_ = 0;
    Write(At(0), PatternOf(9));
    workspace_ = tree().RegisterWorkspace("scratch", At(0));
    user_ = Register("matmul", {}, [this, writes](Launcher& on, Values& inputs) {
      if (++runs_ == moves_at_) Grow();
      const AddressRange memory = on.Workspace(workspace_);
      if (!on.ok()) return Values{};
      const Tensor scratch = Tensor::Foreign(memory.base, WordsLayout(kWords));
      if (writes) {
        on.Launch(AddKernel(), TestShape(),
                  {Out(scratch), In(Tensor::From(inputs[0])), In(Tensor::From(inputs[0])),
                   Val(uint32_t{kWords})});
      }
      const Tensor sum = Sum(on, scratch, inputs[0]);
      if (on.ok()) Bump(on, sum, by_);
      return Values{sum};
    });
  }
  ParityResult Compared(Values inputs, Values* outputs) {
    ParityResult result;
    NewStep();
    EXPECT_THAT(tree().RunCompared(user_, absl::MakeSpan(inputs), a(), outputs, {}, &result),
                IsOk());
    return result;
  }
  AddressRange At(size_t i) const { return {memory_[i].base(), kWords * sizeof(uint32_t)}; }
  void Grow() {
    EXPECT_THAT(a().Synchronize(), IsOk());
    ++now_;
    Write(At(now_), PatternOf(9));
    EXPECT_THAT(tree().MoveWorkspace(workspace_, At(now_)), IsOk());
    memory_[now_ - 1].Unmap();
  }
  Words Expected(bool writes) {
    return writes ? Times(PatternOf(1), 3) : Plus(PatternOf(1), PatternOf(9));
  }

  FleetingMemory memory_[3];
  size_t now_ = 0;
  int runs_ = 0;
  int moves_at_ = 0;
  uint32_t by_ = 0;
  WorkspaceId workspace_ = 0;
  FunctionId user_ = 0;
};
GRAPHTREE_ON_EVERY_DEVICE(ComparedWorkspacesTest);

TEST_P(ComparedWorkspacesTest, AWorkspaceThatARunBesideTheReplayMoves) {
  for (const bool writes : {false, true}) {
    for (const int run : {1, 2}) {
      Open({}, writes);
      const Tensor x = Given(1);
      moves_at_ = 0;
      CallInSteps(3, user_, {x});
      moves_at_ = runs_ + run;
      Values out;
      const ParityResult moved = Compared({x}, &out);
      EXPECT_EQ(now_, 1u);
      EXPECT_EQ(moved.parity, Parity::kNotCompared);
      EXPECT_THAT(moved.text, HasSubstr("after a run of its body beside it"));
      EXPECT_EQ(Read(out[0]), Expected(writes));
      EXPECT_EQ(tree().last_call().route, CallRoute::kRanEagerly);
      EXPECT_EQ(tree().last_call().reason, Reason::kWorkspaceMoved);
      EXPECT_EQ(reasons(Reason::kWorkspaceMoved), 1u);
      for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(Read(CallInSteps(1, user_, {x})[0]), Expected(writes));
      }
      EXPECT_EQ(Compared({x}, &out).parity, Parity::kSame);
      EXPECT_EQ(Read(out[0]), Expected(writes));
    }
  }
}

// What the replay left is the call's by then. The op may be found or not.
TEST_P(ComparedWorkspacesTest, AWorkspaceThatMovesWhileTheOpIsLookedFor) {
  for (const bool writes : {false, true}) {
    for (const int run : {3, 4}) {
      by_ = 0;
      Open({}, writes);
      const Tensor x = Given(1);
      moves_at_ = 0;
      CallInSteps(3, user_, {x});
      by_ = 1;
      moves_at_ = runs_ + run;
      Values out;
      EXPECT_EQ(Compared({x}, &out).parity, Parity::kDiffers);
      EXPECT_EQ(now_, 1u);
      EXPECT_EQ(Read(out[0]), Expected(writes));
      by_ = 0;
      EXPECT_EQ(Read(CallInSteps(1, user_, {x})[0]), Expected(writes));
    }
  }
}

TEST_P(ComparedWorkspacesTest, ACallThatMustReplayIsAnErrorThen) {
  Open({}, false);
  Values x = {Given(1)};
  CallInSteps(3, user_, x);
  moves_at_ = runs_ + 1;
  NewStep();
  Values out;
  ParityResult result;
  EXPECT_THAT(tree().RunCompared(user_, absl::MakeSpan(x), a(), &out, {}, &result,
                                 /*must_replay=*/true),
              FailsWith(absl::StatusCode::kFailedPrecondition, "was to be replayed"));
  EXPECT_EQ(Read(CallInSteps(1, user_, x)[0]), Expected(false));
}

TEST_P(ComparedWorkspacesTest, InCheckedModeToo) {
  for (const int run : {1, 2}) {
    TreeOptions options;
    options.check = options.compare_replays = true;
    Open(options, false);
    const Tensor x = Given(1);
    moves_at_ = 0;
    CallInSteps(2, user_, {x});
    moves_at_ = runs_ + run;
    EXPECT_EQ(Read(CallInSteps(1, user_, {x})[0]), Expected(false));
    EXPECT_EQ(now_, 1u);
    EXPECT_EQ(replays(), 0u);
    EXPECT_EQ(tree().last_call().reason, Reason::kWorkspaceMoved);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(Read(CallInSteps(1, user_, {x})[0]), Expected(false));
    }
    EXPECT_EQ(replays(), 2u);
  }
}

}  // namespace
}  // namespace graphtree
