// What a capture forbids: the code, the sentence, the state afterwards, and that nothing else
// breaks.
#include <memory>
#include <thread>

#include "tests/conformance/conformance.h"
#include "tests/conformance/native_calls.h"

namespace graphtree {
namespace {

class CaptureErrorsTest : public ConformanceTest {
 protected:
  CaptureState StateOf(Stream& stream) {
    const absl::StatusOr<CaptureInfo> info = stream.Capture();
    EXPECT_THAT(info, IsOk());
    return info.ok() ? info->state : CaptureState::kNone;
  }
  void Begin(Stream& stream) {
    EXPECT_THAT(stream.BeginCapture(CaptureMode::kThreadLocal), IsOk());
    EXPECT_THAT(Empty(stream), IsOk());
  }
  // The forbidden call broke the capture: it says so, ends with an error, and the stream works on.
  void ExpectInvalidated(Stream& stream) {
    EXPECT_EQ(StateOf(stream), CaptureState::kInvalidated);
    EXPECT_THAT(Empty(stream), HasError(ErrorCode::kCaptureInvalidated, ""));
    EXPECT_THAT(stream.EndCapture(), HasError(ErrorCode::kCaptureInvalidated, ""));
    ExpectWorks(stream);
  }
  void ExpectWorks(Stream& stream) {
    EXPECT_EQ(StateOf(stream), CaptureState::kNone);
    const AddressRange log = NewLog();
    EXPECT_THAT(Append(stream, log, 1), IsOk());
    EXPECT_THAT(stream.Synchronize(), IsOk());
    EXPECT_EQ(ReadLog(log), LogOf({1}));
  }
  // The call was refused and the capture goes on.
  void ExpectIntact(Stream& stream) {
    EXPECT_EQ(StateOf(stream), CaptureState::kActive);
    EXPECT_THAT(Empty(stream), IsOk());
    EXPECT_THAT(stream.EndCapture(), IsOk());
    ExpectWorks(stream);
  }
};
GRAPHTREE_ON_EVERY_DEVICE(CaptureErrorsTest);

TEST_P(CaptureErrorsTest, SynchronizingItsStream) {
  Begin(a());
  EXPECT_THAT(a().Synchronize(), HasError(ErrorCode::kCaptureUnsupported, "stream"));
  ExpectInvalidated(a());
}

TEST_P(CaptureErrorsTest, QueryingItsStream) {
  Begin(a());
  EXPECT_THAT(a().IsDone(), HasError(ErrorCode::kCaptureUnsupported, "stream"));
  ExpectInvalidated(a());
}

TEST_P(CaptureErrorsTest, SynchronizingAnEventOfIt) {
  Begin(a());
  EXPECT_THAT(a().Record(event()), IsOk());
  EXPECT_THAT(event().Synchronize(), HasError(ErrorCode::kCapturedEvent, "event"));
  ExpectInvalidated(a());
}

TEST_P(CaptureErrorsTest, QueryingAnEventOfIt) {
  Begin(a());
  EXPECT_THAT(a().Record(event()), IsOk());
  EXPECT_THAT(event().IsDone(), HasError(ErrorCode::kCapturedEvent, "event"));
  ExpectInvalidated(a());
}

TEST_P(CaptureErrorsTest, QueryingAnEventOfOneThatHasEnded) {
  Begin(a());
  EXPECT_THAT(a().Record(event()), IsOk());
  EXPECT_THAT(a().EndCapture(), IsOk());
  EXPECT_THAT(event().IsDone(), HasError(ErrorCode::kInvalidValue, "event"));
  EXPECT_THAT(event().Synchronize(), HasError(ErrorCode::kInvalidValue, "event"));
  ExpectWorks(a());
}

TEST_P(CaptureErrorsTest, WaitingForAnEventOfOneThatHasEnded) {
  Begin(a());
  EXPECT_THAT(a().Record(event()), IsOk());
  EXPECT_THAT(a().EndCapture(), IsOk());
  EXPECT_THAT(b().Wait(event()), HasError(ErrorCode::kInvalidValue, "event"));
  ExpectWorks(b());
}

TEST_P(CaptureErrorsTest, WaitingInOneForAnEventOfOneThatHasEnded) {
  Begin(b());
  EXPECT_THAT(b().Record(event()), IsOk());
  EXPECT_THAT(b().EndCapture(), IsOk());
  Begin(a());
  EXPECT_THAT(a().Wait(event()), HasError(ErrorCode::kInvalidValue, "event"));
  ExpectInvalidated(a());
}

TEST_P(CaptureErrorsTest, TimingAnEventOfIt) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> start, device().NewEvent({.timing = true}));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> end, device().NewEvent({.timing = true}));
  ASSERT_THAT(b().Record(*start), IsOk());
  Begin(a());
  EXPECT_THAT(a().Record(*end), IsOk());
  EXPECT_THAT(end->NanosecondsSince(*start), HasError(ErrorCode::kCapturedEvent, "event"));
  ExpectIntact(a());
}

TEST_P(CaptureErrorsTest, WaitingForAnEventFromOutside) {
  ASSERT_THAT(Empty(b()), IsOk());
  ASSERT_THAT(b().Record(event()), IsOk());
  Begin(a());
  EXPECT_THAT(a().Wait(event()), HasError(ErrorCode::kCaptureIsolation, "event"));
  ExpectInvalidated(a());
}

TEST_P(CaptureErrorsTest, MergingTwo) {
  Begin(a());
  Begin(b());
  EXPECT_THAT(a().Record(event()), IsOk());
  EXPECT_THAT(b().Wait(event()), HasError(ErrorCode::kCaptureMerge, "event"));
  ExpectInvalidated(a());
  ExpectInvalidated(b());
}

TEST_P(CaptureErrorsTest, BeginningAgain) {
  Begin(a());
  EXPECT_THAT(a().BeginCapture(CaptureMode::kThreadLocal),
              HasError(ErrorCode::kIllegalState, "captur"));
  ExpectIntact(a());
}

TEST_P(CaptureErrorsTest, BeginningOnAStreamThatItReached) {
  Begin(a());
  EXPECT_THAT(a().Record(event()), IsOk());
  EXPECT_THAT(b().Wait(event()), IsOk());
  EXPECT_THAT(b().BeginCapture(CaptureMode::kThreadLocal),
              HasError(ErrorCode::kIllegalState, "captur"));
  ExpectIntact(a());
}

TEST_P(CaptureErrorsTest, EndingWithoutABegin) {
  EXPECT_THAT(a().EndCapture(), HasError(ErrorCode::kIllegalState, "captur"));
  ExpectWorks(a());
}

TEST_P(CaptureErrorsTest, EndingTwice) {
  Begin(a());
  EXPECT_THAT(a().EndCapture(), IsOk());
  EXPECT_THAT(a().EndCapture(), HasError(ErrorCode::kIllegalState, "captur"));
  ExpectWorks(a());
}

TEST_P(CaptureErrorsTest, EndingOnAnotherThread) {
  Begin(a());
  std::thread([&] {
    EXPECT_THAT(a().EndCapture(), HasError(ErrorCode::kCaptureWrongThread, "captur"));
  }).join();
  EXPECT_EQ(device().open_captures(), 0);
  ExpectWorks(a());
}

TEST_P(CaptureErrorsTest, EndingOnAStreamThatDidNotBeginIt) {
  Begin(a());
  EXPECT_THAT(a().Record(event()), IsOk());
  EXPECT_THAT(b().Wait(event()), IsOk());
  EXPECT_THAT(b().EndCapture(), HasError(ErrorCode::kCaptureUnmatched, "captur"));
  EXPECT_EQ(device().open_captures(), 1);
  EXPECT_THAT(a().EndCapture(), HasError(ErrorCode::kCaptureInvalidated, ""));
  ExpectWorks(a());
  ExpectWorks(b());
}

TEST_P(CaptureErrorsTest, EndingWithUnjoinedWork) {
  Begin(a());
  EXPECT_THAT(a().Record(event()), IsOk());
  EXPECT_THAT(b().Wait(event()), IsOk());
  EXPECT_THAT(Empty(b()), IsOk());
  EXPECT_THAT(a().EndCapture(), HasError(ErrorCode::kCaptureUnjoined, "captur"));
  EXPECT_EQ(device().open_captures(), 0);
  ExpectWorks(a());
  ExpectWorks(b());
}

TEST_P(CaptureErrorsTest, EndingWithWorkThatCameAfterTheJoin) {
  Begin(a());
  EXPECT_THAT(a().Record(event()), IsOk());
  EXPECT_THAT(b().Wait(event()), IsOk());
  EXPECT_THAT(Empty(b()), IsOk());
  EXPECT_THAT(b().Record(other_event()), IsOk());
  EXPECT_THAT(a().Wait(other_event()), IsOk());
  EXPECT_THAT(Empty(b()), IsOk());
  EXPECT_THAT(a().EndCapture(), HasError(ErrorCode::kCaptureUnjoined, "captur"));
  ExpectWorks(a());
  ExpectWorks(b());
}

TEST_P(CaptureErrorsTest, SynchronizingAStreamThatItReached) {
  Begin(a());
  EXPECT_THAT(a().Record(event()), IsOk());
  EXPECT_THAT(b().Wait(event()), IsOk());
  EXPECT_THAT(b().Synchronize(), HasError(ErrorCode::kCaptureUnsupported, "stream"));
  EXPECT_EQ(StateOf(b()), CaptureState::kInvalidated);
  ExpectInvalidated(a());
  ExpectWorks(b());
}

TEST_P(CaptureErrorsTest, ALaunchThatIsRefusedLeavesItIntact) {
  Begin(a());
  EXPECT_THAT(a().Launch(IncrementKernel(), TestShape(), {}),
              HasError(ErrorCode::kInvalidValue, "takes 3 arguments, got 0"));
  ExpectIntact(a());
}

TEST_P(CaptureErrorsTest, AMemoryCallThatIsRefusedLeavesItIntact) {
  Begin(a());
  EXPECT_THAT(memory().Map(granularity(), *memory().Create(granularity()).value()),
              HasError(ErrorCode::kInvalidValue, "reserved"));
  ExpectIntact(a());
}

TEST_P(CaptureErrorsTest, CopyingOrdinaryHostMemory) {
  std::vector<uint32_t> ordinary(16, 1);
  const AddressRange words = NewWords(16);
  Begin(a());
  EXPECT_THAT(a().Copy(words.base, AddressOf(ordinary.data()), words.bytes),
              HasError(ErrorCode::kCaptureUnsupported, "page-locked"));
  EXPECT_THAT(a().Copy(AddressOf(ordinary.data()), words.base, words.bytes),
              HasError(ErrorCode::kCaptureUnsupported, "page-locked"));
  ExpectIntact(a());
}

// By code that knows nothing of the device, in the thread that captures.
TEST_P(CaptureErrorsTest, AllocatingPastTheDevice) {
  const std::unique_ptr<NativeCalls> native = GetParam().native_calls(device());
  EXPECT_THAT(native->Allocate(4096), IsOk());
  Begin(a());
  EXPECT_THAT(native->Allocate(4096), HasError(ErrorCode::kCaptureUnsupported, "4096 bytes"));
  ExpectInvalidated(a());
  EXPECT_THAT(a().BeginCapture(CaptureMode::kRelaxed), IsOk());
  EXPECT_THAT(Empty(a()), IsOk());
  EXPECT_THAT(native->Allocate(4096), IsOk());
  ExpectIntact(a());
}

TEST_P(CaptureErrorsTest, AllocatingPastTheDeviceOnAnotherThread) {
  const std::unique_ptr<NativeCalls> native = GetParam().native_calls(device());
  Begin(a());
  std::thread([&] { EXPECT_THAT(native->Allocate(4096), IsOk()); }).join();
  ExpectIntact(a());
}

TEST_P(CaptureErrorsTest, TheFrontierOutsideOfOne) {
  EXPECT_THAT(a().CaptureFrontier(), HasError(ErrorCode::kIllegalState, "captur"));
  EXPECT_THAT(a().CapturedOps(), HasError(ErrorCode::kIllegalState, "captur"));
  EXPECT_THAT(a().CapturedOpCount(), HasError(ErrorCode::kIllegalState, "captur"));
}

TEST_P(CaptureErrorsTest, DestroyingAStreamInTheMiddleOfIt) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Stream> brief, device().NewStream());
  Begin(*brief);
  brief.reset();
  EXPECT_EQ(device().open_captures(), 0);
  ExpectWorks(a());
}

TEST_P(CaptureErrorsTest, OneBrokenCaptureLeavesAnotherIntact) {
  Begin(a());
  Begin(b());
  EXPECT_THAT(b().Synchronize(), HasError(ErrorCode::kCaptureUnsupported, "stream"));
  ExpectInvalidated(b());
  ExpectIntact(a());
}

TEST_P(CaptureErrorsTest, BeginningOneInAModeThatIsNone) {
  EXPECT_THAT(a().BeginCapture(static_cast<CaptureMode>(3)),
              HasError(ErrorCode::kInvalidValue, "in mode 3, and there is none with that number"));
  EXPECT_EQ(device().open_captures(), 0);
  ExpectWorks(a());
}

}  // namespace
}  // namespace graphtree
