// Streams that go while the tree stays: one for each request, gone between calls, with outputs
// held, and before the tree is closed. What they queued comes before whatever uses the memory next.
#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/config.h"
#include "tests/conformance/native_calls.h"
#include "tests/kernels/launches.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class StreamsTest : public TreeTest {
 protected:
  std::unique_ptr<Stream> NewStream() {
    absl::StatusOr<std::unique_ptr<Stream>> stream = device().NewStream();
    EXPECT_THAT(stream, IsOk());
    return *std::move(stream);
  }
  Values CallOn(Stream& stream, FunctionId function, Values inputs) {
    Values outputs;
    EXPECT_THAT(tree().Run(function, absl::MakeSpan(inputs), stream, &outputs), IsOk());
    inputs.clear();
    return outputs;
  }
  // Behind a kernel that takes its time, so that a missing order shows.
  void Busy(Stream& stream) { EXPECT_THAT(Delay(stream, 200), IsOk()); }
  // What the tree's work on streams that are gone left there.
  Words ReadBehindAll(const Value& value) {
    const FunctionId look = Register("look", {.exclude = true}, [](Launcher&, Values& inputs) {
      return Values{inputs[0]};
    });
    return Read(Call(look, {value})[0]);
  }
};
GRAPHTREE_ON_EVERY_DEVICE(StreamsTest);

TEST_P(StreamsTest, AStreamForEachRequest) {
  const FunctionId twice = Register("twice", {}, Twice);
  const FunctionId eats = Register("eats", {}, ConsumeTwice);
  const FunctionId excluded = Register("excluded", {.exclude = true}, Twice);
  const bool is_host = device().info().architecture == "host";
  const uint32_t requests = is_host ? 3000 : 300;
  const Tensor x = Given(1);
  for (uint32_t request = 0; request < requests; ++request) {
    const std::unique_ptr<Stream> stream = NewStream();
    NewStep();
    if (request % 16 == 0) Busy(*stream);
    Values made = CallOn(*stream, twice, {x});
    made = CallOn(*stream, eats, std::move(made));
    made = CallOn(*stream, excluded, std::move(made));
    if (request % 64 != 0) continue;
    ASSERT_EQ(ReadBehindAll(made[0]), Times(PatternOf(1), 8)) << "request " << request;
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_GT(replays(), requests);
  EXPECT_THAT(device().health(), IsOk());
}

// Each is gone before what it was to do has begun; the next writes to the same memory.
TEST_P(StreamsTest, TheNextOneWaitsForOneThatIsGone) {
  const FunctionId bump =
      Register("bump", {.static_inputs = {0}}, [](Launcher& on, Values& inputs) {
        Bump(on, inputs[0], 1);
        return Values{Sum(on, inputs[0], inputs[0])};
      });
  const Tensor x = Given(1);
  Words expected = PatternOf(1);
  Values out;
  for (int call = 0; call < 12; ++call) {
    NewStep();
    const std::unique_ptr<Stream> stream = NewStream();
    Busy(*stream);
    out = CallOn(*stream, bump, {x});
    expected = Plus(expected, Words(kWords, 1));
  }
  EXPECT_EQ(ReadBehindAll(out[0]), Times(expected, 2));
  EXPECT_EQ(Read(x), expected);
}

TEST_P(StreamsTest, AtTheAddressOfOneThatIsGone) {
#ifdef ABSL_HAVE_ADDRESS_SANITIZER
  GTEST_SKIP() << "the address sanitizer gives no address again";
#endif
  const FunctionId twice = Register("twice", {}, Twice);
  const Tensor x = Given(1);
  const Stream* before = nullptr;
  int same = 0;
  for (int call = 0; call < 40; ++call) {
    std::unique_ptr<Stream> stream = NewStream();
    same += stream.get() == before ? 1 : 0;
    before = stream.get();
    NewStep();
    Busy(*stream);
    const Values out = CallOn(*stream, twice, {x});
    if (call % 8 == 7) {
      EXPECT_EQ(ReadBehindAll(out[0]), Times(PatternOf(1), 2));
    }
  }
  EXPECT_GT(same, 0) << "else this test shows nothing";
}

TEST_P(StreamsTest, OutputsAreHeldBeyondTheirStream) {
  const FunctionId twice = Register("twice", {}, Twice);
  const FunctionId keeps = Register("keeps", {.kept_outputs = {0}}, Twice);
  for (int step = 0; step < 5; ++step) {
    NewStep();
    std::unique_ptr<Stream> stream = NewStream();
    Busy(*stream);
    const Values held = CallOn(*stream, twice, {Given(1)});
    const Values kept = CallOn(*stream, keeps, {Given(2)});
    stream = nullptr;
    const std::unique_ptr<Stream> other = NewStream();
    const Values more = CallOn(*other, twice, {Given(3)});
    EXPECT_EQ(ReadBehindAll(held[0]), Times(PatternOf(1), 2));
    EXPECT_EQ(Read(kept[0]), Times(PatternOf(2), 2));
    EXPECT_EQ(Read(more[0]), Times(PatternOf(3), 2));
    NewStep();
    EXPECT_EQ(Read(kept[0]), Times(PatternOf(2), 2));
  }
}

TEST_P(StreamsTest, AllAreGoneWhenTheTreeIsClosed) {
  for (const int calls : {1, 2, 5}) {
    OpenTree({});
    const FunctionId twice = Register("twice", {.kept_outputs = {0}}, Twice);
    Values out;
    for (int call = 0; call < calls; ++call) {
      NewStep();
      const std::unique_ptr<Stream> stream = NewStream();
      Busy(*stream);
      out = CallOn(*stream, twice, {Given(4)});
    }
    CloseTree();
    EXPECT_EQ(Read(out[0]), Times(PatternOf(4), 2)) << "closing waits for what they queued";
  }
}

// A closed tree's memory goes with the last output, after what its stream was given to read it.
TEST_P(StreamsTest, TheLastOutputOfAClosedTreeIsReadOnItsStream) {
  for (const bool is_kept : {false, true}) {
    for (const bool stream_ends : {false, true}) {
      OpenTree({});
      FunctionOptions options;
      if (is_kept) options.kept_outputs = {0};
      const FunctionId twice = Register("twice", options, Twice);
      std::unique_ptr<Stream> stream = NewStream();
      Values out;
      for (int step = 0; step < 3; ++step) {
        NewStep();
        out = CallOn(*stream, twice, {Given(4)});
      }
      const Tensor copy = Given(9);
      const AddressRange from = Tensor::From(out[0]).raw_bytes();
      CloseTree();
      Busy(*stream);
      EXPECT_THAT(stream->Copy(Tensor::From(copy).raw_bytes().base, from.base, from.bytes), IsOk());
      const std::unique_ptr<Event> is_copied = *device().NewEvent({});
      EXPECT_THAT(stream->Record(*is_copied), IsOk());
      if (stream_ends) stream = nullptr;
      out.clear();
      EXPECT_THAT(is_copied->Synchronize(), IsOk());
      EXPECT_EQ(Read(copy), Times(PatternOf(4), 2));
    }
  }
}

// Evicted executables wait for their last launch, which may be on a stream that is gone.
TEST_P(StreamsTest, WhatIsEvictedGoesAllTheSame) {
  TreeOptions options;
  options.budget.executables = 1;
  OpenTree(options);
  const FunctionId functions[] = {Register("a", {}, Twice), Register("b", {}, Thrice)};
  const Tensor x = Given(1);
  for (uint32_t call = 0; call < 40; ++call) {
    NewStep();
    const std::unique_ptr<Stream> stream = NewStream();
    const Values out = CallOn(*stream, functions[call % 2], {x});
    if (call % 10 > 7) {
      EXPECT_EQ(ReadBehindAll(out[0]), Times(PatternOf(1), 2 + call % 2));
    }
  }
  EXPECT_LE(tree().stats().executables, 1u);
}

TEST_P(StreamsTest, AdoptedOnesGoBeforeTheirNativeStreams) {
  const FunctionId twice = Register("twice", {}, Twice);
  const Tensor x = Given(1);
  const bool is_host = device().info().architecture == "host";
  const std::unique_ptr<NativeCalls> native =
      is_host ? NativeCallsOnHost(device()) : NativeCallsOnCuda();
  for (int request = 0; request < 50; ++request) {
    const NativeStream handle = native->Create();
    absl::StatusOr<std::unique_ptr<Stream>> stream = device().AdoptStream(handle);
    ASSERT_THAT(stream, IsOk());
    NewStep();
    Busy(**stream);
    const Values out = CallOn(**stream, twice, {x});
    stream->reset();
    ASSERT_TRUE(native->Destroy(handle));
    if (request % 10 == 9) {
      EXPECT_EQ(ReadBehindAll(out[0]), Times(PatternOf(1), 2));
    }
  }
  EXPECT_GT(replays(), 0u);
}

// Streams that had their turn go on another thread while calls run on further ones.
TEST_P(StreamsTest, OnAnotherThreadWhileCallsRun) {
  const FunctionId twice = Register("twice", {}, Twice);
  const FunctionId excluded = Register("excluded", {.exclude = true}, Twice);
  const Tensor x = Given(1);
  std::atomic<Stream*> gone{nullptr};
  std::atomic<bool> is_over{false};
  std::thread destroyer([&] {
    while (!is_over) {
      const std::unique_ptr<Stream> ends(gone.exchange(nullptr));
      std::this_thread::yield();
    }
    const std::unique_ptr<Stream> last(gone.exchange(nullptr));
  });
  for (int call = 0; call < 600; ++call) {
    std::unique_ptr<Stream> stream = NewStream();
    NewStep();
    Values out = CallOn(*stream, twice, {x});
    out = CallOn(*stream, excluded, std::move(out));
    const std::unique_ptr<Stream> ends(gone.exchange(stream.release()));
  }
  is_over = true;
  destroyer.join();
  EXPECT_EQ(ReadBehindAll(Call(twice, {x})[0]), Times(PatternOf(1), 2));
  EXPECT_THAT(device().health(), IsOk());
}

// A body's own fork, gone when the body returns.
TEST_P(StreamsTest, AForkThatTheBodyMakes) {
  const FunctionId forks = Register("forks", {}, [&](Launcher& on, Values& inputs) {
    const std::unique_ptr<Stream> side = NewStream();
    if (on.ok()) on.Fail(on.stream().Record(event()));
    if (on.ok()) on.Fail(side->Wait(event()));
    Tensor out = on.Empty(WordsLayout(kWords));
    const Tensor x = Tensor::From(inputs[0]);
    if (on.ok()) on.Fail(Add(*side, out.raw_bytes(), x.raw_bytes(), x.raw_bytes()));
    on.Writes(out);
    on.UsedOn(out, *side);
    if (on.ok()) on.Fail(side->Record(event()));
    if (on.ok()) on.Fail(on.stream().Wait(event()));
    return Values{out};
  });
  const FunctionId twice = Register("twice", {}, Twice);
  const Tensor x = Given(1);
  for (int step = 0; step < 8; ++step) {
    NewStep();
    Values out = Call(forks, {x});
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 2));
    out = Call(twice, std::move(out));
    EXPECT_EQ(Read(out[0]), Times(PatternOf(1), 4));
  }
}

}  // namespace
}  // namespace graphtree
