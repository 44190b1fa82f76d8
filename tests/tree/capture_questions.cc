// A question whether a stream captures fails, for every one of them. A body that is captured has
// forked a stream, on which it reads another tree's tensor: whatever the answer, that tree is not
// told of work of the capture, which nobody could ever wait for.
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/types/span.h"
#include "device/base/status_matchers.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "graphs/tree.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/tree/bodies.h"

namespace graphtree {
namespace {

constexpr uint32_t kWords = 48;
constexpr char kQuestion[] = "Stream.Capture";

class World {
 public:
  // The fork, whose tensor the body reads on it, goes with the body or stays.
  explicit World(bool fork_goes) : fork_goes_(fork_goes) {
    buffer_ = *device_.memory().AllocateHost(kWords * sizeof(uint32_t));
    auto* const words = static_cast<uint32_t*>(buffer_->data());
    for (uint32_t i = 0; i < kWords; ++i) words[i] = i;
    maker_ = *Tree::Create(device_, {});
    taker_ = *Tree::Create(device_, {});
    make_ = maker_->Register("make", {.exclude = true}, Twice);
    take_ = taker_->Register("take", {}, [this](Launcher& on, Values&) { return Take(on); });
  }

  FaultPlan& plan() { return device_.plan(); }
  absl::Status Make() {
    Values inputs = {Tensor::Foreign(buffer_->range().base, WordsLayout(kWords))};
    maker_->BeginStep();
    Values outputs;
    absl::Status status = maker_->Run(make_, absl::MakeSpan(inputs), *stream_, &outputs);
    known_ = outputs.empty() ? Value() : outputs[0];
    return status;
  }
  absl::Status RunTake() {
    taker_->BeginStep();
    Values outputs;
    const absl::Status status = taker_->Run(take_, {}, *stream_, &outputs);
    if (status.ok()) ExpectFourTimes(outputs[0]);
    return status;
  }
  // The tree whose tensors were read goes on, for as long as it likes.
  void ExpectMakerGoesOn() {
    for (int i = 0; i < 3; ++i) ASSERT_THAT(Make(), IsOk());
    for (int i = 0; i < 3; ++i) ASSERT_THAT(RunTake(), IsOk());
    ASSERT_THAT(Make(), IsOk());
    EXPECT_THAT(device_.health(), IsOk());
  }

 private:
  Values Take(Launcher& on) {
    if (fork_ == nullptr) {
      absl::StatusOr<std::unique_ptr<Stream>> fork = device_.NewStream();
      on.Fail(fork.status());
      if (!on.ok()) return {};
      fork_ = *std::move(fork);
    }
    const Tensor known = Tensor::From(known_);
    const Tensor out = on.Empty(known.layout());
    if (!on.ok()) return {};
    on.Reads(known);
    on.Writes(out);
    on.Fork(*fork_);
    if (on.ok()) {
      on.Fail(Add(*fork_, out.raw_bytes(), known.raw_bytes(), known.raw_bytes()));
      on.UsedOn(known, *fork_);
      on.UsedOn(out, *fork_);
    }
    if (fork_goes_) fork_ = nullptr;
    return {out};
  }
  void ExpectFourTimes(const Value& output) {
    const std::unique_ptr<HostBuffer> read =
        *device_.memory().AllocateHost(kWords * sizeof(uint32_t));
    ASSERT_THAT(stream_->Copy(read->range().base, output.word(), read->bytes()), IsOk());
    ASSERT_THAT(stream_->Synchronize(), IsOk());
    for (uint32_t i = 0; i < kWords; ++i) {
      ASSERT_EQ(static_cast<const uint32_t*>(read->data())[i], 4 * i);
    }
  }

  const bool fork_goes_;
  FaultDevice device_{*OpenHostDevice()};
  const std::unique_ptr<Stream> stream_ = *device_.NewStream();
  std::unique_ptr<HostBuffer> buffer_;
  std::unique_ptr<Stream> fork_;
  std::unique_ptr<Tree> maker_;
  std::unique_ptr<Tree> taker_;
  FunctionId make_ = 0;
  FunctionId take_ = 0;
  Value known_;
};

// The question of this number fails, and so many in all, while the body is run, captured and
// replayed. False: there are fewer.
bool AskAndGoOn(bool fork_goes, uint64_t question, uint64_t times) {
  World world(fork_goes);
  EXPECT_THAT(world.Make(), IsOk());
  EXPECT_THAT(world.RunTake(), IsOk());
  for (uint64_t i = 0; i < times; ++i) {
    world.plan().FailCallOf(kQuestion, question + i, ErrorCode::kInvalidValue);
  }
  for (int step = 0; step < 3; ++step) world.RunTake().IgnoreError();
  const bool has_fired = world.plan().fired() > 0;
  world.plan().Clear();
  world.ExpectMakerGoesOn();
  return has_fired;
}

TEST(CaptureQuestionsTest, AnyMayFailOnceAndTwice) {
  for (const bool fork_goes : {false, true}) {
    for (const uint64_t times : {1, 2, 3, 4, 6, 9, 30}) {
      uint64_t question = 1;
      while (AskAndGoOn(fork_goes, question, times)) {
        ASSERT_FALSE(testing::Test::HasFailure())
            << times << " from question " << question << " on, of a fork that "
            << (fork_goes ? "goes" : "stays");
        ++question;
      }
      EXPECT_GT(question, 10u);
    }
  }
}

// A body leaves a capture open on its stream. Whichever question fails, the capture is ended, and
// the stream serves the next call.
TEST(CaptureQuestionsTest, AStrayCaptureEndsAllTheSame) {
  FaultDevice device(*OpenHostDevice());
  const std::unique_ptr<Stream> stream = *device.NewStream();
  std::unique_ptr<Tree> tree = *Tree::Create(device, {});
  bool strays = false;
  const Body body = [&strays](Launcher& on, Values&) {
    if (strays) on.Fail(on.stream().BeginCapture(CaptureMode::kThreadLocal));
    return Values{};
  };
  for (int variant = 0; variant < 4; ++variant) {
    const uint64_t times = variant % 2 == 0 ? 1 : 3;
    uint64_t fired = 1;
    for (uint64_t question = 1; fired > 0; ++question) {
      const FunctionId function = tree->Register("strays", {.exclude = variant < 2}, body);
      Values outputs;
      strays = true;
      const uint64_t before = device.plan().fired();
      for (uint64_t i = 0; i < times; ++i) {
        device.plan().FailCallOf(kQuestion, question + i, ErrorCode::kInvalidValue);
      }
      EXPECT_FALSE(tree->Run(function, {}, *stream, &outputs).ok());
      fired = device.plan().fired() - before;
      device.plan().Clear();
      strays = false;
      tree->BeginStep();
      ASSERT_THAT(tree->Run(function, {}, *stream, &outputs), IsOk()) << "question " << question;
    }
  }
  tree = nullptr;
}

}  // namespace
}  // namespace graphtree
