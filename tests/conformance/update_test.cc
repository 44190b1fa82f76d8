// Executables that change: one op patched, or all of them updated from another graph.
#include <cstring>

#include "tests/conformance/conformance.h"

namespace graphtree {
namespace {

class UpdateTest : public ConformanceTest {
 protected:
  std::unique_ptr<Graph> AppendsOf(AddressRange log, const std::vector<uint64_t>& ids) {
    return CaptureOn(a(), [&] {
      for (uint64_t id : ids) EXPECT_THAT(Append(a(), log, id), IsOk());
    });
  }
  absl::Status PatchAppend(Executable& executable, OpId op, AddressRange log, uint64_t id) {
    return executable.PatchKernel(op, AppendKernel(), OneThread(), AppendArguments(log, id));
  }
  void ExpectUpdate(Executable& executable, const Graph& graph, UpdateResult wanted) {
    ASSERT_OK_AND_ASSIGN(const UpdateResult result, executable.Update(graph));
    EXPECT_EQ(result, wanted);
  }
};
GRAPHTREE_ON_EVERY_DEVICE(UpdateTest);

TEST_P(UpdateTest, APatchedKernelHasItsNewArguments) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = AppendsOf(log, {1, 2, 3});
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  ASSERT_THAT(PatchAppend(*executable, 1, log, 20), IsOk());
  Replay(*executable);
  EXPECT_EQ(ReadLog(log), LogOf({1, 20, 3}));
  Replay(*executable);
  EXPECT_EQ(ReadLog(log), LogOf({1, 20, 3, 1, 20, 3})) << "a patch stays";
  const std::unique_ptr<Executable> fresh = InstantiateOf(*graph);
  Write(log, {0, 0});
  Replay(*fresh);
  EXPECT_EQ(ReadLog(log), LogOf({1, 2, 3})) << "the graph did not change";
}

TEST_P(UpdateTest, WhatAReplacedHostCallOwnsMayBeTheDevicesOwn) {
  const auto calls = std::make_shared<int>(0);
  const auto capture = [&] {
    absl::StatusOr<std::unique_ptr<Event>> event = device().NewEvent({});
    EXPECT_THAT(event.status(), IsOk());
    std::shared_ptr<Event> owned = *std::move(event);
    return CaptureOn(a(), [&] {
      EXPECT_THAT(a().CallHost([owned = std::move(owned), calls] { ++*calls; }), IsOk());
    });
  };
  std::unique_ptr<Graph> first = capture();
  const std::unique_ptr<Graph> second = capture();
  ASSERT_TRUE(first != nullptr && second != nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*first);
  first.reset();
  ExpectUpdate(*executable, *second, UpdateResult::kUpdated);
  Replay(*executable);
  EXPECT_EQ(*calls, 1);
}

TEST_P(UpdateTest, APatchedKernelHasItsNewShapeAndPointers) {
  const AddressRange x = NewWordsWith(std::vector<uint32_t>(64, 1));
  const AddressRange y = NewWordsWith(std::vector<uint32_t>(600, 2));
  const std::unique_ptr<Graph> graph =
      CaptureOn(a(), [&] { EXPECT_THAT(Increment(a(), x, 10), IsOk()); });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  LaunchShape shape;
  shape.grid = {7};
  shape.block = {64};
  ASSERT_THAT(executable->PatchKernel(0, IncrementKernel(), shape, IncrementArguments(y, 3)),
              IsOk());
  Replay(*executable);
  EXPECT_EQ(Read(x), std::vector<uint32_t>(64, 1));
  EXPECT_EQ(Read(y), std::vector<uint32_t>(600, 5));
}

TEST_P(UpdateTest, ALargeArgumentIsPatchedByValue) {
  const AddressRange out = NewWords(512);
  BigTable table = {};
  const std::unique_ptr<Graph> graph =
      CaptureOn(a(), [&] { EXPECT_THAT(ReadBigTable(a(), out, table), IsOk()); });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  for (uint32_t i = 0; i < 512; ++i) table.words[i] = 1000 + i;
  const std::vector<Argument> arguments = {Argument::Out(out), Argument::Value(table)};
  ASSERT_THAT(executable->PatchKernel(0, BigTableKernel(), TestShape(), arguments), IsOk());
  table = {};
  Replay(*executable);
  EXPECT_EQ(Read({out.base + 4, 4}), std::vector<uint32_t>{1001 * 3 + 1});
}

// The bytes of op `op`, with the address `from` in them replaced.
std::vector<uint8_t> Repointed(const Graph& graph, OpId op, Address from, Address to) {
  std::vector<uint8_t> bytes = graph.ops()[op].argument_bytes;
  for (const ParamSlot& slot : graph.ops()[op].parameters) {
    if (slot.bytes != sizeof(from)) continue;
    if (std::memcmp(bytes.data() + slot.offset, &from, sizeof(from)) != 0) continue;
    std::memcpy(bytes.data() + slot.offset, &to, sizeof(to));
  }
  return bytes;
}

TEST_P(UpdateTest, AKernelIsPatchedByItsArgumentBytes) {
  const AddressRange x = NewWordsWith(std::vector<uint32_t>(64, 1));
  const AddressRange y = NewWordsWith(std::vector<uint32_t>(64, 2));
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Empty(a()), IsOk());
    EXPECT_THAT(Increment(a(), x, 10), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  const std::vector<uint8_t> at_y = Repointed(*graph, 1, x.base, y.base);
  ASSERT_THAT(executable->PatchArgumentBytes(1, at_y), IsOk());
  Replay(*executable);
  EXPECT_EQ(Read(x), std::vector<uint32_t>(64, 1));
  EXPECT_EQ(Read(y), std::vector<uint32_t>(64, 12));
  ASSERT_THAT(executable->PatchArgumentBytes(1, Repointed(*graph, 1, x.base, x.base)), IsOk());
  Replay(*executable);
  EXPECT_EQ(Read(x), std::vector<uint32_t>(64, 11));
  EXPECT_EQ(Read(y), std::vector<uint32_t>(64, 12));
}

TEST_P(UpdateTest, AKernelPatchedByBytesAfterAnUpdateIsTheNewOne) {
  const AddressRange x = NewWordsWith(std::vector<uint32_t>(16, 1));
  const AddressRange y = NewWordsWith(std::vector<uint32_t>(16, 1));
  const std::unique_ptr<Graph> graph =
      CaptureOn(a(), [&] { EXPECT_THAT(Increment(a(), x, 1), IsOk()); });
  const std::unique_ptr<Graph> other =
      CaptureOn(a(), [&] { EXPECT_THAT(FillPattern(a(), x, 9), IsOk()); });
  ASSERT_TRUE(graph != nullptr && other != nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  ASSERT_THAT(executable->PatchArgumentBytes(0, Repointed(*graph, 0, x.base, y.base)), IsOk());
  ExpectUpdate(*executable, *other, UpdateResult::kUpdated);
  ASSERT_THAT(executable->PatchArgumentBytes(0, Repointed(*other, 0, x.base, y.base)), IsOk());
  Replay(*executable);
  EXPECT_EQ(Read(x), std::vector<uint32_t>(16, 1));
  EXPECT_EQ(Read(y), Pattern(9, 16));
}

TEST_P(UpdateTest, WrongArgumentBytesAreRefused) {
  const AddressRange words = NewWordsWith(std::vector<uint32_t>(16, 1));
  std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Increment(a(), words, 1), IsOk());
    EXPECT_THAT(a().Fill(words.base + 32, 1, 4, 1), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  std::vector<uint8_t> bytes = graph->ops()[0].argument_bytes;
  bytes.pop_back();
  EXPECT_THAT(executable->PatchArgumentBytes(0, bytes),
              HasError(ErrorCode::kInvalidValue, "bytes of arguments: it takes"));
  EXPECT_THAT(executable->PatchArgumentBytes(1, bytes), HasError(ErrorCode::kInvalidValue, "fill"));
  EXPECT_THAT(executable->PatchArgumentBytes(2, bytes), HasError(ErrorCode::kInvalidValue, "op 2"));
  Replay(*executable);
  EXPECT_EQ(Read({words.base, 4}), std::vector<uint32_t>{2}) << "it launches, unchanged";
}

TEST_P(UpdateTest, PatchedCopiesAndFills) {
  const AddressRange x = NewWordsWith(Pattern(1, 64)), y = NewWordsWith(Pattern(2, 64));
  const AddressRange out = NewWordsWith(std::vector<uint32_t>(64, 0));
  const AddressRange filled = NewWordsWith(std::vector<uint32_t>(64, 0));
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(a().Copy(out.base, x.base, x.bytes), IsOk());
    EXPECT_THAT(a().Fill(filled.base, 7, 4, 64), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  ASSERT_THAT(executable->PatchCopy(0, {out.base, y.base, 32}), IsOk());
  ASSERT_THAT(executable->PatchFill(1, {filled.base, 9, 4, 2}), IsOk());
  Replay(*executable);
  std::vector<uint32_t> wanted(64, 0);
  for (uint32_t i = 0; i < 8; ++i) wanted[i] = PatternWord(2, i);
  EXPECT_EQ(Read(out), wanted);
  wanted.assign(64, 0);
  wanted[0] = wanted[1] = 9;
  EXPECT_EQ(Read(filled), wanted);
}

TEST_P(UpdateTest, LaunchesInFlightKeepTheirArguments) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Delay(a(), 10000), IsOk());
    EXPECT_THAT(Append(a(), log, 1), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  for (uint64_t id = 1; id <= 4; ++id) {
    ASSERT_THAT(PatchAppend(*executable, 1, log, id), IsOk());
    ASSERT_THAT(executable->Launch(a()), IsOk());
  }
  ASSERT_THAT(PatchAppend(*executable, 1, log, 99), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2, 3, 4}));
}

TEST_P(UpdateTest, OpsArePatchedAfterTheGraphIsGone) {
  const AddressRange log = NewLog();
  std::unique_ptr<Graph> graph = AppendsOf(log, {1, 3});
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  graph.reset();
  ASSERT_THAT(PatchAppend(*executable, 0, log, 2), IsOk());
  EXPECT_THAT(executable->PatchCopy(0, {}), HasError(ErrorCode::kInvalidValue, "kernel"));
  Replay(*executable);
  EXPECT_EQ(ReadLog(log), LogOf({2, 3}));
}

// One executable that is one graph's and another's by turns, each of them patched, for as long as
// none but the last of its graphs is there.
TEST_P(UpdateTest, AnExecutableGoesFromGraphToGraph) {
  const AddressRange log = NewLog();
  std::unique_ptr<Graph> graph = AppendsOf(log, {1, 2});
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  EXPECT_EQ(executable->op_count(), 2u);
  std::vector<uint64_t> wanted;
  for (uint64_t i = 0; i < 20; ++i) {
    graph = AppendsOf(log, {10 * i, 10 * i + 1});
    ExpectUpdate(*executable, *graph, UpdateResult::kUpdated);
    if (i % 2 == 0) {
      EXPECT_THAT(PatchAppend(*executable, i % 4 / 2, log, 1000 + i), IsOk());
    }
    if (i % 3 == 0) graph = nullptr;
    Replay(*executable);
    wanted.push_back(i % 4 == 0 ? 1000 + i : 10 * i);
    wanted.push_back(i % 4 == 2 ? 1000 + i : 10 * i + 1);
  }
  EXPECT_EQ(ReadLog(log), LogOf(wanted));
}

TEST_P(UpdateTest, PatchingAnOpThatIsNotThereIsRefused) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = AppendsOf(log, {1});
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  EXPECT_THAT(PatchAppend(*executable, 1, log, 2), HasError(ErrorCode::kInvalidValue, "op 1"));
  EXPECT_THAT(executable->PatchCopy(7, {}), HasError(ErrorCode::kInvalidValue, "op 7"));
  Replay(*executable);
  EXPECT_EQ(ReadLog(log), LogOf({1}));
}

TEST_P(UpdateTest, PatchingAnOpOfAnotherKindIsRefused) {
  const AddressRange words = NewWordsWith(Pattern(3, 16));
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(a().Fill(words.base, 5, 4, 1), IsOk());
    EXPECT_THAT(Increment(a(), words, 0), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  EXPECT_THAT(
      executable->PatchKernel(0, IncrementKernel(), TestShape(), IncrementArguments(words, 1)),
      HasError(ErrorCode::kInvalidValue, "fill"));
  EXPECT_THAT(executable->PatchCopy(1, {words.base, words.base + 32, 4}),
              HasError(ErrorCode::kInvalidValue, "kernel"));
  EXPECT_THAT(executable->PatchFill(1, {words.base, 1, 4, 1}),
              HasError(ErrorCode::kInvalidValue, "kernel"));
}

TEST_P(UpdateTest, PatchingInAnotherKernelIsRefused) {
  const AddressRange words = NewWordsWith(std::vector<uint32_t>(16, 1));
  const std::unique_ptr<Graph> graph =
      CaptureOn(a(), [&] { EXPECT_THAT(Increment(a(), words, 1), IsOk()); });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  EXPECT_THAT(
      executable->PatchKernel(0, FillPatternKernel(), TestShape(), FillPatternArguments(words, 1)),
      HasError(ErrorCode::kInvalidValue, "increment"));
  EXPECT_THAT(executable->PatchKernel(0, IncrementKernel(), TestShape(), {}),
              HasError(ErrorCode::kInvalidValue, "takes 3 arguments, got 0"));
  Replay(*executable);
  EXPECT_EQ(Read(words), std::vector<uint32_t>(16, 2)) << "it still launches, unchanged";
}

TEST_P(UpdateTest, PatchingInWhatCouldNotBeLaunchedIsRefused) {
  const AddressRange words = NewWordsWith(std::vector<uint32_t>(16, 1));
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Increment(a(), words, 1), IsOk());
    EXPECT_THAT(a().Fill(words.base, 7, 4, 1), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  for (const LaunchShape& shape : {LaunchShape{.grid = {1, 0, 1}}, LaunchShape{.block = {0}},
                                   LaunchShape{.block = {1024, 2, 1}},
                                   LaunchShape{.block = {1u << 31, 1u << 31, 4}}}) {
    EXPECT_THAT(
        executable->PatchKernel(0, IncrementKernel(), shape, IncrementArguments(words, 2)),
        HasError(ErrorCode::kInvalidConfiguration, "increment"));
  }
  EXPECT_THAT(executable->PatchFill(1, {words.base, 0, 3, 1}),
              HasError(ErrorCode::kInvalidValue, "width"));
  EXPECT_THAT(executable->PatchFill(1, {words.base + 2, 0, 4, 1}),
              HasError(ErrorCode::kInvalidValue, "aligned"));
  Replay(*executable);
  std::vector<uint32_t> wanted(16, 2);
  wanted[0] = 7;
  EXPECT_EQ(Read(words), wanted) << "it still launches, unchanged";
}

TEST_P(UpdateTest, AnUpdateTakesAllArgumentsOfAnotherGraph) {
  const AddressRange log = NewLog(), other_log = NewLog();
  const std::unique_ptr<Graph> graph = AppendsOf(log, {1, 2, 3});
  const std::unique_ptr<Graph> other = AppendsOf(other_log, {7, 8, 9});
  ASSERT_TRUE(graph != nullptr && other != nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  ExpectUpdate(*executable, *other, UpdateResult::kUpdated);
  Replay(*executable);
  EXPECT_EQ(ReadLog(log), 0u);
  EXPECT_EQ(ReadLog(other_log), LogOf({7, 8, 9}));
  ExpectUpdate(*executable, *graph, UpdateResult::kUpdated);
  Replay(*executable);
  EXPECT_EQ(ReadLog(log), LogOf({1, 2, 3}));
}

TEST_P(UpdateTest, AfterAnUpdateOpsArePatchedByTheNewGraph) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = AppendsOf(log, {1, 2});
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  std::unique_ptr<Graph> other = AppendsOf(log, {7, 8});
  ASSERT_TRUE(graph != nullptr && other != nullptr);
  ExpectUpdate(*executable, *other, UpdateResult::kUpdated);
  other.reset();
  ASSERT_THAT(PatchAppend(*executable, 0, log, 5), IsOk()) << "its own graph is still there";
  Replay(*executable);
  EXPECT_EQ(ReadLog(log), LogOf({5, 8}));
}

// Which kernel an op runs now is the other graph's word, even if that is gone by then.
TEST_P(UpdateTest, AnUpdateThatChangesTheKernelIsPatchedWithTheNewOne) {
  const AddressRange words = NewWordsWith(std::vector<uint32_t>(16, 1));
  const std::unique_ptr<Graph> graph =
      CaptureOn(a(), [&] { EXPECT_THAT(Increment(a(), words, 1), IsOk()); });
  std::unique_ptr<Graph> other =
      CaptureOn(a(), [&] { EXPECT_THAT(FillPattern(a(), words, 1), IsOk()); });
  ASSERT_TRUE(graph != nullptr && other != nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  ASSERT_THAT(executable->PatchKernel(0, IncrementKernel(), TestShape(),
                                      IncrementArguments(words, 2)),
              IsOk());
  ExpectUpdate(*executable, *other, UpdateResult::kUpdated);
  other.reset();
  EXPECT_THAT(executable->PatchKernel(0, IncrementKernel(), TestShape(),
                                      IncrementArguments(words, 2)),
              HasError(ErrorCode::kInvalidValue, "fill_pattern"));
  ASSERT_THAT(executable->PatchKernel(0, FillPatternKernel(), TestShape(),
                                      FillPatternArguments(words, 9)),
              IsOk());
  Replay(*executable);
  EXPECT_EQ(Read(words), Pattern(9, 16));
}

TEST_P(UpdateTest, AnUpdateFromAnotherTopologyChangesNothing) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = AppendsOf(log, {1, 2});
  const std::unique_ptr<Graph> longer = AppendsOf(log, {7, 8, 9});
  const std::unique_ptr<Graph> other_kind = CaptureOn(a(), [&] {
    EXPECT_THAT(a().Fill(log.base, 0, 4, 1), IsOk());
    EXPECT_THAT(Append(a(), log, 4), IsOk());
  });
  const std::unique_ptr<Graph> forked = CaptureOn(a(), [&] {
    EXPECT_THAT(a().Record(event()), IsOk());
    EXPECT_THAT(b().Wait(event()), IsOk());
    EXPECT_THAT(Empty(b()), IsOk());
    EXPECT_THAT(b().Record(other_event()), IsOk());
    EXPECT_THAT(Append(a(), log, 4), IsOk());
    EXPECT_THAT(a().Wait(other_event()), IsOk());
  });
  ASSERT_TRUE(graph && longer && other_kind && forked);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  ExpectUpdate(*executable, *longer, UpdateResult::kTopologyDiffers);
  ExpectUpdate(*executable, *other_kind, UpdateResult::kTopologyDiffers);
  ExpectUpdate(*executable, *forked, UpdateResult::kTopologyDiffers);
  Replay(*executable);
  EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
}

TEST_P(UpdateTest, AnUpdatedExecutableMayLoseBothGraphs) {
  const AddressRange log = NewLog();
  std::unique_ptr<Graph> graph = AppendsOf(log, {1, 2});
  std::unique_ptr<Graph> other = AppendsOf(log, {7, 8});
  ASSERT_TRUE(graph != nullptr && other != nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  graph.reset();
  ExpectUpdate(*executable, *other, UpdateResult::kUpdated);
  other.reset();
  Replay(*executable);
  EXPECT_EQ(ReadLog(log), LogOf({7, 8}));
}

TEST_P(UpdateTest, UpdatingWhileALaunchIsInFlightLeavesItAlone) {
  const AddressRange log = NewLog();
  const auto delayed = [&](uint64_t id) {
    return CaptureOn(a(), [&] {
      EXPECT_THAT(Delay(a(), 10000), IsOk());
      EXPECT_THAT(Append(a(), log, id), IsOk());
    });
  };
  const std::unique_ptr<Graph> one = delayed(1), two = delayed(2);
  ASSERT_TRUE(one != nullptr && two != nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*one);
  ASSERT_THAT(executable->Launch(a()), IsOk());
  ExpectUpdate(*executable, *two, UpdateResult::kUpdated);
  ASSERT_THAT(executable->Launch(a()), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2}));
}

// Its launches come after one another, on whatever streams, but the update is made while some of
// them are under way.
TEST_P(UpdateTest, UpdatingBesideLaunchesOnAnotherStreamLeavesThemAlone) {
  constexpr uint64_t kRounds = 40, kOps = 60;
  const AddressRange log = NewLog();
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<uint64_t> wanted;
  for (uint64_t round = 0; round < kRounds; ++round) {
    graphs.push_back(CaptureOn(a(), [&] {
      EXPECT_THAT(Delay(a(), round % 4 * 500), IsOk());
      for (uint64_t i = 0; i < kOps; ++i) {
        EXPECT_THAT(Append(a(), log, round * kOps + i), IsOk());
      }
    }));
    ASSERT_NE(graphs.back(), nullptr);
    for (uint64_t i = 0; i < kOps; ++i) wanted.push_back(round * kOps + i);
  }
  const std::unique_ptr<Executable> executable = InstantiateOf(*graphs[0]);
  for (uint64_t round = 0; round < kRounds; ++round) {
    ExpectUpdate(*executable, *graphs[round], UpdateResult::kUpdated);
    Stream& on = round % 2 == 0 ? a() : b();
    Stream& next = round % 2 == 0 ? b() : a();
    if (round % 5 < 2) {
      EXPECT_THAT(executable->Upload(round % 5 == 0 ? on : next), IsOk());
    }
    ASSERT_THAT(executable->Launch(on), IsOk());
    ASSERT_THAT(on.Record(event()), IsOk());
    ASSERT_THAT(next.Wait(event()), IsOk());
  }
  ASSERT_THAT(a().Synchronize(), IsOk());
  ASSERT_THAT(b().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf(wanted));
}

TEST_P(UpdateTest, AnotherDevicesGraphIsRefused) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = AppendsOf(log, {1});
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Device> other, GetParam().open());
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> stream, other->NewStream());
    ASSERT_THAT(stream->BeginCapture(CaptureMode::kThreadLocal), IsOk());
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Graph> foreign, stream->EndCapture());
    EXPECT_THAT(executable->Update(*foreign),
                HasError(ErrorCode::kInvalidHandle, "another device"));
  }
  EXPECT_THAT(other->Close(), IsOk());
}

}  // namespace
}  // namespace graphtree
