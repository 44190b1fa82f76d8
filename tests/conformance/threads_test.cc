// Several threads on one device: nothing is lost, and one's capture never breaks another's work.
#include <atomic>
#include <functional>
#include <thread>

#include "tests/conformance/conformance.h"

namespace graphtree {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 20;

class ThreadsTest : public ConformanceTest {
 protected:
  // Runs body(0) ... body(kThreads - 1), each on a thread of its own.
  static void OnEveryThread(const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(body, t);
    for (std::thread& thread : threads) thread.join();
  }
  std::vector<AddressRange> Logs() {
    std::vector<AddressRange> logs;
    for (int t = 0; t < kThreads; ++t) logs.push_back(NewLog());
    return logs;
  }
  // Captures `rounds` appends of `first`, first + 1, ... on a new stream and replays them once.
  void CaptureAndReplay(AddressRange log, uint64_t first) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> stream, device().NewStream());
    ASSERT_THAT(stream->BeginCapture(CaptureMode::kThreadLocal), IsOk());
    EXPECT_THAT(Append(*stream, log, first), IsOk());
    EXPECT_THAT(Append(*stream, log, first + 1), IsOk());
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Graph> graph, stream->EndCapture());
    EXPECT_EQ(graph->ops().size(), 2u);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Executable> executable, graph->Instantiate());
    EXPECT_THAT(executable->Launch(*stream), IsOk());
    EXPECT_THAT(stream->Synchronize(), IsOk());
  }
  // Work that a capture on the same thread would forbid or record.
  void WorkEagerly(AddressRange log, uint64_t id) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> stream, device().NewStream());
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> event, device().NewEvent({}));
    EXPECT_THAT(Append(*stream, log, id), IsOk());
    EXPECT_THAT(stream->Record(*event), IsOk());
    EXPECT_THAT(event->IsDone(), IsOk());
    EXPECT_THAT(event->Synchronize(), IsOk());
    EXPECT_THAT(stream->IsDone(), IsOk());
    EXPECT_THAT(stream->Synchronize(), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto buffer, memory().AllocateHost(64));
  }
  static std::vector<uint64_t> Counted(uint64_t count) {
    std::vector<uint64_t> ids;
    for (uint64_t id = 0; id < count; ++id) ids.push_back(id);
    return ids;
  }
};
GRAPHTREE_ON_EVERY_DEVICE(ThreadsTest);

TEST_P(ThreadsTest, EachOnItsOwnStream) {
  const std::vector<AddressRange> logs = Logs();
  OnEveryThread([&](int t) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> stream, device().NewStream());
    for (uint64_t id = 0; id < kRounds; ++id) EXPECT_THAT(Append(*stream, logs[t], id), IsOk());
    EXPECT_THAT(stream->Synchronize(), IsOk());
  });
  for (const AddressRange& log : logs) EXPECT_EQ(ReadLog(log), LogOf(Counted(kRounds)));
}

TEST_P(ThreadsTest, AllOnOneStream) {
  const AddressRange words = NewWordsWith(std::vector<uint32_t>(16, 0));
  OnEveryThread([&](int) {
    for (int i = 0; i < kRounds; ++i) {
      EXPECT_THAT(Increment(a(), words, 1), IsOk());
      if (i % 5 == 0) {
        EXPECT_THAT(a().Synchronize(), IsOk());
      }
    }
  });
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(Read(words), std::vector<uint32_t>(16, kThreads * kRounds));
}

TEST_P(ThreadsTest, AllCapturingAtOnce) {
  const std::vector<AddressRange> logs = Logs();
  OnEveryThread([&](int t) {
    for (uint64_t i = 0; i < kRounds; ++i) CaptureAndReplay(logs[t], 2 * i);
  });
  for (const AddressRange& log : logs) EXPECT_EQ(ReadLog(log), LogOf(Counted(2 * kRounds)));
  EXPECT_EQ(device().open_captures(), 0);
}

TEST_P(ThreadsTest, OnesCapturesNeverBreakTheOthersWork) {
  const std::vector<AddressRange> logs = Logs();
  OnEveryThread([&](int t) {
    for (uint64_t i = 0; i < kRounds; ++i) {
      if (t % 2 == 0) {
        CaptureAndReplay(logs[t], 2 * i);
      } else {
        WorkEagerly(logs[t], 2 * i);
        WorkEagerly(logs[t], 2 * i + 1);
      }
    }
  });
  for (const AddressRange& log : logs) EXPECT_EQ(ReadLog(log), LogOf(Counted(2 * kRounds)));
}

TEST_P(ThreadsTest, AnOpenCaptureDisturbsNobody) {
  const std::vector<AddressRange> logs = Logs();
  ASSERT_THAT(a().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(Empty(a()), IsOk());
  OnEveryThread([&](int t) {
    WorkEagerly(logs[t], 0);
    CaptureAndReplay(logs[t], 1);
  });
  EXPECT_THAT(Empty(a()), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Graph> graph, a().EndCapture());
  EXPECT_EQ(graph->ops().size(), 2u);
  for (const AddressRange& log : logs) EXPECT_EQ(ReadLog(log), LogOf({0, 1, 2}));
}

TEST_P(ThreadsTest, ABrokenCaptureBreaksNobodyElses) {
  const std::vector<AddressRange> logs = Logs();
  OnEveryThread([&](int t) {
    for (uint64_t i = 0; i < kRounds; ++i) {
      if (t == 0) {
        ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> stream, device().NewStream());
        EXPECT_THAT(stream->BeginCapture(CaptureMode::kThreadLocal), IsOk());
        EXPECT_THAT(stream->Synchronize(), HasError(ErrorCode::kCaptureUnsupported, ""));
        EXPECT_THAT(stream->EndCapture(), HasError(ErrorCode::kCaptureInvalidated, ""));
      } else {
        CaptureAndReplay(logs[t], 2 * i);
      }
    }
  });
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(ReadLog(logs[t]), LogOf(Counted(2 * kRounds)));
}

TEST_P(ThreadsTest, MemoryGrowsAndShrinksOnAll) {
  OnEveryThread([&](int t) {
    for (int i = 0; i < kRounds; ++i) {
      ASSERT_OK_AND_ASSIGN(const AddressRange range, memory().Reserve(granularity(), {}));
      ASSERT_OK_AND_ASSIGN(const auto physical, memory().Create(granularity()));
      EXPECT_THAT(memory().Map(range.base, *physical), IsOk());
      EXPECT_THAT(memory().SetAccess(range, MemoryAccess::kReadWrite), IsOk());
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> stream, device().NewStream());
      EXPECT_THAT(FillPattern(*stream, {range.base, 256}, 100 * t + i), IsOk());
      EXPECT_THAT(stream->Synchronize(), IsOk());
      EXPECT_THAT(memory().Unmap(range), IsOk());
      EXPECT_THAT(memory().Release(range), IsOk());
    }
  });
}

TEST_P(ThreadsTest, InstantiatingBesideReplays) {
  const std::vector<AddressRange> logs = Logs();
  const std::unique_ptr<Graph> graph =
      CaptureOn(a(), [&] { EXPECT_THAT(Append(a(), logs[0], 0), IsOk()); });
  ASSERT_NE(graph, nullptr);
  OnEveryThread([&](int t) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> stream, device().NewStream());
    for (uint64_t id = 0; id < kRounds; ++id) {
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Executable> executable, graph->Instantiate());
      EXPECT_THAT(
          executable->PatchKernel(0, AppendKernel(), OneThread(), AppendArguments(logs[t], id)),
          IsOk());
      EXPECT_THAT(executable->Launch(*stream), IsOk());
    }
    EXPECT_THAT(stream->Synchronize(), IsOk());
  });
  for (const AddressRange& log : logs) EXPECT_EQ(ReadLog(log), LogOf(Counted(kRounds)));
}

}  // namespace
}  // namespace graphtree
