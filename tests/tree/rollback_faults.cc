// Recordings that are given up, and whose way back fails: the call has its inputs, and the tree
// goes on, or says that it is lost; what foreign code holds meanwhile keeps nothing for ever.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/types/span.h"
#include "allocator/foreign.h"
#include "allocator/pool.h"
#include "device/base/status_matchers.h"
#include "graphs/layout.h"
#include "graphs/tree_stats.h"
#include "gtest/gtest.h"
#include "tests/tree/fault_caller.h"

namespace graphtree {
namespace {

using absl::StatusCode;

constexpr int64_t kMuch = 64 << 20;
constexpr uint8_t kBytes[8] = {};

class RollbackFaultTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = std::make_unique<FaultDevice>(MakeHost());
    stream_ = *device_->NewStream();
    tree_ = *Tree::Create(*device_, {});
    make_ = tree_->Register("make", {}, [](Launcher& on, Values&) {
      return Values{Filled(on, 7, 16)};
    });
  }
  void TearDown() override {
    device_->plan().Clear();
    tree_.reset();
    stream_.reset();
    EXPECT_THAT(device_->Close(), IsOk()) << "something was left";
  }
  // Grows the pool in a recording that is then given up.
  FunctionId RegisterGrower() {
    return tree_->Register("grows", {}, [this](Launcher& on, Values&) {
      const Tensor much = on.Empty(DType::kU8, {is_warm_ ? kMuch : 64});
      on.Fill(much, 1);
      if (is_warm_) on.Fail(on.stream().Synchronize());
      return Values{};
    });
  }
  absl::Status Run(FunctionId function, Values* inputs) {
    Values outputs;
    return tree_->Run(function, absl::MakeSpan(*inputs), *stream_, &outputs);
  }
  Values Made() {
    Values made;
    tree_->BeginStep();
    EXPECT_THAT(tree_->Run(make_, {}, *stream_, &made), IsOk());
    return made;
  }

  std::unique_ptr<FaultDevice> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Tree> tree_;
  FunctionId make_ = 0;
  bool is_warm_ = false;
};

TEST_F(RollbackFaultTest, MemoryThatCannotBeGivenBackIsNoFailure) {
  for (uint64_t n = 2; n <= 4; ++n) {
    SCOPED_TRACE(n);
    const FunctionId function = RegisterGrower();
    is_warm_ = false;
    Values made = Made();
    ASSERT_THAT(Run(function, &made), IsOk());
    is_warm_ = true;
    made = Made();
    const uint64_t recordings = tree_->stats().recordings;
    device_->plan().FailCallOf("Event.Synchronize", n, ErrorCode::kUnknown);
    EXPECT_THAT(Run(function, &made), IsOk());
    EXPECT_EQ(tree_->stats().recordings, recordings) << "it is not one that is recorded";
    EXPECT_EQ(device_->plan().fired() > 0 || n > 2, true);
    device_->plan().Clear();
    is_warm_ = false;
    made = Made();
    EXPECT_THAT(Run(function, &made), IsOk());
  }
  EXPECT_GE(device_->plan().fired(), 1u);
}

TEST_F(RollbackFaultTest, AForeignBlockThatIsHeldMeanwhileGoesWhenItIsFreed) {
  const FunctionId function = RegisterGrower();
  const absl::StatusOr<Address> foreign = tree_->foreign_allocator().Allocate(64, *stream_);
  ASSERT_THAT(foreign, IsOk());
  Values made = Made();
  ASSERT_THAT(Run(function, &made), IsOk());
  is_warm_ = true;
  made = Made();
  device_->plan().FailCallOf("Event.Synchronize", 2, ErrorCode::kUnknown);
  EXPECT_THAT(Run(function, &made), IsOk());
  EXPECT_EQ(device_->plan().fired(), 1u);
  EXPECT_THAT(tree_->foreign_allocator().Free(*foreign, *stream_), IsOk());
}

// Foreign code has it from a recording that is given up, and what takes it again fails once.
TEST_F(RollbackFaultTest, AForeignBlockIsTakenAgainThoughOneWaitFails) {
  ForeignAllocator& foreign = tree_->foreign_allocator();
  for (uint64_t wait = 1; wait <= 8; ++wait) {
    SCOPED_TRACE(wait);
    Address held = 0;
    const FunctionId function = tree_->Register("holds", {}, [&](Launcher& on, Values& inputs) {
      if (held == 0) held = foreign.Allocate(1280, on.stream()).value();
      on.Fill(Tensor::Foreign(held, Layout::Of(DType::kU8, {1280})), 1);
      if (is_warm_) on.Fail(on.stream().Synchronize());
      return Values{Sum(on, inputs[0], inputs[0])};
    });
    is_warm_ = false;
    Values made = Made();
    ASSERT_THAT(Run(function, &made), IsOk());
    EXPECT_THAT(foreign.Free(std::exchange(held, 0), *stream_), IsOk());
    is_warm_ = true;
    made = Made();
    device_->plan().FailCallOf("Stream.Wait", wait, ErrorCode::kUnknown);
    const std::string failure(Run(function, &made).message());
    device_->plan().Clear();
    EXPECT_EQ(failure.find("cannot be taken again"), std::string::npos) << failure;
    ASSERT_NE(held, 0u);
    EXPECT_THAT(stream_->Fill(held, 2, 1, 1280), IsOk());
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    EXPECT_THAT(foreign.Free(held, *stream_), IsOk());
  }
  EXPECT_GE(device_->plan().fired(), 1u);
}

// Where nothing helps foreign code goes on writing to memory that is free in the books. Nobody gets
// it then: the tree is lost.
TEST_F(RollbackFaultTest, ATreeWhoseForeignCodeHasLostItsMemoryIsLost) {
  const Tensor input = Tensor::Foreign(AddressOf(kBytes), Layout::Of(DType::kU8, {8}));
  for (const char* call : {"Stream.Wait", "Stream.Record", "Device.NewEvent"}) {
    SCOPED_TRACE(call);
    tree_ = *Tree::Create(*device_, {});
    ForeignAllocator& foreign = tree_->foreign_allocator();
    Address held = 0;
    is_warm_ = false;
    const FunctionId function = tree_->Register("holds", {}, [&](Launcher& on, Values& inputs) {
      const Tensor out = on.Empty(inputs[0].layout());
      if (!on.ok()) return Values{};
      on.Copy(out, Tensor::From(inputs[0]));
      if (is_warm_ && held == 0) held = foreign.Allocate(1280, on.stream()).value();
      return Values{out};
    });
    Values inputs = {input};
    ASSERT_THAT(Run(function, &inputs), IsOk());
    is_warm_ = true;
    tree_->BeginStep();
    device_->plan().FailEveryCallOf(call, ErrorCode::kNotSupported);
    EXPECT_THAT(Run(function, &inputs),
                FailsWith(StatusCode::kUnimplemented, "cannot be taken again"));
    device_->plan().Clear();
    tree_->BeginStep();
    EXPECT_THAT(Run(function, &inputs),
                FailsWith(StatusCode::kUnimplemented, "foreign code has lost its memory"));
    EXPECT_FALSE(foreign.Allocate(1280, *stream_).ok());
    EXPECT_THAT(foreign.Free(held, *stream_), IsOk());
  }
}

// Somebody looks at the pool without Tree::Inspect just when it is to go back.
TEST_F(RollbackFaultTest, ATreeWhosePoolCannotGoBackIsLost) {
  Address foreign = 0;
  std::atomic<bool> is_inside{false}, may_leave{false};
  std::thread looks;
  bool disturbs = false;
  const FunctionId function = tree_->Register("f", {}, [&](Launcher& on, Values& inputs) {
    const Tensor sum = Sum(on, inputs[0], inputs[0]);
    if (disturbs) {
      foreign = tree_->foreign_allocator().Allocate(64, on.stream()).value();
      looks = std::thread([&] {
        EXPECT_THAT(tree_->pool().NoteSnapshot([&] {
          is_inside = true;
          while (!may_leave) std::this_thread::yield();
        }), IsOk());
      });
      while (!is_inside) std::this_thread::yield();
      on.Fail(absl::UnavailableError("given up"));
    }
    return Values{sum};
  });
  Values made = Made();
  ASSERT_THAT(Run(function, &made), IsOk());
  disturbs = true;
  made = Made();
  const absl::Status first = Run(function, &made);
  may_leave = true;
  looks.join();
  EXPECT_THAT(first, FailsWith(StatusCode::kFailedPrecondition, "the tree is lost since a call"));
  EXPECT_THAT(first, FailsWith(StatusCode::kFailedPrecondition, "could not be rolled back"));
  ASSERT_EQ(made.size(), 1u);
  EXPECT_TRUE(made[0].is_tensor()) << "a call that fails consumes nothing";
  disturbs = false;
  for (const FunctionId later : {function, make_}) EXPECT_EQ(Run(later, &made), first);
  tree_->BeginStep();
  EXPECT_EQ(Run(make_, &made), first);
  EXPECT_THAT(tree_->foreign_allocator().Free(foreign, *stream_), IsOk());
}

}  // namespace
}  // namespace graphtree
