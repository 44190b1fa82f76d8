// Device calls that fail in a call whose written inputs are less aligned than declared, so that
// what the body wrote has to be copied back: a call that fails leaves them as they were.
#include <array>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "device/base/status_matchers.h"
#include "device/error.h"
#include "graphs/tree.h"
#include "gtest/gtest.h"
#include "tests/tree/fault_caller.h"

namespace graphtree {
namespace {

using absl::StatusCode;

constexpr int64_t kWords = 64;

// Two inputs of the caller's, each four bytes beyond what is aligned, and a function that adds 1 to
// both.
class Crooked {
 public:
  explicit Crooked(bool exclude) : device_(MakeHost()) {
    stream_ = device_.NewStream().value();
    for (auto& buffer : buffers_) buffer = device_.memory().AllocateHost(8 * kWords).value();
    tree_ = Tree::Create(device_, {.pool_bytes = 32 << 20}).value();
    function_ = tree_->Register("f", {.alignments = {{0, 16}, {1, 16}}, .exclude = exclude},
                                [](Launcher& on, Values& inputs) {
                                  Bump(on, inputs[0], 1);
                                  Bump(on, inputs[1], 1);
                                  return Values{};
                                });
    for (size_t i = 0; i < buffers_.size(); ++i) {
      for (int64_t word = 0; word < kWords; ++word) words(i)[word] = 100 * i + word;
    }
  }
  ~Crooked() {
    device_.plan().Clear();
    tree_.reset();
    stream_.reset();
    for (auto& buffer : buffers_) buffer.reset();
    EXPECT_THAT(device_.Close(), IsOk());
  }

  FaultPlan& plan() { return device_.plan(); }
  absl::Status Run() {
    Values inputs, outputs;
    for (size_t i = 0; i < buffers_.size(); ++i) {
      inputs.push_back(Tensor::Foreign(AddressOf(words(i)), WordsLayout(kWords)));
    }
    tree_->BeginStep();
    const absl::Status status = tree_->Run(function_, absl::MakeSpan(inputs), *stream_, &outputs);
    fired_in_ = plan().fired() > 0 ? plan().fired_in() : "";
    plan().Clear();
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    return status;
  }
  const std::string& fired_in() const { return fired_in_; }
  void ExpectBumped(uint32_t times, const absl::Status& status) {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      for (int64_t word = 0; word < kWords; ++word) {
        ASSERT_EQ(words(i)[word], 100 * i + word + times) << "input " << i << "; " << status;
      }
    }
  }

 private:
  uint32_t* words(size_t i) { return static_cast<uint32_t*>(buffers_[i]->data()) + 1; }

  FaultDevice device_;
  std::unique_ptr<Stream> stream_;
  std::array<std::unique_ptr<HostBuffer>, 2> buffers_;
  std::unique_ptr<Tree> tree_;
  FunctionId function_ = 0;
  std::string fired_in_;
};

// Two copies there, two ops, two copies back.
TEST(MisalignedFaultTest, TheFirstInputIsPutBackWhereTheSecondCannotBeWritten) {
  for (const bool exclude : {false, true}) {
    Crooked crooked(exclude);
    crooked.plan().FailCallOf("Stream.Launch", 6, ErrorCode::kUnknown);
    const absl::Status status = crooked.Run();
    EXPECT_THAT(status,
                FailsWith(StatusCode::kUnknown, "'f': copying what it wrote back to input 1"));
    crooked.ExpectBumped(0, status);
    const absl::Status again = crooked.Run();
    EXPECT_THAT(again, IsOk());
    crooked.ExpectBumped(1, again);
  }
}

TEST(MisalignedFaultTest, AnyCallMayFail) {
  for (const bool exclude : {false, true}) {
    int failed = 0;
    for (uint64_t n = 1;; ++n) {
      SCOPED_TRACE(absl::StrCat("call ", n, exclude ? ", excluded" : ""));
      Crooked crooked(exclude);
      crooked.plan().FailCall(n, ErrorCode::kUnknown);
      const absl::Status status = crooked.Run();
      const bool fired = !crooked.fired_in().empty();
      EXPECT_TRUE(status.ok() || fired) << status;
      if (absl::StrContains(status.message(), "the tree is lost")) continue;
      failed += status.ok() ? 0 : 1;
      crooked.ExpectBumped(status.ok() ? 1 : 0, status);
      const absl::Status again = crooked.Run();
      EXPECT_THAT(again, IsOk());
      crooked.ExpectBumped(status.ok() ? 2 : 1, again);
      if (!fired || testing::Test::HasFailure()) break;
    }
    EXPECT_GE(failed, 4);
  }
}

}  // namespace
}  // namespace graphtree
