// Foreign code inside bodies: its allocator callbacks get memory that a recording may keep using.
#include "allocator/foreign.h"

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "allocator/pool.h"
#include "tests/kernels/launches.h"
#include "tests/tree/foreign_fixture.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class ForeignTreeTest : public ForeignFixture {
 protected:
  // x -> x + x + x by way of temporaries that come and go one after the other.
  FunctionId RegisterTemporaries() {
    return Register("temporaries", {}, [this](Launcher& on, Values& inputs) {
      Stream& stream = on.stream();
      const AddressRange x = Tensor::From(inputs[0]).raw_bytes();
      const AddressRange twice = Allocate(stream);
      on.Fail(Add(stream, twice, x, x));
      const AddressRange thrice = Allocate(stream);
      on.Fail(Add(stream, thrice, twice, x));
      Free(twice, stream);
      const AddressRange again = Allocate(stream);
      on.Fail(FillPattern(stream, again, 9));
      Free(again, stream);
      const Tensor out = on.Empty(WordsLayout(kWords));
      if (!on.ok()) return Values{};
      on.Copy(out, Tensor::Foreign(thrice.base, WordsLayout(kWords)));
      Free(thrice, stream);
      return Values{out};
    });
  }
  // What the memory holds once all of the caller's stream is done.
  Words Look(AddressRange range) {
    EXPECT_THAT(a().Synchronize(), IsOk());
    return ConformanceTest::Read(range);
  }
  uint64_t foreign_blocks() {
    const uint64_t held = live();  // forgets what has died
    return tree().pool().Stats().live_blocks - held;
  }
  uint64_t held_bytes() { return tree().stats().foreign_held_bytes; }
};
GRAPHTREE_ON_EVERY_DEVICE(ForeignTreeTest);

TEST_P(ForeignTreeTest, TemporariesOfABodyAreItsRecordings) {
  const FunctionId function = RegisterTemporaries();
  const FunctionId other = Register("other", {}, Twice);
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    NewStep();
    Values out = Call(function, {x});
    // Whatever is allocated meanwhile, here too, a replay writes to none of it.
    const AddressRange mine = Allocate(a());
    EXPECT_THAT(FillPattern(a(), mine, 5), IsOk());
    Values more = Call(other, {x});
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 3));
    EXPECT_EQ(Read(Call(function, {x})[0]), Times(PatternOf(1), 3));
    EXPECT_EQ(Read(more[0]), Times(PatternOf(1), 2));
    EXPECT_EQ(Look(mine), PatternOf(5));
    Free(mine, a());
  }
  EXPECT_GT(replays(), 0u);
  EXPECT_EQ(held_bytes(), graphs() / 3 * 2 * 2 * kBytes)
      << "two blocks for each recording: the third temporary is the first one's memory";
  EXPECT_THAT(foreign().last_error(), IsOk());
}

// Checked mode looks at memory of the caller's that ops name; temporaries are gone by then.
TEST_P(ForeignTreeTest, TemporariesAreNoCallersMemoryForCheckedMode) {
  OpenTree({.check = true});
  const FunctionId function = Register("temporaries", {}, [this](Launcher& on, Values& inputs) {
    const AddressRange block = Allocate(on.stream());
    const Tensor temporary = Tensor::Foreign(block.base, WordsLayout(kWords));
    on.Copy(temporary, Tensor::From(inputs[0]));
    const Tensor out = Sum(on, temporary, inputs[0]);
    Free(block, on.stream());
    Filled(on, 3, kWords);  // the pool is used once more
    return Values{out};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(replays(), 2u);
  EXPECT_EQ(reasons(Reason::kUndeclaredWrite), 0u);
}

// A workspace that the library makes when it is first recorded, and keeps.
TEST_P(ForeignTreeTest, ABlockThatOutlivesItsBodyIsHeldByTheRecording) {
  AddressRange workspace;
  int runs = 0;
  const FunctionId function = Register("caches", {}, [&](Launcher& on, Values& inputs) {
    if (runs++ == 1) workspace = Allocate(on.stream());
    const AddressRange x = Tensor::From(inputs[0]).raw_bytes();
    const Tensor out = on.Empty(WordsLayout(kWords));
    if (!on.ok()) return Values{};
    if (workspace.empty()) {
      on.Fail(Add(on.stream(), out.raw_bytes(), x, x));
    } else {
      on.Fail(Add(on.stream(), workspace, x, x));
      on.Copy(out, Tensor::Foreign(workspace.base, WordsLayout(kWords)));
    }
    return Values{out};
  });
  const FunctionId sibling = Register("sibling", {}, Thrice);
  const Tensor x = Given(1);
  for (int step = 0; step < 6; ++step) {
    if (step == 4) Free(workspace, a());  // the recording still uses it
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
    if (step > 0) {
      EXPECT_EQ(Look(workspace), Times(PatternOf(1), 2));
    }
    EXPECT_EQ(Read(CallInSteps(1, sibling, {x})[0]), Times(PatternOf(1), 3));
    if (step > 0) {
      EXPECT_EQ(Look(workspace), Times(PatternOf(1), 2));
    }
    EXPECT_EQ(held_bytes(), step == 0 ? 0 : kBytes);
  }
  EXPECT_FALSE(foreign().Free(workspace.base, a()).ok()) << "freed twice";
  EXPECT_EQ(graphs(), 2u);
}

TEST_P(ForeignTreeTest, OutsideOfBodiesItIsMemoryThatNoStepTakes) {
  const AddressRange mine = Allocate(a());
  EXPECT_THAT(FillPattern(a(), mine, 5), IsOk());
  const FunctionId function = Register("thrice", {}, Thrice);
  for (int step = 0; step < 4; ++step) CallInSteps(1, function, {Given(1)});
  EXPECT_EQ(Look(mine), PatternOf(5));
  EXPECT_EQ(held_bytes(), 0u);
  Free(mine, a());
}

// Every way in which a block may cross a recording that fails: from before it and from inside it,
// freed inside and kept.
TEST_P(ForeignTreeTest, ARecordingThatFailsLeavesTheForeignCodesBlocks) {
  const AddressRange old = Allocate(a()), freed_inside = Allocate(a());
  EXPECT_THAT(FillPattern(a(), old, 6), IsOk());
  AddressRange kept;
  int runs = 0;
  const FunctionId function = Register("fails", {}, [&](Launcher& on, Values& inputs) {
    if (runs++ == 1) {
      kept = Allocate(on.stream());
      Free(Allocate(on.stream()), on.stream());
      Free(freed_inside, on.stream());
      on.Fail(on.stream().Synchronize());
    }
    return Twice(on, inputs);
  });
  const FunctionId other = Register("other", {}, Thrice);
  const Tensor x = Given(1);
  const uint64_t before = foreign_blocks();
  CallInSteps(2, function, {x});
  EXPECT_EQ(held_bytes(), 0u);
  EXPECT_EQ(foreign_blocks(), before) << "one is new, and one was freed";
  EXPECT_THAT(FillPattern(a(), kept, 5), IsOk());
  const AddressRange more = Allocate(a());
  EXPECT_NE(more.base, kept.base);
  EXPECT_THAT(FillPattern(a(), more, 7), IsOk());
  CallInSteps(3, other, {x});
  CallInSteps(3, function, {x});
  EXPECT_EQ(Look(kept), PatternOf(5));
  EXPECT_EQ(Look(old), PatternOf(6));
  EXPECT_EQ(Look(more), PatternOf(7));
  const uint64_t blocks = foreign_blocks();
  for (AddressRange block : {kept, old, more}) Free(block, a());
  EXPECT_EQ(foreign_blocks(), blocks - 3);
}

// The foreign code has a stream of its own, which is gone when the recording fails.
TEST_P(ForeignTreeTest, ABlockOutlivesItsStreamAndTheRecordingThatFailed) {
  AddressRange kept;
  int runs = 0;
  const FunctionId function = Register("fails", {}, [&](Launcher& on, Values& inputs) {
    if (runs++ == 1) {
      auto own = device().NewStream();
      EXPECT_THAT(own, IsOk());
      kept = Allocate(**own);
      own->reset();
      on.Fail(on.stream().Synchronize());
    }
    return Twice(on, inputs);
  });
  const Tensor x = Given(1);
  CallInSteps(2, function, {x});
  EXPECT_THAT(FillPattern(a(), kept, 5), IsOk());
  std::vector<AddressRange> others;
  for (int i = 0; i < 20; ++i) {
    others.push_back(Allocate(a()));
    EXPECT_NE(others.back().base, kept.base);
    EXPECT_THAT(FillPattern(a(), others.back(), 7), IsOk());
  }
  CallInSteps(3, function, {x});
  EXPECT_EQ(Look(kept), PatternOf(5));
  for (AddressRange block : others) Free(block, a());
  Free(kept, a());
}

// Foreign code hands a block of one tree to the body of another, which is being recorded.
TEST_P(ForeignTreeTest, ATreeIsCalledWhileTheRecordingOfAnotherUsesItsBlocks) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tree> owner,
                       Tree::Create(device(), {.pool_bytes = 32 << 20}));
  const FunctionId twice = owner->Register("twice", {}, Twice);
  const Tensor x = Given(1);
  Values owners;
  // A replay and a warm-up, before which the owner restores its books.
  const auto call_owner = [&] {
    owner->BeginStep();
    for (const FunctionId function : {twice, owner->Register("new", {}, Twice)}) {
      Values inputs = {x};
      EXPECT_THAT(owner->Run(function, absl::MakeSpan(inputs), b(), &owners), IsOk());
    }
  };
  for (int step = 0; step < 3; ++step) call_owner();
  for (const bool frees : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const Address block, owner->foreign_allocator().Allocate(kBytes, a()));
    int runs = 0;
    const FunctionId function = Register("uses", {}, [&](Launcher& on, Values& inputs) {
      if (runs++ == 1) {
        ForeignAllocator& foreign = owner->foreign_allocator();
        on.Fail(frees ? foreign.Free(block, on.stream()) : foreign.UseOn(block, on.stream()));
        call_owner();
      }
      return Twice(on, inputs);
    });
    EXPECT_EQ(Read(CallInSteps(4, function, {x})[0]), Times(PatternOf(1), 2));
    EXPECT_EQ(runs, 2);
    EXPECT_THAT(b().Synchronize(), IsOk());
    EXPECT_EQ(Read(owners[0]), Times(PatternOf(1), 2)) << "of the call inside the recording";
    call_owner();
    EXPECT_THAT(b().Synchronize(), IsOk());
    EXPECT_EQ(Read(owners[0]), Times(PatternOf(1), 2));
    if (frees) continue;
    EXPECT_THAT(owner->foreign_allocator().Free(block, a()), IsOk());
  }
}

// A block of a library's from before: nobody frees or allocates it in the recording, which only
// points to it.
TEST_P(ForeignTreeTest, ABlockThatARecordingPointsToIsHeldByIt) {
  AddressRange workspace = Allocate(a());
  const FunctionId function = Register("points", {}, [&](Launcher& on, Values& inputs) {
    const AddressRange x = Tensor::From(inputs[0]).raw_bytes();
    on.Fail(Add(on.stream(), workspace, x, x));
    const Tensor out = on.Empty(WordsLayout(kWords));
    if (on.ok()) on.Copy(out, Tensor::Foreign(workspace.base, WordsLayout(kWords)));
    return Values{out};
  });
  const Tensor x = Given(1);
  CallInSteps(1, function, {x});
  EXPECT_EQ(held_bytes(), 0u);
  CallInSteps(1, function, {x});
  EXPECT_EQ(held_bytes(), kBytes);
  Free(workspace, a());
  const AddressRange mine = Allocate(a());
  EXPECT_NE(mine.base, workspace.base);
  EXPECT_THAT(FillPattern(a(), mine, 5), IsOk());
  EXPECT_EQ(Read(CallInSteps(2, function, {x})[0]), Times(PatternOf(1), 2));
  EXPECT_EQ(Look(mine), PatternOf(5));
  Free(mine, a());
}

// The tree goes back to where a sibling begins: no foreign block is in the way, or gone.
TEST_P(ForeignTreeTest, ARestoreLeavesForeignMemoryAlone) {
  AddressRange inside;
  const FunctionId root = Register("root", {}, Twice);
  const FunctionId left = Register("left", {}, [&](Launcher& on, Values& inputs) {
    if (inside.empty()) inside = Allocate(on.stream());
    on.Fail(FillPattern(on.stream(), inside, 9));
    return Thrice(on, inputs);
  });
  const FunctionId right = Register("right", {}, Thrice);
  const Tensor x = Given(1);
  for (const FunctionId second : {left, left, right, right, left, right}) {
    NewStep();
    const Values first = Call(root, {x});
    EXPECT_EQ(Read(Call(second, {first[0]})[0]), Times(PatternOf(1), 6));
    EXPECT_EQ(Read(first[0]), Times(PatternOf(1), 2));
    EXPECT_EQ(Look(inside), PatternOf(9));
  }
  EXPECT_GT(checkpoints(), 0u);
  EXPECT_EQ(foreign_blocks(), 1u);
  Free(inside, a());
}

TEST_P(ForeignTreeTest, BlocksThatForeignCodeHoldsOutliveTheTree) {
  AddressRange inside;
  const FunctionId function = Register("caches", {}, [&](Launcher& on, Values& inputs) {
    if (inside.empty()) inside = Allocate(on.stream());
    return Twice(on, inputs);
  });
  CallInSteps(3, function, {Given(1)});
  const AddressRange mine = Allocate(a());
  ForeignAllocator& allocator = foreign();
  CloseTree();
  EXPECT_THAT(FillPattern(a(), inside, 5), IsOk());
  EXPECT_THAT(FillPattern(a(), mine, 6), IsOk());
  EXPECT_EQ(Look(inside), PatternOf(5));
  EXPECT_EQ(Look(mine), PatternOf(6));
  EXPECT_THAT(allocator.Allocate(kBytes, a()),
              FailsWith(absl::StatusCode::kFailedPrecondition, "a tree that is closed"));
  EXPECT_THAT(allocator.Free(inside.base, a()), IsOk());
  EXPECT_FALSE(allocator.Free(inside.base, a()).ok()) << "freed twice";
  EXPECT_THAT(allocator.Free(mine.base, a()), IsOk()) << "and the allocator goes with it";
}

// The tree is left with the device then, and foreign code finds it closed all the same, also on
// another thread.
TEST_P(ForeignTreeTest, AndATreeThatWasClosedUnderACapture) {
  const FunctionId function = Register("allocates", {}, [&](Launcher& on, Values& inputs) {
    Free(Allocate(on.stream()), on.stream());
    return Twice(on, inputs);
  });
  CallInSteps(3, function, {Given(1)});
  const AddressRange sooner = Allocate(a()), later = Allocate(a());
  ForeignAllocator& allocator = foreign();
  ASSERT_THAT(b().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  CloseTree();
  std::thread([&] {
    EXPECT_THAT(allocator.Allocate(kBytes, a()),
                FailsWith(absl::StatusCode::kFailedPrecondition, "a tree that is closed"));
    EXPECT_THAT(allocator.Free(sooner.base, a()), IsOk());
  }).join();
  EXPECT_THAT(b().EndCapture(), IsOk());
  EXPECT_THAT(device().GiveBackLeftovers(), IsOk());
  EXPECT_THAT(FillPattern(a(), later, 6), IsOk());
  EXPECT_EQ(Look(later), PatternOf(6));
  EXPECT_THAT(allocator.Free(later.base, a()), IsOk()) << "and the allocator goes with it";
}

TEST_P(ForeignTreeTest, CallbacksByNumberReachTheTree) {
  constexpr int kNumber = 3;
  ASSERT_THAT(ForeignAllocator::Install(kNumber, &foreign()), IsOk());
  const FunctionId function = Register("calls_back", {}, [this](Launcher& on, Values& inputs) {
    foreign().Know(nullptr, on.stream());
    void* memory = graphtree_foreign_malloc(kBytes, kNumber, nullptr);
    const AddressRange twice = {AddressOf(memory), kBytes};
    const AddressRange x = Tensor::From(inputs[0]).raw_bytes();
    on.Fail(Add(on.stream(), twice, x, x));
    const Tensor out = on.Empty(WordsLayout(kWords));
    if (!on.ok()) return Values{};
    on.Fail(Add(on.stream(), out.raw_bytes(), twice, x));
    graphtree_foreign_free(memory, kBytes, kNumber, nullptr);
    return Values{out};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 3));
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(held_bytes(), kBytes);
  CloseTree();
  EXPECT_EQ(ForeignAllocator::Installed(kNumber), nullptr);
}

}  // namespace
}  // namespace graphtree
