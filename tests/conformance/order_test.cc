// Order: within a stream, between streams through events, and its absence where nothing asks for
// it.
#include <atomic>

#include "tests/conformance/conformance.h"

namespace graphtree {
namespace {

// Long enough that work queued behind it is still queued when the next host call is made.
constexpr uint32_t kDelayMicroseconds = 30000;

class OrderTest : public ConformanceTest {};
GRAPHTREE_ON_EVERY_DEVICE(OrderTest);

TEST_P(OrderTest, AStreamKeepsItsOrder) {
  const AddressRange log = NewLog();
  std::vector<uint64_t> ids;
  for (uint64_t id = 1; id <= 50; ++id) {
    ids.push_back(id);
    ASSERT_THAT(Append(a(), log, id), IsOk());
  }
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf(ids));
}

TEST_P(OrderTest, KindsOfWorkKeepTheirOrderToo) {
  const AddressRange words = NewWordsWith(std::vector<uint32_t>(64, 0));
  const AddressRange copy = NewWords(64);
  std::atomic<int> calls{0};
  ASSERT_THAT(a().Fill(words.base, 7, 4, 64), IsOk());
  ASSERT_THAT(Increment(a(), words, 1), IsOk());
  ASSERT_THAT(a().CallHost([&] { ++calls; }), IsOk());
  ASSERT_THAT(a().Copy(copy.base, words.base, words.bytes), IsOk());
  ASSERT_THAT(a().Fill(words.base, 0, 1, words.bytes), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(Read(copy), std::vector<uint32_t>(64, 8));
  EXPECT_EQ(Read(words), std::vector<uint32_t>(64, 0));
}

TEST_P(OrderTest, AnEventOrdersTwoStreams) {
  const AddressRange log = NewLog();
  ASSERT_THAT(Delay(a(), kDelayMicroseconds), IsOk());
  ASSERT_THAT(Append(a(), log, 1), IsOk());
  ASSERT_THAT(a().Record(event()), IsOk());
  ASSERT_THAT(b().Wait(event()), IsOk());
  ASSERT_THAT(Append(b(), log, 2), IsOk());
  ASSERT_THAT(b().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
}

TEST_P(OrderTest, EventsOrderAChainOverThreeStreams) {
  const AddressRange log = NewLog();
  std::vector<uint64_t> ids;
  Stream* const streams[] = {&a(), &b(), &c()};
  for (uint64_t id = 1; id <= 30; ++id) {
    Stream& on = *streams[id % 3];
    if (id > 1) {
      ASSERT_THAT(on.Wait(event()), IsOk());
    }
    ASSERT_THAT(Append(on, log, id), IsOk());
    ASSERT_THAT(on.Record(event()), IsOk());
    ids.push_back(id);
  }
  ASSERT_THAT(event().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf(ids));
}

TEST_P(OrderTest, AWaitIsForTheRecordThatCameBeforeIt) {
  const AddressRange log = NewLog();
  ASSERT_THAT(Append(a(), log, 1), IsOk());
  ASSERT_THAT(a().Record(event()), IsOk());
  ASSERT_THAT(b().Wait(event()), IsOk());
  ASSERT_THAT(Append(b(), log, 2), IsOk());
  ASSERT_THAT(b().Record(other_event()), IsOk());
  ASSERT_THAT(a().Wait(other_event()), IsOk());
  ASSERT_THAT(a().Record(event()), IsOk());
  ASSERT_THAT(Append(a(), log, 3), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2, 3}));
}

TEST_P(OrderTest, AFreshEventIsDoneAndWaitedForInNoTime) {
  ASSERT_OK_AND_ASSIGN(const bool done, event().IsDone());
  EXPECT_TRUE(done);
  EXPECT_THAT(event().Synchronize(), IsOk());
  EXPECT_THAT(a().Wait(event()), IsOk());
  EXPECT_THAT(a().Synchronize(), IsOk());
}

TEST_P(OrderTest, AnEventIsDoneOnceItsWorkIs) {
  std::atomic<bool> go{false};
  if (GetParam().concurrent) {
    ASSERT_THAT(a().CallHost([&] {
      while (!go) continue;
    }),
                IsOk());
    ASSERT_THAT(a().Record(event()), IsOk());
    ASSERT_OK_AND_ASSIGN(const bool early, event().IsDone());
    EXPECT_FALSE(early);
    ASSERT_OK_AND_ASSIGN(const bool stream_early, a().IsDone());
    EXPECT_FALSE(stream_early);
  }
  go = true;
  ASSERT_THAT(a().Record(event()), IsOk());
  ASSERT_THAT(event().Synchronize(), IsOk());
  ASSERT_OK_AND_ASSIGN(const bool done, event().IsDone());
  EXPECT_TRUE(done);
  ASSERT_THAT(a().Synchronize(), IsOk());
  ASSERT_OK_AND_ASSIGN(const bool stream_done, a().IsDone());
  EXPECT_TRUE(stream_done);
}

TEST_P(OrderTest, PollingAnEventEndsWithoutASynchronize) {
  ASSERT_THAT(Empty(a()), IsOk());
  ASSERT_THAT(a().Record(event()), IsOk());
  for (int i = 0; i < 100000000; ++i) {
    ASSERT_OK_AND_ASSIGN(const bool done, event().IsDone());
    if (done) return;
  }
  FAIL() << "the event never became done";
}

TEST_P(OrderTest, AnEventMayBeDestroyedWhileItsWaitIsQueued) {
  const AddressRange log = NewLog();
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Event> brief, device().NewEvent({}));
  ASSERT_THAT(Delay(a(), kDelayMicroseconds), IsOk());
  ASSERT_THAT(Append(a(), log, 1), IsOk());
  ASSERT_THAT(a().Record(*brief), IsOk());
  ASSERT_THAT(b().Wait(*brief), IsOk());
  brief.reset();
  ASSERT_THAT(Append(b(), log, 2), IsOk());
  ASSERT_THAT(b().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
}

TEST_P(OrderTest, AStreamMayBeDestroyedWhileItsWorkIsQueued) {
  const AddressRange log = NewLog();
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Stream> brief, device().NewStream());
  ASSERT_THAT(Delay(*brief, 1000), IsOk());
  ASSERT_THAT(Append(*brief, log, 9), IsOk());
  ASSERT_THAT(brief->Record(event()), IsOk());
  brief.reset();
  ASSERT_THAT(event().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({9}));
}

TEST_P(OrderTest, TimedEventsTellHowLongWorkTook) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> start, device().NewEvent({.timing = true}));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> end, device().NewEvent({.timing = true}));
  ASSERT_THAT(a().Record(*start), IsOk());
  ASSERT_THAT(Delay(a(), 2000), IsOk());
  ASSERT_THAT(a().Record(*end), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  ASSERT_OK_AND_ASSIGN(const double nanoseconds, end->NanosecondsSince(*start));
  EXPECT_GE(nanoseconds, 1.9e6);
  EXPECT_LE(nanoseconds, 5e9);
}

TEST_P(OrderTest, TimingNeedsEventsThatWereMadeForIt) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> timed, device().NewEvent({.timing = true}));
  ASSERT_THAT(a().Record(*timed), IsOk());
  ASSERT_THAT(a().Record(event()), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_THAT(event().NanosecondsSince(*timed), HasError(ErrorCode::kInvalidHandle, "timing"));
  EXPECT_THAT(timed->NanosecondsSince(event()), HasError(ErrorCode::kInvalidHandle, "timing"));
}

TEST_P(OrderTest, TimingNeedsEventsThatWereRecorded) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> start, device().NewEvent({.timing = true}));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> end, device().NewEvent({.timing = true}));
  ASSERT_THAT(a().Record(*start), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_THAT(end->NanosecondsSince(*start), HasError(ErrorCode::kInvalidHandle, "recorded"));
}

TEST_P(OrderTest, TimingOfWorkThatIsNotDoneIsNotReady) {
  if (!GetParam().concurrent) GTEST_SKIP() << "no work is under way while the caller looks";
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> start, device().NewEvent({.timing = true}));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> end, device().NewEvent({.timing = true}));
  std::atomic<bool> go{false};
  ASSERT_THAT(a().Record(*start), IsOk());
  ASSERT_THAT(a().CallHost([&] {
    while (!go) continue;
  }),
              IsOk());
  ASSERT_THAT(a().Record(*end), IsOk());
  EXPECT_THAT(end->NanosecondsSince(*start), HasError(ErrorCode::kNotReady, "not done"));
  go = true;
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_THAT(end->NanosecondsSince(*start), IsOk());
}

TEST_P(OrderTest, AnotherDevicesEventIsRefused) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Device> other, GetParam().open());
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> foreign, other->NewEvent({}));
    EXPECT_THAT(a().Record(*foreign), HasError(ErrorCode::kInvalidHandle, "another device"));
    EXPECT_THAT(a().Wait(*foreign), HasError(ErrorCode::kInvalidHandle, "another device"));
  }
  EXPECT_THAT(other->Close(), IsOk());
}

}  // namespace
}  // namespace graphtree
