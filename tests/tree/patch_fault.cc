// A replay whose patch fails has not run; the same call again must not take the patch as made.
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "device/base/status_matchers.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "gmock/gmock.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernels.h"
#include "tests/tree/bodies.h"

namespace graphtree {
namespace {

constexpr uint32_t kWords = 48;

class PatchFaultTest : public testing::Test {
 protected:
  void SetUp() override {
    auto host = OpenHostDevice();
    ASSERT_THAT(host, IsOk());
    device_ = std::make_unique<FaultDevice>(*std::move(host));
    stream_ = *device_->NewStream();
    buffer_ = *device_->memory().AllocateHost(2 * kWords * sizeof(uint32_t));
    for (uint32_t i = 0; i < 2 * kWords; ++i) words()[i] = PatternWord(3, i);
    OpenTree(kDefaultPatchBytes);
  }
  void OpenTree(uint64_t patch_bytes) {
    tree_ = nullptr;
    TreeOptions options;
    options.patch_bytes = patch_bytes;
    tree_ = *Tree::Create(*device_, options);
    twice_ = tree_->Register("twice", {}, Twice);
  }
  void TearDown() override {
    tree_.reset();
    buffer_.reset();
    stream_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }

  uint32_t* words() { return static_cast<uint32_t*>(buffer_->data()); }
  // The first or the second half of the buffer.
  absl::StatusOr<Values> Run(uint32_t half) {
    tree_->BeginStep();
    const Address address = AddressOf(words() + half * kWords);
    return tree_->Run(twice_, {Tensor::Foreign(address, WordsLayout(kWords))}, *stream_);
  }
  Words Read(const Value& value) {
    Words found(kWords);
    EXPECT_THAT(TryToRead(value, &found), IsOk());
    return found;
  }
  absl::Status TryToRead(const Value& value, Words* found) {
    const absl::Status copied =
        stream_->Copy(AddressOf(found->data()), value.word(), kWords * 4);
    return copied.ok() ? stream_->Synchronize() : copied;
  }
  Words Expected(uint32_t half) {
    Words half_words(words() + half * kWords, words() + (half + 1) * kWords);
    return Times(half_words, 2);
  }

  std::unique_ptr<FaultDevice> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<HostBuffer> buffer_;
  std::unique_ptr<Tree> tree_;
  FunctionId twice_ = 0;
};

TEST_F(PatchFaultTest, ARetriedReplayReadsTheInputThatMoved) {
  for (int i = 0; i < 3; ++i) ASSERT_THAT(Run(0), IsOk());
  ASSERT_EQ(tree_->stats().replays, 1u);
  device_->plan().FailCallOf("Executable.PatchKernel", 1, ErrorCode::kUnknown);
  ASSERT_FALSE(Run(1).ok());
  const absl::StatusOr<Values> again = Run(1);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(Read((*again)[0]), Expected(1));
  EXPECT_EQ(tree_->stats().replays, 2u);
}

// Four ops take the input: whichever patch fails, the next replay makes those that are missing.
TEST_F(PatchFaultTest, AnyPatchOfAnInputThatIsNotCopiedMayFail) {
  for (uint64_t failing = 1; failing <= 4; ++failing) {
    OpenTree(1);
    twice_ = tree_->Register("four", {}, [](Launcher& on, Values& inputs) {
      const Tensor twice = Sum(on, inputs[0], inputs[0]);
      const Tensor thrice = Sum(on, twice, inputs[0]);
      const Tensor copy = on.Empty(WordsLayout(kWords));
      if (!on.ok()) return Values{};
      on.Copy(copy, Tensor::From(inputs[0]));
      return Values{Sum(on, Sum(on, thrice, inputs[0]), copy)};
    });
    for (int i = 0; i < 3; ++i) ASSERT_THAT(Run(0), IsOk());
    ASSERT_EQ(tree_->stats().patched_inputs, 1u);
    const bool is_copy = failing == 3;
    device_->plan().FailCallOf(is_copy ? "Executable.PatchCopy" : "Executable.PatchKernel",
                               is_copy ? 1 : failing - (failing > 3 ? 1 : 0), ErrorCode::kUnknown);
    ASSERT_FALSE(Run(1).ok());
    // Back where it came from, and then there after all.
    for (const uint32_t half : {failing % 2 == 0 ? 0u : 1u, 1u, 0u}) {
      const absl::StatusOr<Values> again = Run(half);
      ASSERT_THAT(again, IsOk());
      Words expected(words() + half * kWords, words() + (half + 1) * kWords);
      EXPECT_EQ(Read((*again)[0]), Times(expected, 5)) << "failing " << failing;
    }
    EXPECT_EQ(tree_->stats().recordings, 1u);
  }
}

// f writes to its first input, which is patched, and reads its second one, which is copied. A call
// of which any patch fails has moved them both; then the first one goes back, and lies over the
// second. Whether inputs overlap is asked of those that moved, and here both have.
TEST_F(PatchFaultTest, InputsThatOverlapAfterAPatchThatFailed) {
  constexpr uint32_t kLong = 32, kShort = 8, kFar = 64;  // words
  uint64_t failed = 0;
  for (uint64_t nth = 1;; ++nth) {
    OpenTree(kLong * sizeof(uint32_t));
    const FunctionId bump = tree_->Register("bump", {}, [](Launcher& on, Values& inputs) {
      Bump(on, inputs[0], 1);
      return Values{Sum(on, inputs[1], inputs[1])};
    });
    const auto run = [&](uint32_t written, uint32_t read) {
      tree_->BeginStep();
      const absl::Status status =
          tree_->Run(bump,
                     {Tensor::Foreign(AddressOf(words() + written), WordsLayout(kLong)),
                      Tensor::Foreign(AddressOf(words() + read), WordsLayout(kShort))},
                     *stream_)
              .status();
      EXPECT_THAT(stream_->Synchronize(), IsOk());
      return status;
    };
    for (int i = 0; i < 3; ++i) ASSERT_THAT(run(0, kFar), IsOk());
    ASSERT_EQ(tree_->stats().copied_inputs, 1u);
    ASSERT_EQ(tree_->stats().patched_inputs, 1u);
    device_->plan().FailCallOf("Executable.PatchKernel", nth, ErrorCode::kUnknown);
    if (run(kFar - kLong, 4).ok()) break;
    device_->plan().Clear();
    ++failed;
    ASSERT_THAT(run(0, 4), IsOk());
    EXPECT_THAT(tree_->last_call().reason, testing::Optional(Reason::kOverlappingInputs))
        << "call " << nth;
  }
  EXPECT_EQ(failed, 2u) << "the table of copies, and the op that takes the patched input";
}

// An input that alternates, so that a second executable is made and the two take turns: any call of
// all that may fail, the spare's own making without the caller seeing it.
TEST_F(PatchFaultTest, AnyCallMayFailWhileTwoExecutablesTakeTurns) {
  uint64_t quiet = 0;
  for (uint64_t n = 1;; ++n) {
    OpenTree(1);
    for (int i = 0; i < 3; ++i) ASSERT_THAT(Run(0), IsOk());
    device_->plan().FailCall(n, ErrorCode::kOutOfMemory);
    const uint64_t before = device_->plan().fired();
    int failed = 0;
    for (uint32_t step = 0; step < 14; ++step) {
      absl::StatusOr<Values> run = Run(step % 2);
      if (!run.ok()) {
        ++failed;
        run = Run(step % 2);
      }
      ASSERT_THAT(run, IsOk()) << "step " << step << ", failing call " << n;
      Words found(kWords);
      if (!TryToRead((*run)[0], &found).ok()) found = Read((*run)[0]);
      EXPECT_EQ(found, Expected(step % 2)) << "step " << step << ", failing call " << n;
    }
    const bool fired = device_->plan().fired() > before;
    device_->plan().Clear();
    EXPECT_LE(failed, fired ? 1 : 0);
    quiet += fired && failed == 0 ? 1 : 0;
    EXPECT_EQ(tree_->stats().recordings, 1u);
    if (!fired) {
      EXPECT_EQ(tree_->stats().spares, 1u);
      break;
    }
  }
  EXPECT_GE(quiet, 1u) << "the making of the spare";
}

TEST_F(PatchFaultTest, TwoExecutablesThatTakeTurnsAreNotPatched) {
  OpenTree(1);
  for (uint32_t step = 0; step < 12; ++step) ASSERT_THAT(Run(step % 2), IsOk());
  ASSERT_EQ(tree_->stats().spares, 1u);
  const auto patches = [this] { return device_->plan().calls_of("Executable.PatchKernel"); };
  const uint64_t before = patches();
  EXPECT_GT(before, 0u);
  for (uint32_t step = 0; step < 6; ++step) {
    const absl::StatusOr<Values> run = Run(step % 2);
    ASSERT_THAT(run, IsOk());
    EXPECT_EQ(Read((*run)[0]), Expected(step % 2));
  }
  EXPECT_EQ(patches(), before);
}

}  // namespace
}  // namespace graphtree
