// Capture: work is recorded instead of run, with its arguments frozen and its order kept.
#include <atomic>
#include <set>
#include <thread>

#include "tests/conformance/conformance.h"

namespace graphtree {
namespace {

class CaptureTest : public ConformanceTest {
 protected:
  CaptureInfo InfoOf(Stream& stream) {
    const absl::StatusOr<CaptureInfo> info = stream.Capture();
    EXPECT_THAT(info, IsOk());
    return info.value_or(CaptureInfo{});
  }
  std::unique_ptr<Graph> End(Stream& stream) {
    absl::StatusOr<std::unique_ptr<Graph>> graph = stream.EndCapture();
    EXPECT_THAT(graph, IsOk());
    return graph.ok() ? *std::move(graph) : nullptr;
  }
};
GRAPHTREE_ON_EVERY_DEVICE(CaptureTest);

TEST_P(CaptureTest, CapturedWorkDoesNotRunUntilItIsLaunched) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Append(a(), log, 1), IsOk());
    EXPECT_THAT(Append(a(), log, 2), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), 0u);
  Replay(*InstantiateOf(*graph));
  EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
}

TEST_P(CaptureTest, ArgumentsAreFrozenWhenTheyAreCaptured) {
  const AddressRange words = NewWordsWith(std::vector<uint32_t>(16, 0));
  const AddressRange out = NewWords(512);
  BigTable table;
  for (uint32_t& word : table.words) word = 7;
  uint32_t by = 5;
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Increment(a(), words, by), IsOk());
    EXPECT_THAT(ReadBigTable(a(), out, table), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  by = 1000;
  for (uint32_t& word : table.words) word = 0;
  Replay(*InstantiateOf(*graph));
  EXPECT_EQ(Read(words), std::vector<uint32_t>(16, 5));
  EXPECT_EQ(Read({out.base, 4}), std::vector<uint32_t>{21});
}

TEST_P(CaptureTest, TheStateSaysWhatGoesOn) {
  EXPECT_EQ(InfoOf(a()).state, CaptureState::kNone);
  EXPECT_EQ(InfoOf(a()).id, 0u);
  EXPECT_EQ(device().open_captures(), 0);
  std::set<uint64_t> ids;
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(a().BeginCapture(CaptureMode::kThreadLocal), IsOk());
    const CaptureInfo info = InfoOf(a());
    EXPECT_EQ(info.state, CaptureState::kActive);
    EXPECT_TRUE(info.ours);
    EXPECT_NE(info.id, 0u);
    EXPECT_TRUE(ids.insert(info.id).second) << "capture id " << info.id << " came twice";
    EXPECT_EQ(device().open_captures(), 1);
    EXPECT_EQ(InfoOf(b()).state, CaptureState::kNone);
    End(a());
    EXPECT_EQ(device().open_captures(), 0);
  }
  EXPECT_EQ(InfoOf(a()).state, CaptureState::kNone);
}

TEST_P(CaptureTest, EveryModeRecords) {
  for (const CaptureMode mode :
       {CaptureMode::kGlobal, CaptureMode::kThreadLocal, CaptureMode::kRelaxed}) {
    const AddressRange log = NewLog();
    ASSERT_THAT(a().BeginCapture(mode), IsOk());
    EXPECT_THAT(Append(a(), log, 3), IsOk());
    const std::unique_ptr<Graph> graph = End(a());
    ASSERT_NE(graph, nullptr);
    Replay(*InstantiateOf(*graph));
    EXPECT_EQ(ReadLog(log), LogOf({3}));
  }
}

TEST_P(CaptureTest, ACaptureOfNothingIsAnEmptyGraph) {
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [] {});
  ASSERT_NE(graph, nullptr);
  EXPECT_TRUE(graph->ops().empty());
  Replay(*InstantiateOf(*graph));
}

TEST_P(CaptureTest, EventsCarryItToOtherStreamsAndBack) {
  const AddressRange x = NewWords(64), y = NewWords(64), sum = NewWords(64);
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(a().Record(event()), IsOk());
    EXPECT_THAT(b().Wait(event()), IsOk());
    EXPECT_EQ(InfoOf(b()).id, InfoOf(a()).id);
    EXPECT_EQ(device().open_captures(), 1);
    EXPECT_THAT(FillPattern(a(), x, 1), IsOk());
    EXPECT_THAT(FillPattern(b(), y, 2), IsOk());
    EXPECT_THAT(b().Record(other_event()), IsOk());
    EXPECT_THAT(a().Wait(other_event()), IsOk());
    EXPECT_THAT(Add(a(), sum, x, y), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(InfoOf(b()).state, CaptureState::kNone);
  Replay(*InstantiateOf(*graph));
  std::vector<uint32_t> wanted = Pattern(1, 64);
  for (uint32_t i = 0; i < 64; ++i) wanted[i] += PatternWord(2, i);
  EXPECT_EQ(Read(sum), wanted);
  EXPECT_THAT(FillPattern(b(), y, 3), IsOk()) << "the joined stream works again by itself";
  EXPECT_THAT(b().Synchronize(), IsOk());
  EXPECT_EQ(Read(y), Pattern(3, 64));
}

TEST_P(CaptureTest, AForkWithoutWorkOfItsOwnNeedsNoJoin) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Append(a(), log, 1), IsOk());
    EXPECT_THAT(a().Record(event()), IsOk());
    EXPECT_THAT(b().Wait(event()), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(InfoOf(b()).state, CaptureState::kNone);
}

TEST_P(CaptureTest, StreamsOutsideItWorkOn) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Empty(a()), IsOk());
    EXPECT_THAT(Append(c(), log, 1), IsOk());
    EXPECT_THAT(c().Record(other_event()), IsOk());
    EXPECT_THAT(b().Wait(other_event()), IsOk());
    EXPECT_THAT(Append(b(), log, 2), IsOk());
    EXPECT_THAT(b().Synchronize(), IsOk());
    EXPECT_THAT(other_event().Synchronize(), IsOk());
    EXPECT_THAT(other_event().IsDone(), IsOk());
    EXPECT_THAT(c().IsDone(), IsOk());
    EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
    EXPECT_THAT(Empty(a()), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(graph->ops().size(), 2u);
}

TEST_P(CaptureTest, ThingsMayBeMadeAndDroppedInOne) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> first = CaptureOn(a(), [&] { Append(a(), log, 4).IgnoreError(); });
  ASSERT_NE(first, nullptr);
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Empty(a()), IsOk());
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<Stream> stream, device().NewStream());
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> event, device().NewEvent({}));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<HostBuffer> host, memory().AllocateHost(64));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Executable> executable, first->Instantiate());
    EXPECT_THAT(executable->Launch(*stream), IsOk());
    EXPECT_THAT(stream->Synchronize(), IsOk());
    EXPECT_THAT(Empty(a()), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(graph->ops().size(), 2u);
  EXPECT_EQ(ReadLog(log), LogOf({4}));
}

TEST_P(CaptureTest, MemoryGrowsInsideOneInEveryMode) {
  for (const CaptureMode mode :
       {CaptureMode::kGlobal, CaptureMode::kThreadLocal, CaptureMode::kRelaxed}) {
    ASSERT_OK_AND_ASSIGN(const AddressRange range, memory().Reserve(granularity(), {}));
    ASSERT_THAT(a().BeginCapture(mode), IsOk());
    EXPECT_THAT(Empty(a()), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto physical, memory().Create(granularity()));
    EXPECT_THAT(memory().Map(range.base, *physical), IsOk());
    EXPECT_THAT(memory().SetAccess(range, MemoryAccess::kReadWrite), IsOk());
    EXPECT_THAT(memory().Info(), IsOk());
    EXPECT_THAT(FillPattern(a(), {range.base, 256}, 8), IsOk());
    const std::unique_ptr<Graph> graph = End(a());
    ASSERT_NE(graph, nullptr);
    EXPECT_EQ(graph->ops().size(), 2u);
    Replay(*InstantiateOf(*graph));
    EXPECT_EQ(Read({range.base, 256}), Pattern(8, 64));
    EXPECT_THAT(memory().Unmap(range), IsOk());
    EXPECT_THAT(memory().Release(range), IsOk());
  }
}

TEST_P(CaptureTest, KernelsAreLoadedInsideOne) {
  const Kernel fresh("fresh", AppendKernel().parameter_bytes(), AppendKernel().host(),
                     AppendKernel().cuda());
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(device().Load(fresh), IsOk());
    EXPECT_THAT(a().Launch(fresh, OneThread(), AppendArguments(log, 6)), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  Replay(*InstantiateOf(*graph));
  EXPECT_EQ(ReadLog(log), LogOf({6}));
}

TEST_P(CaptureTest, ARelaxedOneMayEndOnAnotherThread) {
  ASSERT_THAT(a().BeginCapture(CaptureMode::kRelaxed), IsOk());
  EXPECT_THAT(Empty(a()), IsOk());
  std::unique_ptr<Graph> graph;
  std::thread([&] { graph = End(a()); }).join();
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(graph->ops().size(), 1u);
}

TEST_P(CaptureTest, AnotherThreadMayRecordIntoIt) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Append(a(), log, 1), IsOk());
    std::thread([&] { EXPECT_THAT(Append(a(), log, 2), IsOk()); }).join();
    EXPECT_THAT(Append(a(), log, 3), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  Replay(*InstantiateOf(*graph));
  EXPECT_EQ(ReadLog(log), LogOf({1, 2, 3}));
}

TEST_P(CaptureTest, TwoOnOneThreadAreKeptApart) {
  const AddressRange log = NewLog();
  ASSERT_THAT(a().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(b().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_NE(InfoOf(a()).id, InfoOf(b()).id);
  EXPECT_EQ(device().open_captures(), 2);
  EXPECT_THAT(Append(a(), log, 1), IsOk());
  EXPECT_THAT(Append(b(), log, 2), IsOk());
  EXPECT_THAT(Append(b(), log, 3), IsOk());
  const std::unique_ptr<Graph> from_a = End(a());
  const std::unique_ptr<Graph> from_b = End(b());
  ASSERT_TRUE(from_a != nullptr && from_b != nullptr);
  EXPECT_EQ(from_a->ops().size(), 1u);
  EXPECT_EQ(from_b->ops().size(), 2u);
}

TEST_P(CaptureTest, WorkQueuedBeforeItRunsBeforeItsReplay) {
  const AddressRange log = NewLog();
  ASSERT_THAT(Append(a(), log, 1), IsOk());
  const std::unique_ptr<Graph> graph =
      CaptureOn(a(), [&] { EXPECT_THAT(Append(a(), log, 3), IsOk()); });
  ASSERT_NE(graph, nullptr);
  ASSERT_THAT(Append(a(), log, 2), IsOk());
  Replay(*InstantiateOf(*graph));
  EXPECT_EQ(ReadLog(log), LogOf({1, 2, 3}));
}

TEST_P(CaptureTest, AnEventOfACaptureServesAgainAfterIt) {
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Empty(a()), IsOk());
    EXPECT_THAT(a().Record(event()), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  ASSERT_THAT(b().Record(event()), IsOk());
  EXPECT_THAT(event().Synchronize(), IsOk());
  ASSERT_OK_AND_ASSIGN(const bool done, event().IsDone());
  EXPECT_TRUE(done);
}

TEST_P(CaptureTest, AFreshEventIsWaitedForInOne) {
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(a().Wait(event()), IsOk());
    EXPECT_THAT(Empty(a()), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(graph->ops().size(), 1u);
}

TEST_P(CaptureTest, TokensLeadToTheOpsOfTheGraph) {
  const AddressRange log = NewLog();
  ASSERT_THAT(a().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<OpToken> none, a().CaptureFrontier());
  EXPECT_TRUE(none.empty());
  std::vector<OpToken> tokens;
  for (uint64_t id = 0; id < 5; ++id) {
    ASSERT_THAT(Append(a(), log, id), IsOk());
    ASSERT_OK_AND_ASSIGN(const std::vector<OpToken> frontier, a().CaptureFrontier());
    ASSERT_EQ(frontier.size(), 1u);
    tokens.push_back(frontier[0]);
  }
  const std::unique_ptr<Graph> graph = End(a());
  ASSERT_NE(graph, nullptr);
  for (uint32_t i = 0; i < 5; ++i) {
    ASSERT_OK_AND_ASSIGN(const OpId id, graph->Find(tokens[i]));
    EXPECT_EQ(id, i);
  }
  const std::unique_ptr<Graph> other = CaptureOn(a(), [&] { Empty(a()).IgnoreError(); });
  ASSERT_NE(other, nullptr);
  EXPECT_THAT(other->Find(tokens[0]), HasError(ErrorCode::kNotFound, "capture"));
}

TEST_P(CaptureTest, AfterAJoinTheFrontierHasSeveralOps) {
  ASSERT_THAT(a().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(a().Record(event()), IsOk());
  EXPECT_THAT(b().Wait(event()), IsOk());
  EXPECT_THAT(Empty(a()), IsOk());
  EXPECT_THAT(Empty(b()), IsOk());
  EXPECT_THAT(b().Record(other_event()), IsOk());
  EXPECT_THAT(a().Wait(other_event()), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<OpToken> frontier, a().CaptureFrontier());
  EXPECT_EQ(frontier.size(), 2u);
  EXPECT_NE(End(a()), nullptr);
}

TEST_P(CaptureTest, OpsAreListedWhileItIsOpen) {
  const AddressRange log = NewLog();
  ASSERT_THAT(a().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(Append(a(), log, 1), IsOk());
  EXPECT_THAT(a().Fill(log.base, 0, 4, 2), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<Op> ops, a().CapturedOps());
  ASSERT_OK_AND_ASSIGN(const size_t count, a().CapturedOpCount());
  EXPECT_EQ(count, ops.size());
  EXPECT_THAT(Append(a(), log, 2), IsOk());
  const std::unique_ptr<Graph> graph = End(a());
  ASSERT_NE(graph, nullptr);
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0].kind, OpKind::kKernel);
  EXPECT_EQ(ops[0].argument_bytes, graph->ops()[0].argument_bytes);
  EXPECT_EQ(ops[1].kind, OpKind::kFill);
  EXPECT_EQ(graph->ops().size(), 3u);
}

}  // namespace
}  // namespace graphtree
