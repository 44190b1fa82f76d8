// Events out of the middle of a graph: each launch sets them anew, and they are done while the rest
// of the graph still runs.
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "tests/conformance/conformance.h"

namespace graphtree {
namespace {

class ExternalEventTest : public ConformanceTest {
 protected:
  // A host call of a graph that does not return before `go_`, where work may be held up.
  absl::Status Hold(Stream& on) {
    if (!GetParam().concurrent) return Empty(on);
    return on.CallHost([this] {
      while (!go_) continue;
    });
  }
  bool IsDone(Event& asked) {
    const absl::StatusOr<bool> done = asked.IsDone();
    EXPECT_THAT(done, IsOk());
    return done.ok() && *done;
  }

  std::atomic<bool> go_{false};
};
GRAPHTREE_ON_EVERY_DEVICE(ExternalEventTest);

TEST_P(ExternalEventTest, TheEventIsDoneBeforeTheGraphIs) {
  const AddressRange input = NewWordsWith(std::vector<uint32_t>(64, 5));
  const AddressRange used = NewWords(64);
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    ASSERT_THAT(a().Copy(used.base, input.base, input.bytes), IsOk());
    ASSERT_THAT(a().RecordExternal(event()), IsOk());
    ASSERT_THAT(Hold(a()), IsOk());
    ASSERT_THAT(Append(a(), log, 1), IsOk());
  });
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  ASSERT_THAT(executable->Launch(a()), IsOk());
  // The input is written anew while the graph goes on.
  ASSERT_THAT(b().Wait(event()), IsOk());
  ASSERT_THAT(b().Fill(input.base, 9, 4, 64), IsOk());
  ASSERT_THAT(b().Synchronize(), IsOk());
  ASSERT_THAT(event().Synchronize(), IsOk());
  EXPECT_TRUE(IsDone(event()));
  if (GetParam().concurrent) {
    ASSERT_OK_AND_ASSIGN(const bool over, a().IsDone());
    EXPECT_FALSE(over) << "the graph is held up behind its event";
  }
  go_ = true;
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(Read(used), std::vector<uint32_t>(64, 5));
  EXPECT_EQ(Read(input), std::vector<uint32_t>(64, 9));
  EXPECT_EQ(ReadLog(log), LogOf({1}));
}

TEST_P(ExternalEventTest, EveryReplaySetsItAnew) {
  const AddressRange log = NewLog();
  const AddressRange beside = NewLog();
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    ASSERT_THAT(Delay(a(), 2000), IsOk());
    ASSERT_THAT(Append(a(), log, 1), IsOk());
    ASSERT_THAT(a().RecordExternal(event()), IsOk());
    ASSERT_THAT(Append(a(), beside, 3), IsOk());
  });
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(executable->Launch(a()), IsOk());
    ASSERT_THAT(b().Wait(event()), IsOk());
    ASSERT_THAT(Append(b(), log, 2), IsOk());
    ASSERT_THAT(b().Record(other_event()), IsOk());
    ASSERT_THAT(a().Wait(other_event()), IsOk());
  }
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(ReadLog(beside), LogOf({3, 3, 3}));
}

TEST_P(ExternalEventTest, FromItsLaunchOnTheEventStandsForTheReplay) {
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    ASSERT_THAT(Hold(a()), IsOk());
    ASSERT_THAT(a().RecordExternal(event()), IsOk());
  });
  EXPECT_TRUE(IsDone(event())) << "capturing leaves the event as it was";
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  EXPECT_TRUE(IsDone(event())) << "and so does instantiating";
  for (int i = 0; i < 2; ++i) {
    go_ = false;
    ASSERT_THAT(executable->Launch(a()), IsOk());
    if (GetParam().concurrent) {
      EXPECT_FALSE(IsDone(event())) << "launch " << i;
    }
    go_ = true;
    ASSERT_THAT(event().Synchronize(), IsOk());
    EXPECT_TRUE(IsDone(event()));
  }
  ASSERT_THAT(a().Synchronize(), IsOk());
}

TEST_P(ExternalEventTest, TheEventMayBeAskedWhileItsCaptureIsOpen) {
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    ASSERT_THAT(a().RecordExternal(event()), IsOk());
    EXPECT_TRUE(IsDone(event()));
    EXPECT_THAT(event().Synchronize(), IsOk());
    ASSERT_THAT(Empty(a()), IsOk());
  });
  ASSERT_EQ(graph->ops().size(), 2u);
  EXPECT_EQ(graph->ops()[0].kind, OpKind::kEventRecord);
  EXPECT_EQ(graph->ops()[1].dependencies.size(), 1u);
}

TEST_P(ExternalEventTest, ItStandsForWhatWasLaunchedLast) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> held = CaptureOn(a(), [&] {
    ASSERT_THAT(Hold(a()), IsOk());
    ASSERT_THAT(a().RecordExternal(event()), IsOk());
  });
  const std::unique_ptr<Graph> free = CaptureOn(a(), [&] {
    ASSERT_THAT(Append(a(), log, 1), IsOk());
    ASSERT_THAT(a().RecordExternal(event()), IsOk());
  });
  const std::unique_ptr<Executable> first = InstantiateOf(*held);
  const std::unique_ptr<Executable> second = InstantiateOf(*free);
  ASSERT_THAT(first->Launch(a()), IsOk());
  ASSERT_THAT(c().Wait(event()), IsOk());
  ASSERT_THAT(second->Launch(b()), IsOk());
  ASSERT_THAT(event().Synchronize(), IsOk());
  EXPECT_TRUE(IsDone(event()));
  if (GetParam().concurrent) {
    ASSERT_OK_AND_ASSIGN(const bool over, c().IsDone());
    EXPECT_FALSE(over) << "a wait is for the launch that came before it";
  }
  go_ = true;
  ASSERT_THAT(a().Synchronize(), IsOk());
  ASSERT_THAT(c().Synchronize(), IsOk());
  // An ordinary record is no different.
  ASSERT_THAT(a().RecordExternal(event()), IsOk());
  ASSERT_THAT(event().Synchronize(), IsOk());
}

TEST_P(ExternalEventTest, ExecutablesOfOneGraphSetTheSameEvent) {
  const AddressRange log = NewLog();
  std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    ASSERT_THAT(Delay(a(), 1000), IsOk());
    ASSERT_THAT(Append(a(), log, 1), IsOk());
    ASSERT_THAT(a().RecordExternal(event()), IsOk());
  });
  std::vector<std::unique_ptr<Executable>> turns;
  turns.push_back(InstantiateOf(*graph));
  turns.push_back(InstantiateOf(*graph));
  for (int i = 0; i < 4; ++i) {
    if (i == 2) turns[0] = InstantiateOf(*graph);
    ASSERT_THAT(turns[i % 2]->Launch(a()), IsOk());
    ASSERT_THAT(b().Wait(event()), IsOk());
    ASSERT_THAT(Append(b(), log, 2), IsOk());
    ASSERT_THAT(b().Record(other_event()), IsOk());
    ASSERT_THAT(a().Wait(other_event()), IsOk());
    if (i == 1) {
      ASSERT_THAT(a().Synchronize(), IsOk());
    }
  }
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2, 1, 2, 1, 2, 1, 2}));
}

TEST_P(ExternalEventTest, AnUpdateSetsTheOtherGraphsEvent) {
  const auto capture = [&](Event& set) {
    return CaptureOn(a(), [&] {
      ASSERT_THAT(Hold(a()), IsOk());
      ASSERT_THAT(a().RecordExternal(set), IsOk());
    });
  };
  const std::unique_ptr<Graph> graph = capture(event());
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  {
    const std::unique_ptr<Graph> other = capture(other_event());
    ASSERT_OK_AND_ASSIGN(const UpdateResult updated, executable->Update(*other));
    ASSERT_EQ(updated, UpdateResult::kUpdated);
  }
  ASSERT_THAT(executable->Launch(a()), IsOk());
  EXPECT_TRUE(IsDone(event()));
  if (GetParam().concurrent) {
    EXPECT_FALSE(IsDone(other_event()));
  }
  go_ = true;
  ASSERT_THAT(other_event().Synchronize(), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
}

TEST_P(ExternalEventTest, AForkMaySetIt) {
  const AddressRange log = NewLog();
  const AddressRange beside = NewLog();
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> fork, device().NewEvent({}));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> join, device().NewEvent({}));
    ASSERT_THAT(Empty(a()), IsOk());
    ASSERT_THAT(a().Record(*fork), IsOk());
    ASSERT_THAT(b().Wait(*fork), IsOk());
    ASSERT_THAT(Append(b(), log, 1), IsOk());
    ASSERT_THAT(b().RecordExternal(event()), IsOk());
    ASSERT_THAT(Append(a(), beside, 3), IsOk());
    ASSERT_THAT(b().Record(*join), IsOk());
    ASSERT_THAT(a().Wait(*join), IsOk());
    ASSERT_THAT(Append(a(), beside, 4), IsOk());
  });
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  ASSERT_THAT(executable->Launch(a()), IsOk());
  ASSERT_THAT(c().Wait(event()), IsOk());
  ASSERT_THAT(Append(c(), log, 2), IsOk());
  ASSERT_THAT(c().Synchronize(), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
  EXPECT_EQ(ReadLog(beside), LogOf({3, 4}));
}

TEST_P(ExternalEventTest, TheEventMayGoBeforeItsGraph) {
  const AddressRange log = NewLog();
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Event> brief, device().NewEvent({}));
  std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    ASSERT_THAT(a().RecordExternal(*brief), IsOk());
    ASSERT_THAT(Append(a(), log, 1), IsOk());
  });
  brief = nullptr;
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  graph = nullptr;
  ASSERT_THAT(executable->Launch(a()), IsOk());
  ASSERT_THAT(executable->Launch(a()), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 1}));
}

TEST_P(ExternalEventTest, AWaitOutlivesTheExecutableAndItsEvent) {
  const AddressRange log = NewLog();
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Event> brief, device().NewEvent({}));
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    ASSERT_THAT(Delay(a(), 2000), IsOk());
    ASSERT_THAT(Append(a(), log, 1), IsOk());
    ASSERT_THAT(a().RecordExternal(*brief), IsOk());
  });
  std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  ASSERT_THAT(executable->Launch(a()), IsOk());
  ASSERT_THAT(b().Wait(*brief), IsOk());
  executable = nullptr;
  brief = nullptr;
  ASSERT_THAT(Append(b(), log, 2), IsOk());
  ASSERT_THAT(b().Synchronize(), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
}

TEST_P(ExternalEventTest, TimedEventsTellHowLongAPartOfAGraphTook) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> start, device().NewEvent({.timing = true}));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> end, device().NewEvent({.timing = true}));
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    ASSERT_THAT(a().RecordExternal(*start), IsOk());
    ASSERT_THAT(Delay(a(), 2000), IsOk());
    ASSERT_THAT(a().RecordExternal(*end), IsOk());
  });
  EXPECT_THAT(end->NanosecondsSince(*start), HasError(ErrorCode::kInvalidHandle, "recorded"));
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  Replay(*executable);
  ASSERT_OK_AND_ASSIGN(const double nanoseconds, end->NanosecondsSince(*start));
  EXPECT_GE(nanoseconds, 1.9e6);
  EXPECT_LE(nanoseconds, 5e9);
}

TEST_P(ExternalEventTest, ACaptureDoesNotWaitForItsOwn) {
  ASSERT_THAT(a().Record(event()), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  ASSERT_THAT(a().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(a().RecordExternal(event()), IsOk());
  EXPECT_THAT(a().Wait(event()), HasError(ErrorCode::kCaptureIsolation, "wait"));
  EXPECT_THAT(a().RecordExternal(event()), HasError(ErrorCode::kCaptureInvalidated, "recording"));
  EXPECT_FALSE(a().EndCapture().ok());
}

TEST_P(ExternalEventTest, AnotherDevicesEventIsRefused) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Device> other, GetParam().open());
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> foreign, other->NewEvent({}));
    const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
      EXPECT_THAT(a().RecordExternal(*foreign),
                  HasError(ErrorCode::kInvalidHandle, "another device"));
      ASSERT_THAT(Empty(a()), IsOk());
    });
    EXPECT_EQ(graph->op_count(), 1u);
  }
  EXPECT_THAT(other->Close(), IsOk());
}

}  // namespace
}  // namespace graphtree
