// Streams that are destroyed while their work is under way: it is done all the same, and whoever
// held the stream's life can order work after it, wait for it, and ask for it.
#include <memory>
#include <thread>
#include <utility>

#include "device/stream_life.h"
#include "tests/conformance/conformance.h"

namespace graphtree {
namespace {

constexpr uint32_t kDelayMicroseconds = 20000;

class StreamLifeTest : public ConformanceTest {
 protected:
  std::unique_ptr<Stream> NewStream() {
    auto stream = device().NewStream();
    EXPECT_THAT(stream, IsOk());
    return *std::move(stream);
  }
  // The life of a stream that is gone, and that has appended `id` behind a delay.
  std::shared_ptr<StreamLife> GoneBehind(AddressRange log, uint64_t id) {
    const std::unique_ptr<Stream> stream = NewStream();
    const std::shared_ptr<StreamLife> life = stream->life();
    EXPECT_FALSE(life->has_ended());
    EXPECT_THAT(Delay(*stream, kDelayMicroseconds), IsOk());
    EXPECT_THAT(Append(*stream, log, id), IsOk());
    return life;
  }
};
GRAPHTREE_ON_EVERY_DEVICE(StreamLifeTest);

TEST_P(StreamLifeTest, WorkIsOrderedAfterOneThatIsGone) {
  const AddressRange log = NewLog();
  const std::shared_ptr<StreamLife> life = GoneBehind(log, 1);
  EXPECT_TRUE(life->has_ended());
  EXPECT_THAT(life->Await(event(), a()), IsOk());
  ASSERT_THAT(Append(a(), log, 2), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
}

TEST_P(StreamLifeTest, AndAfterOneThatIsThere) {
  const AddressRange log = NewLog();
  ASSERT_THAT(Delay(b(), kDelayMicroseconds), IsOk());
  ASSERT_THAT(Append(b(), log, 1), IsOk());
  EXPECT_THAT(b().life()->Await(event(), a()), IsOk());
  ASSERT_THAT(Append(a(), log, 2), IsOk());
  EXPECT_THAT(a().life()->Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
  EXPECT_THAT(b().life()->Use([](Stream& stream) { return stream.Synchronize(); }), IsOk());
}

TEST_P(StreamLifeTest, OneThatIsGoneCanBeWaitedForAndAsked) {
  const AddressRange log = NewLog();
  std::shared_ptr<StreamLife> life = GoneBehind(log, 7);
  EXPECT_THAT(life->Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({7}));
  life = GoneBehind(log, 8);
  for (;;) {
    const absl::StatusOr<bool> done = life->IsDone();
    ASSERT_THAT(done, IsOk());
    if (*done) break;
  }
  EXPECT_EQ(ReadLog(log), LogOf({7, 8}));
  EXPECT_FALSE(life->Use([](Stream&) { return absl::OkStatus(); }).ok());
  const absl::StatusOr<CaptureInfo> capture = life->Capture();
  ASSERT_THAT(capture, IsOk());
  EXPECT_EQ(capture->state, CaptureState::kNone);
}

TEST_P(StreamLifeTest, ACaptureThatItHasBegunEndsWithIt) {
  const AddressRange log = NewLog();
  std::unique_ptr<Stream> stream = NewStream();
  const std::shared_ptr<StreamLife> life = stream->life();
  ASSERT_THAT(Delay(*stream, kDelayMicroseconds), IsOk());
  ASSERT_THAT(Append(*stream, log, 1), IsOk());
  ASSERT_THAT(stream->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  stream = nullptr;
  EXPECT_EQ(device().open_captures(), 0);
  EXPECT_THAT(life->Await(event(), a()), IsOk());
  ASSERT_THAT(Append(a(), log, 2), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
}

// Its work is the graph's: an edge inside, and outside of it nothing that could be waited for.
TEST_P(StreamLifeTest, AForkThatIsGoneIsAwaitedInItsCapture) {
  const AddressRange log = NewLog();
  std::shared_ptr<StreamLife> life;
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    std::unique_ptr<Stream> fork = NewStream();
    ASSERT_THAT(a().Record(event()), IsOk());
    ASSERT_THAT(fork->Wait(event()), IsOk());
    ASSERT_THAT(Append(*fork, log, 1), IsOk());
    life = fork->life();
    fork = nullptr;
    EXPECT_NE(life->ended_in(), 0u);
    EXPECT_THAT(life->Await(event(), a()), IsOk());
    ASSERT_THAT(Append(a(), log, 2), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  Replay(*executable);
  EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
  EXPECT_THAT(life->Await(event(), b()),
              FailsWith(absl::StatusCode::kFailedPrecondition, "within a capture"));
}

// Neither the one who waits nor the capture is harmed.
TEST_P(StreamLifeTest, AStreamThatCapturesTakesNobodyIntoItsCapture) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    ASSERT_THAT(Append(a(), log, 1), IsOk());
    std::thread([&] {
      EXPECT_THAT(a().life()->Await(event(), b()),
                  FailsWith(absl::StatusCode::kFailedPrecondition, "captures now"));
      EXPECT_THAT(a().life()->Record(event()),
                  FailsWith(absl::StatusCode::kFailedPrecondition, "captures now"));
      EXPECT_FALSE(b().IsCapturing());
      EXPECT_THAT(Append(b(), log, 2), IsOk());
      EXPECT_THAT(b().Synchronize(), IsOk());
    }).join();
  });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  Replay(*executable);
  EXPECT_EQ(ReadLog(log), LogOf({2, 1}));
}

// A stream whose life is held leaves an event where its capture begins.
TEST_P(StreamLifeTest, WorkBeforeACaptureIsAwaitedWhileThatIsOpen) {
  const AddressRange log = NewLog();
  const std::shared_ptr<StreamLife> life = a().life();
  ASSERT_THAT(Delay(a(), kDelayMicroseconds), IsOk());
  ASSERT_THAT(Append(a(), log, 1), IsOk());
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    ASSERT_THAT(Append(a(), log, 3), IsOk());
    std::thread([&] {
      EXPECT_THAT(life->Await(event(), b()), IsOk());
      EXPECT_FALSE(b().IsCapturing());
      EXPECT_THAT(Append(b(), log, 2), IsOk());
      EXPECT_THAT(b().Synchronize(), IsOk());
    }).join();
  });
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  Replay(*executable);
  EXPECT_EQ(ReadLog(log), LogOf({1, 2, 3}));
}

TEST_P(StreamLifeTest, TheHostWaitsForItToo) {
  const AddressRange log = NewLog();
  const std::shared_ptr<StreamLife> life = a().life();
  for (const bool captures : {true, false}) {
    const uint64_t id = captures ? 1 : 2;
    ASSERT_THAT(Delay(a(), kDelayMicroseconds), IsOk());
    ASSERT_THAT(Append(a(), log, id), IsOk());
    const auto wait = [&] {
      std::thread([&] { EXPECT_THAT(life->AwaitOnHost(event()), IsOk()); }).join();
    };
    if (captures) {
      EXPECT_NE(CaptureOn(a(), wait), nullptr) << "the wait broke the capture";
    } else {
      wait();
    }
  }
  EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
  const std::shared_ptr<StreamLife> gone = GoneBehind(log, 3);
  EXPECT_THAT(gone->AwaitOnHost(event()), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2, 3}));
}

// Each capture has an event of its own: what came between two of them is awaited, too.
TEST_P(StreamLifeTest, WorkBetweenTwoCapturesIsAwaitedInTheSecond) {
  const AddressRange log = NewLog();
  const std::shared_ptr<StreamLife> life = a().life();
  ASSERT_NE(CaptureOn(a(), [] {}), nullptr);
  ASSERT_THAT(Delay(a(), kDelayMicroseconds), IsOk());
  ASSERT_THAT(Append(a(), log, 1), IsOk());
  EXPECT_NE(CaptureOn(a(), [&] { EXPECT_THAT(life->Await(event(), b()), IsOk()); }), nullptr);
  ASSERT_THAT(Append(b(), log, 2), IsOk());
  ASSERT_THAT(b().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
}

// It has begun no capture, so nothing of it was left behind.
TEST_P(StreamLifeTest, AStreamThatJoinsACaptureIsNotAwaitedOutsideOfIt) {
  const std::shared_ptr<StreamLife> life = b().life();
  const std::unique_ptr<Stream> other = NewStream();
  EXPECT_NE(CaptureOn(a(), [&] {
    ASSERT_THAT(a().Record(event()), IsOk());
    ASSERT_THAT(b().Wait(event()), IsOk());
    const std::unique_ptr<Event> mark = *device().NewEvent({});
    std::thread([&] {
      EXPECT_THAT(life->Await(*mark, *other),
                  FailsWith(absl::StatusCode::kFailedPrecondition, "captures now"));
      EXPECT_THAT(life->AwaitOnHost(*mark),
                  FailsWith(absl::StatusCode::kFailedPrecondition, "captures now"));
    }).join();
    ASSERT_THAT(life->Await(*mark, a()), IsOk());
  }), nullptr);
}

TEST_P(StreamLifeTest, NorDoesOneCaptureAwaitAnother) {
  const std::shared_ptr<StreamLife> life = b().life();
  ASSERT_THAT(b().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_NE(CaptureOn(a(), [&] {
    EXPECT_THAT(life->Await(event(), a()),
                FailsWith(absl::StatusCode::kFailedPrecondition, "captures now"));
  }), nullptr);
  EXPECT_THAT(b().EndCapture(), IsOk());
}

// Its own stream goes on, and may capture.
TEST_P(StreamLifeTest, OfWorkSoFarKnowsNothingOfLaterWork) {
  const AddressRange log = NewLog();
  ASSERT_THAT(Delay(a(), kDelayMicroseconds), IsOk());
  ASSERT_THAT(Append(a(), log, 1), IsOk());
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Event> mark, device().NewEvent({}));
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<StreamLife> work,
                       StreamLife::OfWorkSoFar(a(), std::move(mark)));
  EXPECT_TRUE(work->has_ended());
  EXPECT_EQ(work->ended_in(), 0u);
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    ASSERT_THAT(Append(a(), log, 3), IsOk());
    std::thread([&] {
      EXPECT_THAT(work->Await(event(), b()), IsOk());
      EXPECT_FALSE(b().IsCapturing());
      EXPECT_THAT(Append(b(), log, 2), IsOk());
      EXPECT_THAT(b().Synchronize(), IsOk());
    }).join();
  });
  ASSERT_NE(graph, nullptr);
  EXPECT_THAT(work->Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
}

}  // namespace
}  // namespace graphtree
