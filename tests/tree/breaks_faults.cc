// The n-th device call fails, for every n, in the life of a function that breaks: a call that fails
// leaves the caller's memory as it was, in whichever section or part it failed.
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "device/base/status_matchers.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "gmock/gmock.h"
#include "graphs/tree.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernels.h"
#include "tests/tree/bodies.h"

namespace graphtree {
namespace {

constexpr int64_t kWords = 16;

std::unique_ptr<Device> MakeHost() { return OpenHostDevice().value(); }

// A caller whose function consumes one input, changes another in three places, and keeps an output.
class Caller {
 public:
  explicit Caller(FaultDevice& device) : device_(device) {}
  ~Caller() {
    tree_.reset();
    stream_.reset();
    host_.reset();
  }

  bool Open() {
    auto stream = device_.NewStream();
    auto host = device_.memory().AllocateHost(2 * kWords * sizeof(uint32_t));
    if (!stream.ok() || !host.ok()) return false;
    stream_ = *std::move(stream);
    host_ = *std::move(host);
    std::memset(host_->data(), 0, host_->bytes());
    TreeOptions options;
    options.pool_bytes = 32 << 20;
    auto tree = Tree::Create(device_, options);
    if (!tree.ok()) return false;
    tree_ = *std::move(tree);
    make_ = tree_->Register("make", {}, [](Launcher& on, Values&) {
      return Values{Filled(on, 7, kWords)};
    });
    cut_ = tree_->Register("cut", {.static_inputs = {1}, .kept_outputs = {0}}, Body);
    return true;
  }

  // True if both functions ran; what they gave is then right. If not, `count` is what it was.
  bool Step() {
    tree_->BeginStep();
    const Words before = Counted();
    const uint64_t warm_ups = tree_->stats().warm_ups;
    const uint64_t eager = tree_->stats().eager;
    Values values;
    if (!tree_->Run(make_, {}, *stream_, &values).ok()) return false;
    values.push_back(Tensor::Foreign(host_->range().base, WordsLayout(kWords)));
    Values outputs;
    const absl::Status status = tree_->Run(cut_, absl::MakeSpan(values), *stream_, &outputs);
    if (!status.ok()) {
      EXPECT_EQ(values.size(), 2u) << "a call that fails consumes nothing";
      if (warm_ && !expects_nothing_) {
        EXPECT_TRUE(IsPattern(values[0])) << device_.plan().fired_in() << ": " << status.ToString();
        EXPECT_EQ(Counted(), before) << device_.plan().fired_in() << ": " << status.ToString();
      }
      return false;
    }
    warm_ = warm_ || tree_->stats().warm_ups > warm_ups || tree_->stats().eager > eager;
    if (expects_nothing_) return stream_->Synchronize().ok();
    EXPECT_EQ(Counted(), Plus(before, Words(kWords, 111))) << "in state " << tree_->state();
    return Holds(outputs[0], Plus(Times(PatternWords(), 2), Counted()));
  }
  Tree& tree() { return *tree_; }
  void ExpectNothingOfMemory() { expects_nothing_ = true; }

 private:
  static Values Body(Launcher& on, Values& inputs) {
    const Value count = inputs[1];
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    inputs[0] = Value();
    Bump(on, count, 1);
    on.Break("ten", {InOut(Tensor::From(count))},
             [](Launcher& part, absl::Span<const Tensor> tensors) { Bump(part, tensors[0], 10); });
    Bump(on, count, 100);
    on.Break("nothing", {}, [](Launcher& part, absl::Span<const Tensor>) {
      part.Fail(part.stream().Synchronize());
    });
    return {Sum(on, twice, count)};
  }
  static Words PatternWords() {
    Words words(kWords);
    for (uint32_t i = 0; i < kWords; ++i) words[i] = PatternWord(7, i);
    return words;
  }
  Words Counted() {
    // Not by the device's calls: they may be the ones that fail.
    while (!stream_->Synchronize().ok()) {
      if (!device_.plan().lost().ok()) break;
    }
    Words words(kWords);
    std::memcpy(words.data(), host_->data(), kWords * sizeof(uint32_t));
    return words;
  }
  absl::StatusOr<Words> Read(const Value& value) {
    const Address target = host_->range().base + kWords * sizeof(uint32_t);
    absl::Status status = stream_->Copy(target, value.word(), kWords * sizeof(uint32_t));
    if (status.ok()) status = stream_->Synchronize();
    if (!status.ok()) return status;
    Words words(kWords);
    std::memcpy(words.data(), PointerTo<void>(target), kWords * sizeof(uint32_t));
    return words;
  }
  bool IsPattern(const Value& value) {
    if (!value.is_tensor()) return false;
    const absl::StatusOr<Words> words = Read(value);
    return words.ok() && *words == PatternWords();
  }
  // False if it could not be looked at; fails the test if it was looked at and is wrong.
  bool Holds(const Value& value, const Words& expected) {
    const absl::StatusOr<Words> words = Read(value);
    if (!words.ok()) return false;
    EXPECT_EQ(*words, expected) << "in state " << tree_->state();
    return true;
  }

  FaultDevice& device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<HostBuffer> host_;
  std::unique_ptr<Tree> tree_;
  FunctionId make_ = 0;
  FunctionId cut_ = 0;
  bool warm_ = false;
  bool expects_nothing_ = false;
};

TEST(BreaksFaultTest, AnyOneCallOfAWholeLifeMayFail) {
  for (const ErrorCode code : {ErrorCode::kOutOfMemory, ErrorCode::kCaptureUnsupported}) {
    EveryCallOptions options;
    options.code = code;
    const uint64_t calls = ForEveryFailingCall(
        MakeHost,
        [](FaultDevice& device) {
          Caller caller(device);
          if (!caller.Open()) return;
          int failed = 0;
          for (int step = 0; step < 6; ++step) failed += caller.Step() ? 0 : 1;
          EXPECT_LE(failed, 1) << "one fault spoils one step at most; in "
                               << device.plan().fired_in();
          for (int step = 0; step < 3 && device.plan().fired() > 0; ++step) {
            EXPECT_TRUE(caller.Step()) << "the tree is usable";
          }
          EXPECT_GT(caller.tree().stats().replays, 0u);
          EXPECT_GT(caller.tree().stats().eager_parts, 0u);
        },
        options);
    EXPECT_GE(calls, 80u);
  }
}

// What a lost device did to the memory of the caller nobody can undo; the tree closes all the same.
TEST(BreaksFaultTest, TheDeviceMayBeLostAtAnyCall) {
  EveryCallOptions options;
  options.code = ErrorCode::kIllegalAddress;
  {
    FaultDevice device(MakeHost());
    Caller caller(device);
    ASSERT_TRUE(caller.Open());
    options.first = device.plan().calls() + 1;
  }
  ForEveryFailingCall(
      MakeHost,
      [](FaultDevice& device) {
        Caller caller(device);
        if (!caller.Open()) return;
        caller.ExpectNothingOfMemory();
        bool lost = false;
        for (int step = 0; step < 4; ++step) {
          const bool ran = caller.Step();
          EXPECT_FALSE(lost && ran) << "a lost device ran a step";
          lost = !device.plan().lost().ok();
        }
        device.plan().Clear();
      },
      options);
}

}  // namespace
}  // namespace graphtree
