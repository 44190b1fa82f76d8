// The heap stays as it is, however long the host device runs: over event round trips between
// streams that run nothing themselves, and over the calls of a tree.
#include <malloc.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/base/status_matchers.h"
#include "device/device.h"
#include "device/host/host_device.h"
#include "device/memory.h"
#include "device/stream.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"
#include "graphs/tree.h"
#include "tests/kernels/kernels.h"
#include "tests/tree/bodies.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr int kRounds = 100'000;
// What a round may not leave behind: it is less than a byte for each.
constexpr uint64_t kSlack = 32 << 10;

// REQUIRES: there is a value.
template <typename T>
T Made(absl::StatusOr<T> made) {
  EXPECT_THAT(made, IsOk());
  return *std::move(made);
}

class HeapTest : public testing::Test {
 protected:
  void SetUp() override {
    if (mallinfo2().uordblks == 0) GTEST_SKIP() << "a sanitizer's heap does not say its size";
    device_ = Made(OpenHostDevice({}));
    for (int i = 0; i < 3; ++i) {
      streams_.push_back(Made(device_->NewStream()));
      events_.push_back(Made(device_->NewEvent({})));
    }
    buffer_ = Made(device_->memory().AllocateHost(256));
  }

  Stream& stream(int i) { return *streams_[i]; }
  Event& event(int i) { return *events_[i]; }

  // Warmed up for a tenth of the rounds, the heap is as large behind the rest as before it.
  template <typename Round>
  void ExpectFlat(const Round& round) {
    if (IsSkipped()) return;
    for (int i = 0; i < kRounds / 10; ++i) round();
    const uint64_t before = mallinfo2().uordblks;
    for (int i = 0; i < kRounds && !HasFatalFailure(); ++i) round();
    const uint64_t after = mallinfo2().uordblks;
    EXPECT_LE(after, before + kSlack) << (after - before) / kRounds << " bytes a round";
  }

  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<Event>> events_;
  std::unique_ptr<HostBuffer> buffer_;
};

TEST_F(HeapTest, RoundTripsOverAStreamThatRunsNothing) {
  ExpectFlat([&] {
    ASSERT_THAT(stream(0).Fill(buffer_->range().base, 1, 1, 64), IsOk());
    ASSERT_THAT(stream(0).Record(event(0)), IsOk());
    ASSERT_THAT(stream(1).Wait(event(0)), IsOk());
    ASSERT_THAT(stream(1).Record(event(1)), IsOk());
    ASSERT_THAT(stream(0).Wait(event(1)), IsOk());
    ASSERT_THAT(stream(0).Synchronize(), IsOk());
    ASSERT_THAT(stream(1).Synchronize(), IsOk());
  });
}

TEST_F(HeapTest, RoundTripsOverThreeStreams) {
  ExpectFlat([&] {
    ASSERT_THAT(stream(0).Fill(buffer_->range().base, 1, 1, 64), IsOk());
    for (int i = 0; i < 3; ++i) {
      ASSERT_THAT(stream(i).Record(event(i)), IsOk());
      ASSERT_THAT(stream((i + 1) % 3).Wait(event(i)), IsOk());
    }
    ASSERT_THAT(stream(2).Synchronize(), IsOk());
  });
}

// Nothing is ever waited for on the host, but for what a full queue makes the caller wait for.
TEST_F(HeapTest, RoundTripsThatNobodyWaitsFor) {
  ExpectFlat([&] {
    ASSERT_THAT(stream(0).Fill(buffer_->range().base, 1, 1, 64), IsOk());
    ASSERT_THAT(stream(0).Record(event(0)), IsOk());
    ASSERT_THAT(stream(1).Wait(event(0)), IsOk());
    ASSERT_THAT(stream(1).Record(event(1)), IsOk());
    ASSERT_THAT(stream(2).Wait(event(1)), IsOk());
    ASSERT_THAT(stream(0).Wait(event(1)), IsOk());
  });
}

// Three readers of the same bytes, which nobody ever writes to again.
TEST_F(HeapTest, ReadersOnThreeStreams) {
  const Address base = buffer_->range().base;
  int round = 0;
  ExpectFlat([&] {
    for (int i = 0; i < 3; ++i) {
      ASSERT_THAT(stream(i).Copy(base + 64 * (i + 1), base, 64), IsOk());
    }
    const int from = round % 3;
    const int to = (round++ / 3) % 3;
    ASSERT_THAT(stream(from).Record(event(from)), IsOk());
    ASSERT_THAT(stream(to).Wait(event(from)), IsOk());
  });
}

class HeapOfTreeTest : public HeapTest {
 protected:
  void SetUp() override {
    HeapTest::SetUp();
    if (IsSkipped()) return;
    tree_ = Made(Tree::Create(*device_, {}));
    first_ = tree_->Register("first", {}, Twice);
    second_ = tree_->Register("second", {}, ConsumeTwice);
    eager_ = tree_->Register("eager", {.exclude = true}, Twice);
    cut_ = tree_->Register("cut", {}, [](Launcher& on, Values& inputs) {
      Values made = Twice(on, inputs);
      on.Break("nothing", {}, [](Launcher&, absl::Span<const Tensor>) {});
      return Twice(on, made);
    });
  }
  void TearDown() override {
    outputs_.clear();
    tree_.reset();
  }
  void Step(Stream& stream, Stream& then) {
    tree_->BeginStep();
    Value input = Tensor::Foreign(buffer_->range().base, WordsLayout(16));
    ASSERT_THAT(tree_->Run(first_, absl::MakeSpan(&input, 1), stream, &outputs_), IsOk());
    ASSERT_THAT(tree_->Run(second_, absl::MakeSpan(outputs_), then, &outputs_), IsOk());
  }

  std::unique_ptr<Tree> tree_;
  FunctionId first_ = 0;
  FunctionId second_ = 0;
  FunctionId eager_ = 0;
  FunctionId cut_ = 0;
  Values outputs_;
};

TEST_F(HeapOfTreeTest, ReplaysOnOneStream) {
  ExpectFlat([&] { Step(stream(0), stream(0)); });
}

TEST_F(HeapOfTreeTest, ReplaysOnThreeStreamsInTurns) {
  int round = 0;
  ExpectFlat([&] {
    Step(stream(round % 3), stream((round + 1) % 3));
    if (++round % 7 == 0) {
      ASSERT_THAT(stream(0).Synchronize(), IsOk());
    }
  });
}

// As a server has them that takes a stream for each request.
TEST_F(HeapOfTreeTest, AStreamForEachRequest) {
  int round = 0;
  ExpectFlat([&] {
    const std::unique_ptr<Stream> mine = Made(device_->NewStream());
    Step(*mine, *mine);
    if (++round % 16 == 0) {
      ASSERT_THAT(mine->Synchronize(), IsOk());
    }
  });
}

// The tree's own stream waits for the caller's, and the caller's for it.
TEST_F(HeapOfTreeTest, EagerRunsAndParts) {
  ExpectFlat([&] {
    tree_->BeginStep();
    for (const FunctionId function : {eager_, cut_}) {
      Value input = Tensor::Foreign(buffer_->range().base, WordsLayout(16));
      ASSERT_THAT(tree_->Run(function, absl::MakeSpan(&input, 1), stream(0), &outputs_), IsOk());
    }
  });
}

// Nobody calls the tree that has made the tensor, so it does not go on after those streams.
TEST_F(HeapOfTreeTest, AStreamForEachRequestUsesATensorOfAnIdleTree) {
  if (IsSkipped()) return;
  const std::unique_ptr<Tree> idle = Made(Tree::Create(*device_, {}));
  const FunctionId makes = idle->Register("makes", {.kept_outputs = {0}}, Twice);
  Value input = Tensor::Foreign(buffer_->range().base, WordsLayout(16));
  Values made;
  ASSERT_THAT(idle->Run(makes, absl::MakeSpan(&input, 1), stream(0), &made), IsOk());
  ASSERT_THAT(stream(0).Synchronize(), IsOk());
  int round = 0;
  ExpectFlat([&] {
    const std::unique_ptr<Stream> mine = Made(device_->NewStream());
    tree_->BeginStep();
    Values inputs = {made[0]};
    ASSERT_THAT(tree_->Run(first_, absl::MakeSpan(inputs), *mine, &outputs_), IsOk());
    if (++round % 16 == 0) {
      ASSERT_THAT(mine->Synchronize(), IsOk());
    }
  });
  outputs_.clear();
  made.clear();
}

// A size that is not recorded is warmed up, again and again.
TEST_F(HeapOfTreeTest, WarmUps) {
  if (IsSkipped()) return;
  TreeOptions options;
  options.warm_up_limit = ~uint64_t{0};
  tree_ = Made(Tree::Create(*device_, options));
  const FunctionId again = tree_->Register("again", {}, [](Launcher& on, Values& inputs) {
    on.WarmUpAgain("not yet");
    return Twice(on, inputs);
  });
  ExpectFlat([&] {
    tree_->BeginStep();
    Value input = Tensor::Foreign(buffer_->range().base, WordsLayout(16));
    ASSERT_THAT(tree_->Run(again, absl::MakeSpan(&input, 1), stream(0), &outputs_), IsOk());
  });
}

}  // namespace
}  // namespace graphtree
