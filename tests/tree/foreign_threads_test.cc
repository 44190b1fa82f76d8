// Foreign code frees on other threads, beside calls of the tree and beside its end.
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/types/span.h"
#include "allocator/foreign.h"
#include "allocator/pool.h"
#include "tests/kernels/launches.h"
#include "tests/tree/foreign_fixture.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

class ForeignThreadsTest : public ForeignFixture {
 protected:
  std::vector<AddressRange> AllocateMany(int count) {
    std::vector<AddressRange> blocks;
    for (int i = 0; i < count; ++i) blocks.push_back(Allocate(a()));
    return blocks;
  }
  static void OnAnotherThread(const std::function<void()>& body) { std::thread(body).join(); }
  void FreeElsewhere(AddressRange block) {
    OnAnotherThread([&] { Free(block, a()); });
  }
  uint64_t foreign_blocks() {
    const uint64_t held = live();  // forgets what has died
    return tree().pool().Stats().live_blocks - held;
  }
};
GRAPHTREE_ON_EVERY_DEVICE(ForeignThreadsTest);

// Whoever frees has called the pool last, and is as free to be anywhere as any other thread once
// the tree is called.
TEST_P(ForeignThreadsTest, WhoAllocatedLastFreesWhileAnotherThreadCalls) {
  constexpr int kRounds = 30, kBlocks = 40;
  const FunctionId function = Register("twice", {}, Twice);
  const Tensor x = Given(1);
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<bool> begin{false};
    std::atomic<int> ready{0};
    std::thread other([&] {
      const std::vector<AddressRange> blocks = AllocateMany(kBlocks);
      ++ready;
      while (!begin) {
      }
      for (const AddressRange& block : blocks) {
        EXPECT_THAT(foreign().Free(block.base, a()), IsOk());
      }
    });
    while (ready == 0) std::this_thread::yield();
    begin = true;
    for (int call = 0; call < 4; ++call) {
      EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
    }
    other.join();
    EXPECT_EQ(foreign_blocks() * kBytes, tree().stats().foreign_held_bytes)
        << "a recording may use what was freed while it was made; everything else is free";
  }
  EXPECT_THAT(tree().pool().failures().refused_free, IsOk());
}

// In a warm-up, in a recording that works, and in one that fails.
TEST_P(ForeignThreadsTest, BlocksAreFreedElsewhereInTheMiddleOfABody) {
  std::vector<AddressRange> old = AllocateMany(4);
  bool fails = true;
  const FunctionId function = Register("frees", {}, [&](Launcher& on, Values& inputs) {
    if (!old.empty()) {
      FreeElsewhere(old.back());
      old.pop_back();
    }
    if (fails && old.size() == 2) on.Fail(on.stream().Synchronize());
    return Twice(on, inputs);
  });
  const Tensor x = Given(1);
  CallInSteps(1, function, {x});
  EXPECT_EQ(foreign_blocks(), 3u) << "a warm-up";
  CallInSteps(1, function, {x});
  EXPECT_EQ(foreign_blocks(), old.size()) << "a recording that failed, and an eager run";
  fails = false;
  const uint64_t before = graphs();
  while (graphs() == before) CallInSteps(1, function, {x});
  EXPECT_TRUE(old.empty());
  EXPECT_EQ(foreign_blocks() * kBytes, tree().stats().foreign_held_bytes)
      << "the recording may use what was freed in it";
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_THAT(foreign().last_error(), IsOk());
}

// The pool, which belongs to the call, cannot be told of the stream.
TEST_P(ForeignThreadsTest, ABlockIsFreedOnAnotherStreamInTheMiddleOfAnotherThreadsCall) {
  FunctionOptions eager;
  eager.exclude = true;
  const AddressRange block = Allocate(a());
  const FunctionId function = Register("frees", eager, [&](Launcher& on, Values& inputs) {
    OnAnotherThread([&] { EXPECT_THAT(foreign().Free(block.base, b()), IsOk()); });
    return Twice(on, inputs);
  });
  EXPECT_EQ(Read(CallInSteps(1, function, {Given(1)})[0]), Times(PatternOf(1), 2));
  NewStep();
  EXPECT_EQ(foreign_blocks(), 0u);
}

// Statistics may be asked for at any time, and make nobody fail.
TEST_P(ForeignThreadsTest, AllocationsBesideLooksGoWell) {
  constexpr int kBlocks = 300;
  std::atomic<bool> ended{false};
  std::thread other([&] {
    for (int i = 0; i < kBlocks; ++i) {
      const auto block = foreign().Allocate(kBytes, a());
      EXPECT_THAT(block, IsOk());
      if (!block.ok()) continue;
      EXPECT_THAT(foreign().Free(*block, a()), IsOk());
    }
    ended = true;
  });
  while (!ended) {
    tree().stats();
    tree().Inspect([&] { tree().pool().Stats(); });
  }
  other.join();
  EXPECT_EQ(foreign_blocks(), 0u);
}

// Foreign code may take memory between calls, and may still be at it when the next call comes. A
// replay takes memory, too, where it keeps an output or runs a part.
TEST_P(ForeignThreadsTest, AReplayThatTakesMemoryWaitsForAnAllocationThatBeganBeforeIt) {
  constexpr int kRounds = 20;
  constexpr uint64_t kLarge = 16 << 20;  // takes long: the host device fills all of it
  const FunctionId keeps = Register("keeps", {.kept_outputs = {0}}, Twice);
  const FunctionId breaks = Register("breaks", {}, [](Launcher& on, Values& inputs) {
    Values outputs = Twice(on, inputs);
    on.Break("takes memory", {}, [](Launcher& part, absl::Span<const Tensor>) {
      part.Fill(part.Empty(DType::kU8, {64}), 1);
    });
    return outputs;
  });
  const Tensor x = Given(1);
  for (const FunctionId function : {keeps, breaks}) CallInSteps(3, function, {x});
  Values held;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<bool> begun{false};
    std::thread other([&] {
      begun = true;
      const auto address = foreign().Allocate(kLarge, a());
      if (!address.ok()) return;  // the call began first
      EXPECT_THAT(foreign().Free(*address, a()), IsOk());
    });
    while (!begun) std::this_thread::yield();
    NewStep();
    held = Call(round % 2 == 0 ? keeps : breaks, {x});
    other.join();
    EXPECT_EQ(Read(held[0]), Times(PatternOf(1), 2));
  }
  EXPECT_GE(replays(), uint64_t{kRounds});
}

// Checkpoints go with the recordings, and memory that a recording was the last to keep alive.
TEST_P(ForeignThreadsTest, RecordingsGoWhileAnotherThreadAllocates) {
  constexpr int kRounds = 10;
  constexpr uint64_t kLarge = 16 << 20;
  const FunctionId keeps = Register("keeps", {.kept_outputs = {0}}, Twice);
  const Tensor x = Given(1);
  const auto make_and_unregister = [&](const std::function<void()>& before) {
    auto kept = std::make_shared<Values>(CallInSteps(1, keeps, {x}));
    const FunctionId function = Register("holds", {}, [&kept](Launcher& on, Values& inputs) {
      on.KeepAlive(kept);
      return Twice(on, inputs);
    });
    CallInSteps(3, function, {x});
    kept.reset();
    NewStep();
    before();
    EXPECT_THAT(tree().Unregister(function), IsOk());
  };
  for (int i = 0; i < 3; ++i) make_and_unregister([] {});  // from now on `keeps` replays
  const auto stats = [&] {
    EXPECT_THAT(a().Synchronize(), IsOk());
    for (int i = 0; i < 3; ++i) NewStep();  // what work under way has kept goes
    live();                                 // forgets what has died
    return tree().pool().Stats();
  };
  const PoolStats at_first = stats();
  for (int round = 0; round < kRounds; ++round) {
    std::thread other;
    make_and_unregister([&] {
      std::atomic<bool> begun{false};
      other = std::thread([&, this] {
        begun = true;
        const auto address = foreign().Allocate(kLarge, a());
        if (!address.ok()) return;  // Unregister began first
        Free({*address, kLarge}, a());
      });
      while (!begun) std::this_thread::yield();
    });
    other.join();
  }
  make_and_unregister([] {});
  EXPECT_EQ(stats().checkpoints, at_first.checkpoints);
  EXPECT_EQ(stats().live_blocks, at_first.live_blocks);
}

// One of them frees the last block, and the allocator goes with it.
TEST_P(ForeignThreadsTest, TheLastBlocksAreFreedOnSeveralThreadsWhileTheTreeIsClosed) {
  constexpr int kRounds = 15, kThreads = 3;
  for (int round = 0; round < kRounds; ++round) {
    OpenTree({.pool_bytes = 8 << 20});
    ForeignAllocator& allocator = foreign();
    const std::vector<AddressRange> blocks = AllocateMany(kThreads);
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (const AddressRange& block : blocks) {
      threads.emplace_back([&, address = block.base] {
        ++ready;
        while (ready <= kThreads) {
        }
        EXPECT_THAT(allocator.Free(address, a()), IsOk());
      });
    }
    while (ready < kThreads) std::this_thread::yield();
    ++ready;
    CloseTree();
    for (std::thread& thread : threads) thread.join();
  }
  OpenTree({.pool_bytes = 8 << 20});
}

// What was put on the stream before the free is done before the memory goes.
TEST_P(ForeignThreadsTest, TheLastBlockIsFreedBehindWorkThatUsesIt) {
  const AddressRange block = Allocate(a());
  ForeignAllocator& allocator = foreign();
  CloseTree();
  for (int i = 0; i < 20; ++i) EXPECT_THAT(FillPattern(a(), block, 5), IsOk());
  OnAnotherThread([&] { EXPECT_THAT(allocator.Free(block.base, a()), IsOk()); });
  EXPECT_THAT(a().Synchronize(), IsOk());
  EXPECT_THAT(device().health(), IsOk());
}

}  // namespace
}  // namespace graphtree
