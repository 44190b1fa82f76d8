// The rules of capturing, without a device: states, codes, frontiers and edges.
#include "device/host/graph/capture.h"

#include <thread>
#include <utility>
#include <vector>

#include "device/base/status_matchers.h"
#include "device/error.h"
#include "gtest/gtest.h"

namespace graphtree::host {
namespace {

class CaptureTest : public testing::Test {
 protected:
  CaptureTest() {
    a_.stream_name = "a";
    b_.stream_name = "b";
    c_.stream_name = "c";
  }

  void Begin(CapturePart& part, CaptureMode mode = CaptureMode::kThreadLocal) {
    ASSERT_THAT(captures_.Begin(part, mode, kMe, true), IsOk());
  }
  OpId Append(CapturePart& part) {
    Work work;
    work.SetFill({0x1000, 1, 1, 16});
    return captures_.Append(part, Op{}, std::move(work));
  }
  OpId Launch(CapturePart& part, bool programmatic) {
    static const Kernel* const kernel = new Kernel("k", {}, [](const HostCall&) {}, {});
    LaunchShape shape;
    shape.programmatic = programmatic;
    Work work;
    work.SetKernel(*kernel, shape, {});
    return captures_.Append(part, Op{}, std::move(work));
  }
  absl::Status Wait(CapturePart& part, const CaptureMark& mark) {
    return captures_.Wait(part, mark);
  }
  ErrorCode EndCode(CapturePart& part, std::thread::id thread = kMe) {
    return ErrorCodeOf(captures_.End(part, thread).status());
  }

  static inline const std::thread::id kMe = std::this_thread::get_id();
  Captures captures_;
  CapturePart a_, b_, c_;
};

TEST_F(CaptureTest, OpsOfOneStreamFollowEachOther) {
  Begin(a_);
  Append(a_);
  Append(a_);
  EXPECT_EQ(captures_.open(), 1);
  const auto capture = captures_.End(a_, kMe).value();
  EXPECT_EQ(captures_.open(), 0);
  ASSERT_EQ(capture->ops.size(), 2u);
  EXPECT_TRUE(capture->ops[0].dependencies.empty());
  EXPECT_EQ(capture->ops[1].dependencies, std::vector<Edge>{{0}});
}

TEST_F(CaptureTest, AForkAndAJoinMakeEdges) {
  Begin(a_);
  Append(a_);
  ASSERT_THAT(Wait(b_, captures_.Record(a_)), IsOk());
  EXPECT_EQ(b_.capture, a_.capture);
  Append(a_);
  Append(b_);
  ASSERT_THAT(Wait(a_, captures_.Record(b_)), IsOk());
  EXPECT_EQ(a_.frontier, (std::vector<OpId>{1, 2}));
  Append(a_);
  const auto capture = captures_.End(a_, kMe).value();
  EXPECT_EQ(capture->ops[2].dependencies, std::vector<Edge>{{0}});
  EXPECT_EQ(capture->ops[3].dependencies, (std::vector<Edge>{{1}, {2}}));
  EXPECT_EQ(b_.capture, nullptr);
}

TEST_F(CaptureTest, OnlyKernelBehindKernelIsProgrammatic) {
  Begin(a_);
  Append(a_);
  Launch(a_, true);
  Launch(a_, true);
  Launch(a_, false);
  const auto capture = captures_.End(a_, kMe).value();
  EXPECT_EQ(capture->ops[1].dependencies[0].kind, EdgeKind::kFull) << "behind a fill";
  EXPECT_EQ(capture->ops[2].dependencies[0].kind, EdgeKind::kProgrammatic);
  EXPECT_EQ(capture->ops[2].dependencies[0].from_port, 1);
  EXPECT_EQ(capture->ops[3].dependencies[0].kind, EdgeKind::kFull);
}

TEST_F(CaptureTest, UnjoinedWorkIsNamed) {
  Begin(a_);
  Append(a_);
  ASSERT_THAT(Wait(b_, captures_.Record(a_)), IsOk());
  Append(b_);
  const auto ended = captures_.End(a_, kMe);
  EXPECT_EQ(ErrorCodeOf(ended.status()), ErrorCode::kCaptureUnjoined);
  EXPECT_THAT(ended, FailsWith(absl::StatusCode::kFailedPrecondition, "op 1 (fill)"));
  EXPECT_EQ(a_.capture, nullptr);
  EXPECT_EQ(b_.capture, nullptr);
}

TEST_F(CaptureTest, TheModeDecidesWhoMayEndIt) {
  const std::thread::id other;
  for (const CaptureMode mode : {CaptureMode::kGlobal, CaptureMode::kThreadLocal}) {
    Begin(a_, mode);
    EXPECT_EQ(EndCode(a_, other), ErrorCode::kCaptureWrongThread);
    EXPECT_EQ(EndCode(a_), ErrorCode::kIllegalState) << "it is gone";
  }
  Begin(a_, CaptureMode::kRelaxed);
  EXPECT_EQ(EndCode(a_, other), ErrorCode::kNone);
}

TEST_F(CaptureTest, WhatWasInvalidatedSaysByWhat) {
  Begin(a_);
  EXPECT_EQ(ErrorCodeOf(captures_.MayWaitFor(a_, "synchronising")),
            ErrorCode::kCaptureUnsupported);
  EXPECT_EQ(ErrorCodeOf(captures_.MayAppend(a_, "a copy")), ErrorCode::kCaptureInvalidated);
  EXPECT_EQ(ErrorCodeOf(captures_.Begin(a_, CaptureMode::kRelaxed, kMe, true)),
            ErrorCode::kIllegalState);
  EXPECT_THAT(captures_.End(a_, kMe),
              FailsWith(absl::StatusCode::kFailedPrecondition, "synchronising a"));
}

TEST_F(CaptureTest, EventsOfOthersSpoilIt) {
  Begin(a_);
  EXPECT_EQ(ErrorCodeOf(Wait(a_, CaptureMark{})), ErrorCode::kCaptureIsolation);
  EXPECT_EQ(EndCode(a_), ErrorCode::kCaptureInvalidated);
  Begin(a_);
  Begin(b_);
  EXPECT_EQ(ErrorCodeOf(Wait(b_, captures_.Record(a_))), ErrorCode::kCaptureMerge);
  EXPECT_EQ(EndCode(a_), ErrorCode::kCaptureInvalidated);
  EXPECT_EQ(EndCode(b_), ErrorCode::kCaptureInvalidated);
}

TEST_F(CaptureTest, AnEventOfACaptureThatIsOverMeansNothing) {
  Begin(a_);
  Append(a_);
  const CaptureMark mark = captures_.Record(a_);
  EXPECT_EQ(ErrorCodeOf(captures_.MayTime(mark)), ErrorCode::kCapturedEvent);
  EXPECT_EQ(EndCode(a_), ErrorCode::kNone);
  EXPECT_EQ(ErrorCodeOf(captures_.MayTime(mark)), ErrorCode::kInvalidValue);
  EXPECT_EQ(ErrorCodeOf(captures_.MayWaitFor(mark, "querying")), ErrorCode::kInvalidValue);
  EXPECT_EQ(ErrorCodeOf(Wait(b_, mark)), ErrorCode::kInvalidValue);
  EXPECT_EQ(b_.capture, nullptr);
  Begin(c_);
  EXPECT_EQ(ErrorCodeOf(Wait(c_, mark)), ErrorCode::kInvalidValue);
  EXPECT_EQ(EndCode(c_), ErrorCode::kCaptureInvalidated);
}

TEST_F(CaptureTest, LeavingEndsItOnlyForTheStreamThatBeganIt) {
  Begin(a_);
  Append(a_);
  ASSERT_THAT(Wait(b_, captures_.Record(a_)), IsOk());
  captures_.Leave(b_);
  EXPECT_EQ(b_.capture, nullptr);
  EXPECT_EQ(captures_.open(), 1);
  ASSERT_THAT(Wait(b_, captures_.Record(a_)), IsOk());
  captures_.Leave(a_);
  EXPECT_EQ(captures_.open(), 0);
  EXPECT_EQ(b_.capture, nullptr);
}

TEST_F(CaptureTest, EndingOnAStreamThatJoinedSpoilsIt) {
  Begin(a_);
  ASSERT_THAT(Wait(b_, captures_.Record(a_)), IsOk());
  EXPECT_EQ(EndCode(b_), ErrorCode::kCaptureUnmatched);
  EXPECT_EQ(EndCode(a_), ErrorCode::kCaptureInvalidated);
}

}  // namespace
}  // namespace graphtree::host
