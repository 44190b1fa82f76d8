// Trees that are closed while their work is under way and captures begin and end on its stream, at
// any moment: what the work uses stays until it is over, and the device closes with nothing left.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "device/fault/asked_device.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "graphs/launcher.h"
#include "graphs/tree.h"
#include "gtest/gtest.h"
#include "tests/tree/bodies.h"

namespace graphtree {
namespace {

constexpr int64_t kWords = 16;

// A tree with work on one stream. Another stream, which no tree knows, has captures that the tree's
// stream joins: then nobody outside can wait for it.
class Closing {
 public:
  Closing() : device_(*OpenHostDevice({})) {
    stream_ = *device_.NewStream();
    captures_ = *device_.NewStream();
    fork_ = *device_.NewEvent({});
    join_ = *device_.NewEvent({});
    tree_ = *Tree::Create(device_, {.pool_bytes = 32 << 20});
    function_ = tree_->Register("works", {}, BodyThatIsWatched());
  }
  ~Closing() {
    device_.questions().Tell(nullptr, nullptr);
    tree_ = nullptr;
    stream_ = nullptr;
    captures_ = nullptr;
    fork_ = nullptr;
    join_ = nullptr;
    EXPECT_THAT(device_.Close(), IsOk());
  }

  void Call(int times) {
    for (int i = 0; i < times; ++i) {
      tree_->BeginStep();
      EXPECT_THAT(tree_->Run(function_, {}, *stream_), IsOk());
    }
  }
  // Closes the tree. A capture begins before the question with that number, and ends before that.
  void Close(uint64_t begin, uint64_t end) {
    device_.questions().Tell(
        [this, begin, end](const Stream*) {
          const uint64_t question = asked_++;
          if (question == begin) Begin();
          if (question == end && is_open_) End();
        },
        nullptr);
    tree_ = nullptr;
    device_.questions().Tell(nullptr, nullptr);
    if (is_open_) End();
  }
  uint64_t asked() const { return asked_; }

  void ExpectWorkHadAll() {
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    EXPECT_THAT(device_.GiveBackLeftovers(), IsOk());
    EXPECT_TRUE(had_all_) << "an object went before the work that uses it";
    EXPECT_TRUE(object_.expired());
    EXPECT_THAT(device_.health(), IsOk());
  }

 private:
  Body BodyThatIsWatched() {
    auto object = std::make_shared<int>(1);
    object_ = object;
    return [this, object = std::move(object)](Launcher& on, Values&) {
      const Tensor words = Filled(on, 1, kWords);
      on.Fail(on.stream().CallHost([this, seen = object_] { had_all_ = !seen.expired(); }));
      return Values{Sum(on, words, words)};
    };
  }
  void Begin() {
    is_open_ = true;
    EXPECT_THAT(captures_->BeginCapture(CaptureMode::kRelaxed), IsOk());
    EXPECT_THAT(captures_->Record(*fork_), IsOk());
    EXPECT_THAT(stream_->Wait(*fork_), IsOk());
  }
  void End() {
    is_open_ = false;
    EXPECT_THAT(stream_->Record(*join_), IsOk());
    EXPECT_THAT(captures_->Wait(*join_), IsOk());
    EXPECT_THAT(captures_->EndCapture(), IsOk());
  }

  AskedDevice device_;
  std::unique_ptr<Stream> stream_, captures_;
  std::unique_ptr<Event> fork_, join_;
  std::unique_ptr<Tree> tree_;
  FunctionId function_ = 0;
  std::weak_ptr<int> object_;
  std::atomic<bool> had_all_{false};
  bool is_open_ = false;
  uint64_t asked_ = 0;
};

// After a warm-up, a recording and a replay. A tree that cannot wait asks more often, so the number
// of questions is found on the way.
TEST(ClosingTest, ACaptureThatBeginsAndEndsAtAnyMomentTakesNothingFromTheWork) {
  for (const int calls : {1, 2, 4}) {
    uint64_t questions = 1;
    for (uint64_t begin = 0; begin < questions; ++begin) {
      for (uint64_t end = begin; end <= questions; ++end) {
        SCOPED_TRACE(absl::StrCat(calls, " calls, captured from question ", begin, " to ", end));
        Closing closing;
        closing.Call(calls);
        closing.Close(begin, end);
        questions = std::max(questions, closing.asked());
        closing.ExpectWorkHadAll();
      }
    }
    EXPECT_GT(questions, 2u);
  }
}

}  // namespace
}  // namespace graphtree
