// Several threads: each with a tree of its own, all with one tree, and trees that meet inside of
// each other's bodies.
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "allocator/pool.h"
#include "allocator/snapshot_nodes.h"
#include "graphs/reports/outline.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

constexpr int kThreads = 8;

class TreeThreadsTest : public TreeTest {
 protected:
  static void OnEveryThread(const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(body, t);
    for (std::thread& thread : threads) thread.join();
  }
  std::unique_ptr<Tree> NewTree() {
    auto tree = Tree::Create(device(), {.pool_bytes = 8 << 20});
    EXPECT_THAT(tree, IsOk());
    return tree.ok() ? *std::move(tree) : nullptr;
  }
  // One for each thread, as the fixture's helpers serve one thread.
  std::vector<Tensor> GivenToEach() {
    std::vector<Tensor> given;
    for (int t = 0; t < kThreads; ++t) given.push_back(Given(t + 1));
    EXPECT_THAT(a().Synchronize(), IsOk());
    return given;
  }
  Words ReadOn(Stream& stream, const Value& value) {
    Words words(kWords);
    const auto buffer = memory().AllocateHost(kWords * sizeof(uint32_t));
    EXPECT_THAT(buffer, IsOk());
    if (!buffer.ok()) return {};
    EXPECT_THAT(stream.Copy((*buffer)->range().base, value.word(), (*buffer)->bytes()), IsOk());
    EXPECT_THAT(stream.Synchronize(), IsOk());
    std::memcpy(words.data(), (*buffer)->data(), (*buffer)->bytes());
    return words;
  }
};
GRAPHTREE_ON_EVERY_DEVICE(TreeThreadsTest);

// Trees record, replay, go back and close side by side.
TEST_P(TreeThreadsTest, EachWithATreeOfItsOwn) {
  const std::vector<Tensor> given = GivenToEach();
  OnEveryThread([&](int t) {
    auto stream = device().NewStream();
    ASSERT_THAT(stream, IsOk());
    for (int life = 0; life < 2; ++life) {
      const std::unique_ptr<Tree> tree = NewTree();
      ASSERT_NE(tree, nullptr);
      const FunctionId twice = tree->Register("twice", {}, Twice);
      const FunctionId thrice = tree->Register("thrice", {}, Thrice);
      for (int step = 0; step < 6; ++step) {
        tree->BeginStep();
        const auto first = tree->Run(twice, {given[t]}, **stream);
        ASSERT_THAT(first, IsOk());
        const auto second = tree->Run(step % 2 == 0 ? twice : thrice, {(*first)[0]}, **stream);
        ASSERT_THAT(second, IsOk());
        const uint32_t factor = step % 2 == 0 ? 4 : 6;
        EXPECT_EQ(ReadOn(**stream, (*second)[0]), Times(PatternOf(t + 1), factor));
      }
      EXPECT_GT(tree->stats().replays, 0u);
    }
  });
}

// Whoever comes while somebody is inside gets an error, and may try again.
TEST_P(TreeThreadsTest, AllWithOneTree) {
  const std::vector<Tensor> given = GivenToEach();
  const FunctionId twice = Register("twice", {}, Twice);
  std::vector<std::unique_ptr<Stream>> streams;  // the tree's last one outlives its thread
  for (int t = 0; t < kThreads; ++t) {
    ASSERT_OK_AND_ASSIGN(streams.emplace_back(), device().NewStream());
  }
  constexpr int kCalls = 12;
  OnEveryThread([&](int t) {
    for (int call = 0; call < kCalls;) {
      Values values = {given[t]};
      const absl::Status status =
          tree().Run(twice, absl::MakeSpan(values), *streams[t], &values);
      if (!status.ok()) {
        ASSERT_THAT(status, FailsWith(StatusCode::kFailedPrecondition, "one caller at a time"));
        EXPECT_EQ(values.size(), 1u) << "a call that is refused consumes nothing";
        std::this_thread::yield();
        continue;
      }
      ++call;
      // Held outputs are nobody else's, and are dropped on this thread while others call.
      EXPECT_EQ(ReadOn(*streams[t], values[0]), Times(PatternOf(t + 1), 2));
    }
  });
  EXPECT_EQ(tree().stats().calls, uint64_t{kThreads} * kCalls) << "the refused ones do not count";
  CloseTree();
}

// Nothing of the tree is one thread's own: what one has recorded another replays.
TEST_P(TreeThreadsTest, OneTreeOnOneThreadAfterTheOther) {
  const Tensor x = Given(1);
  const FunctionId twice = Register("twice", {}, Twice);
  Values outputs;
  for (int t = 0; t < kThreads; ++t) {
    std::thread([&] {
      outputs = CallInSteps(1, twice, {x});
      EXPECT_EQ(Read(outputs[0]), Times(PatternOf(1), 2));
    }).join();
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), uint64_t{kThreads} - 2);
}

// Figures are asked for beside calls, as a server's monitor does, and no call fails for it.
TEST_P(TreeThreadsTest, WhoeverLooksMakesNoCallFail) {
  const Tensor x = Given(1);
  const FunctionId twice = Register("twice", {}, Twice);
  constexpr int kLooks = 30;
  std::atomic<int> looks{0};
  std::atomic<bool> calls_run{false};
  std::thread monitor([&] {
    while (!calls_run) std::this_thread::yield();
    for (; looks < kLooks; ++looks) {
      const TreeStats stats = tree().stats();
      EXPECT_LE(stats.replays + stats.recordings + stats.warm_ups, stats.calls);
      EXPECT_LE(tree().outline().size(), 1u);
      EXPECT_LE(tree().memory_of_nodes().size(), 1u);
      tree().Inspect([&] {
        const PoolStats pool = tree().pool().Stats();
        EXPECT_GT(pool.mapped_bytes, 0u) << "the first call has been";
        EXPECT_LE(pool.live_bytes, pool.mapped_bytes);
        EXPECT_LE(pool.live_blocks, 1u) << "no call is in its middle";
      });
      tree().Register("idle", {}, Twice);
    }
  });
  uint64_t calls = 0;
  for (; looks < kLooks || calls < 3; ++calls) {
    NewStep();
    Values outputs = Call(twice, {x});
    calls_run = true;
    if (calls % 50 != 0) continue;
    EXPECT_EQ(Read(outputs[0]), Times(PatternOf(1), 2));
  }
  monitor.join();
  EXPECT_EQ(tree().stats().calls, calls);
  EXPECT_EQ(replays(), calls - 2) << "and each has run";
}

// A body that asks is answered, and what dies in it is not forgotten for it.
TEST_P(TreeThreadsTest, ABodyLooksAtItsOwnTree) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId use = Register("use", {}, [this](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    inputs[0] = Value();
    EXPECT_GE(tree().stats().calls, 1u);
    tree().memory_of_nodes();
    tree().Inspect([this] { tree().outline(); });
    return Values{Filled(on, 3, kWords), Sum(on, out, out)};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 4; ++step) {
    NewStep();
    EXPECT_EQ(Read(Call(use, Call(make, {x}))[1]), Times(PatternOf(1), 8)) << "step " << step;
  }
  EXPECT_EQ(graphs(), 2u);
}

TEST_P(TreeThreadsTest, WhatLooksMayNotCall) {
  const Tensor x = Given(1);
  const FunctionId twice = Register("twice", {}, Twice);
  tree().Inspect([&] {
    EXPECT_THAT(Refusal(twice, {x}), FailsWith(StatusCode::kFailedPrecondition,
                                               "what is passed to Tree::Inspect called it"));
    NewStep();
  });
  EXPECT_THAT(Refusal(twice, {x}),
              FailsWith(StatusCode::kFailedPrecondition,
                        "BeginStep was called by what is passed to Tree::Inspect"));
  EXPECT_EQ(Read(CallInSteps(3, twice, {x})[0]), Times(PatternOf(1), 2));
  tree().Inspect([&] { CloseTree(); });
}

// What was handed out on one thread is dropped on another, while the tree goes on.
TEST_P(TreeThreadsTest, OutputsAreDroppedOnOtherThreads) {
  const Tensor x = Given(1);
  const FunctionId twice = Register("twice", {}, Twice);
  std::vector<std::thread> droppers;
  for (int round = 0; round < 5 * kThreads; ++round) {
    if (round % 3 == 0) NewStep();
    Values outputs = Call(twice, {x});
    EXPECT_EQ(Read(outputs[0]), Times(PatternOf(1), 2));
    droppers.emplace_back([held = std::move(outputs)]() mutable { held.clear(); });
  }
  for (std::thread& dropper : droppers) dropper.join();
  EXPECT_GT(replays(), 0u);
  NewStep();
  EXPECT_EQ(live(), 0u);
}

// A recording that began around an output which is dropped in its middle, on whatever thread, knows
// nothing of it at its end: it may not be replayed where that output is alive.
TEST_P(TreeThreadsTest, AnOutputIsDroppedWhileAnotherFunctionIsRecorded) {
  const Tensor x = Given(1), y = Given(2);
  Value held;
  bool drops = true;
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId behind = Register("behind", {}, Thrice);
  const FunctionId next = Register("next", {}, [&](Launcher& on, Values& inputs) {
    if (drops) std::thread([&] { held = Value(); }).join();
    return Thrice(on, inputs);
  });
  CallInSteps(1, behind, {y});
  for (int step = 0; step < 2; ++step) {
    held = CallInSteps(1, make, {x})[0];
    Call(next, {y});
  }
  drops = false;
  for (int step = 0; step < 3; ++step) {
    held = CallInSteps(1, make, {x})[0];
    const Value second = Call(next, {y})[0];
    const Value third = Call(behind, {y})[0];
    EXPECT_EQ(Read(held), Times(PatternOf(1), 2)) << "step " << step;
    EXPECT_EQ(Read(second), Times(PatternOf(2), 3)) << "step " << step;
    EXPECT_EQ(Read(third), Times(PatternOf(2), 3)) << "step " << step;
  }
  EXPECT_EQ(reasons(Reason::kLivenessDiffers), 1u) << "it was not replayed where that is alive";
  EXPECT_GT(replays(), 3u);
}

// Another thread lets go of what a body has stored while the tree takes it in.
TEST_P(TreeThreadsTest, WhatABodyHasStoredIsDroppedAsItReturns) {
  constexpr int kMany = 100, kRounds = 60;
  std::vector<Value> shelf(kMany);
  std::atomic<int> stored{0}, dropped{0};
  std::thread dropper([&] {
    for (int round = 1; round <= kRounds; ++round) {
      while (stored.load(std::memory_order_acquire) < round) std::this_thread::yield();
      for (Value& value : shelf) value = Value();
      dropped.store(round, std::memory_order_release);
    }
  });
  const FunctionId stores = Register("stores", {}, [&](Launcher& on, Values& inputs) {
    while (dropped.load(std::memory_order_acquire) < stored) std::this_thread::yield();
    for (Value& value : shelf) value = on.Empty(WordsLayout(4));
    Values outputs = Twice(on, inputs);
    stored.fetch_add(1, std::memory_order_release);
    return outputs;
  });
  const FunctionId fills = Register("fills", {}, [](Launcher& on, Values&) {
    return Values{Filled(on, 1, kWords), Filled(on, 2, kWords), Filled(on, 3, kWords)};
  });
  const Tensor x = Given(1);
  for (int64_t call = 0; stored < kRounds; ++call) {
    NewStep();
    // Of another integer for every second call: a warm-up and a recording in turn.
    const Values out = Call(stores, {x, Value::Integer(call / 2)});
    const Values others = Call(fills, {});
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
    for (uint32_t seed = 1; seed <= 3; ++seed) EXPECT_EQ(Read(others[seed - 1]), PatternOf(seed));
  }
  dropper.join();
  NewStep();
  EXPECT_EQ(live(), 0u);
}

// Whoever is turned away is told by name, also while functions are registered.
TEST_P(TreeThreadsTest, SomebodyIsTurnedAwayWhileOthersRegister) {
  const FunctionId waits = Register("waits", {}, [&](Launcher& on, Values& inputs) {
    Values in = {inputs[0]}, out;
    absl::Status refused;
    std::thread second([&] { refused = tree().Run(0, absl::MakeSpan(in), b(), &out); });
    for (int i = 0; i < 50; ++i) Register("one more", {}, Twice);
    second.join();
    EXPECT_THAT(refused, FailsWith(StatusCode::kFailedPrecondition, "'waits' was not run"));
    return Twice(on, inputs);
  });
  EXPECT_EQ(Read(CallInSteps(1, waits, {Given(1)})[0]), Times(PatternOf(1), 2));
}

// The other tree works on a stream of its own: it may, whatever the outer tree does at the time.
TEST_P(TreeThreadsTest, ABodyCallsAnotherTree) {
  ASSERT_OK_AND_ASSIGN(const auto stream, device().NewStream());
  const std::unique_ptr<Tree> inner = NewTree();
  const FunctionId thrice = inner->Register("thrice", {}, Thrice);
  const Tensor x = Given(1), y = Given(2);
  EXPECT_THAT(a().Synchronize(), IsOk());
  const FunctionId outer = Register("outer", {}, [&](Launcher& on, Values& inputs) {
    inner->BeginStep();
    const auto out = inner->Run(thrice, {y}, *stream);
    if (!out.ok()) on.Fail(out.status());
    return Twice(on, inputs);
  });
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, outer, {x})[0]), Times(PatternOf(1), 2));
    inner->BeginStep();
    const auto out = inner->Run(thrice, {y}, *stream);
    ASSERT_THAT(out, IsOk());
    EXPECT_EQ(ReadOn(*stream, (*out)[0]), Times(PatternOf(2), 3));
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 3u);
  EXPECT_GT(inner->stats().replays, 0u);
}

// Graphs, executables and memory of a tree that is closed under a capture go behind it.
TEST_P(TreeThreadsTest, ATreeClosesWhileACaptureIsOpen) {
  const bool is_host = device().info().architecture == "host";
  const Tensor x = Given(1);
  const FunctionId twice = Register("twice", {}, Twice);
  CallInSteps(3, twice, {x});
  EXPECT_THAT(a().Synchronize(), IsOk());
  const uint64_t before = memory().Info()->free_bytes;
  ASSERT_THAT(b().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  CloseTree();
  if (is_host) {
    EXPECT_EQ(memory().Info()->free_bytes, before);
  }
  EXPECT_THAT(b().EndCapture(), IsOk());
  EXPECT_THAT(device().GiveBackLeftovers(), IsOk());
  if (is_host) {
    EXPECT_GT(memory().Info()->free_bytes, before + (2 << 20)) << "the executable's, too";
  }
}

// A tree that closes while another one's capture is open takes nothing away from it.
TEST_P(TreeThreadsTest, ATreeClosesInTheBodyOfAnother) {
  const Tensor x = Given(1);
  EXPECT_THAT(a().Synchronize(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto stream, device().NewStream());
  for (const bool on_another_thread : {false, true}) {
    OpenTree({});
    std::unique_ptr<Tree> other;
    Value held;
    const FunctionId outer = Register("outer", {}, [&](Launcher& on, Values& inputs) {
      if (on_another_thread) {
        std::thread([&] { other.reset(); }).join();
      } else {
        other.reset();
      }
      return Twice(on, inputs);
    });
    for (int step = 0; step < 4; ++step) {
      other = NewTree();
      const FunctionId thrice = other->Register("thrice", {}, Thrice);
      for (int call = 0; call < 3; ++call) {
        other->BeginStep();
        const auto out = other->Run(thrice, {x}, *stream);
        ASSERT_THAT(out, IsOk());
        held = (*out)[0];
      }
      EXPECT_EQ(Read(CallInSteps(1, outer, {x})[0]), Times(PatternOf(1), 2))
          << "step " << step << ", " << on_another_thread << ", " << tree().state();
      EXPECT_EQ(ReadOn(*stream, held), Times(PatternOf(1), 3)) << "it outlives its tree";
      held = Value();
    }
    EXPECT_EQ(graphs(), 1u) << (on_another_thread ? "on another thread" : "on the same thread");
  }
}

}  // namespace
}  // namespace graphtree
