// The real CUPTI: what it tells of each op of a graph, who has it, and launches of others.
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "device/base/status_matchers.h"
#include "device/cuda/native.h"
#include "device/graph.h"
#include "device/kernel.h"
#include "device/stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/activity/activity.h"
#include "profiler/activity/activity_source.h"
#include "profiler/activity/clock_fit.h"
#include "profiler/cupti/cupti_gpu_fixture.h"
#include "profiler/cupti/test_listener.h"

namespace graphtree::cupti {
namespace {

using activity::ActivityKind;
using activity::DetachHow;
using activity::SourceState;

class CuptiRecordsTest : public CuptiGpuTest {
 protected:
  // Kernels of two shapes, a fork, copies and fills, large and small, an event, a host call.
  std::unique_ptr<Graph> CaptureAllKinds(Stream& side) {
    std::unique_ptr<Event> fork = std::move(device_->NewEvent({})).value();
    std::unique_ptr<Event> join = std::move(device_->NewEvent({})).value();
    const Address half = range_.base + bytes_ / 2;
    return Captured([&] {
      LaunchShape wide;
      wide.grid = {3, 2, 1};
      wide.block = {32, 2, 1};
      EXPECT_THAT(AddTo(*stream_, 0, 1), IsOk());
      EXPECT_THAT(stream_->Record(*fork), IsOk());
      EXPECT_THAT(side.Wait(*fork), IsOk());
      EXPECT_THAT(side.Launch(add_, wide, WordArguments(1, 0)), IsOk());
      EXPECT_THAT(stream_->Fill(half, 7, 4, bytes_ / 8), IsOk());
      EXPECT_THAT(stream_->Copy(range_.base + 4096, half, bytes_ / 4), IsOk());
      EXPECT_THAT(stream_->CallHost([] {}), IsOk());
      EXPECT_THAT(side.Record(*join), IsOk());
      EXPECT_THAT(stream_->Wait(*join), IsOk());
      EXPECT_THAT(stream_->Copy(range_.base + 64, range_.base + 128, 8), IsOk());
      EXPECT_THAT(stream_->Fill(range_.base + 256, 1, 4, 2), IsOk());
      EXPECT_THAT(AddTo(*stream_, 0, 1), IsOk());
    });
  }

  struct Launch {
    std::string what;
    Executable* executable;
    uint64_t correlation = 0;
    uint32_t id = 0;
  };

  // Exactly the ops of the node's list that have records, each once.
  static void ExpectTold(const Graph& graph, const Launch& launch, const TestListener& listener) {
    SCOPED_TRACE(launch.what);
    EXPECT_NE(launch.correlation, 0u);
    EXPECT_NE(launch.id, 0u);
    std::map<OpId, const KeptOp*> told;
    for (const KeptOp& kept : listener.ops) {
      if (kept.op.correlation != launch.correlation) continue;
      EXPECT_EQ(kept.op.graph, launch.id);
      EXPECT_EQ(kept.op.graph_node >> 32, launch.id);
      EXPECT_GT(kept.op.end_ns, kept.op.start_ns);
      EXPECT_TRUE(told.emplace(static_cast<OpId>(kept.op.graph_node), &kept).second);
    }
    size_t wanted = 0;
    for (const Op& op : graph.ops()) {
      if (op.kind != OpKind::kKernel && op.kind != OpKind::kCopy && op.kind != OpKind::kFill) {
        EXPECT_EQ(told.count(op.id), 0u) << op.id << ", " << op.name;
        continue;
      }
      ++wanted;
      ASSERT_EQ(told.count(op.id), 1u) << op.id << ", " << op.name;
      ExpectFits(op, *told[op.id]);
    }
    EXPECT_EQ(told.size(), wanted);
  }

  // In lower case, without what is no letter.
  static std::string Letters(absl::string_view name) {
    std::string letters;
    for (const char c : name) {
      if (absl::ascii_isalpha(static_cast<unsigned char>(c))) {
        letters += absl::ascii_tolower(static_cast<unsigned char>(c));
      }
    }
    return letters;
  }

  static void ExpectFits(const Op& op, const KeptOp& kept) {
    SCOPED_TRACE(op.id);
    if (op.kind == OpKind::kKernel) {
      EXPECT_EQ(kept.op.kind, ActivityKind::kKernel);
      // CUPTI has the function's mangled name, "..7AddWordEPjj", and the list ours, "add_word".
      EXPECT_NE(Letters(kept.name).find(Letters(op.name)), std::string::npos)
          << kept.name << " is not " << op.name;
      EXPECT_EQ(kept.op.grid, op.shape.grid);
      EXPECT_EQ(kept.op.block, op.shape.block);
    } else if (kept.op.kind == ActivityKind::kKernel) {
      // Small copies and fills run as kernels of the driver's.
      EXPECT_LE(op.kind == OpKind::kCopy ? op.copy.bytes : op.fill.count * op.fill.width,
                uint64_t{1} << 20);
    } else {
      EXPECT_EQ(kept.op.kind,
                op.kind == OpKind::kCopy ? ActivityKind::kCopy : ActivityKind::kFill);
      EXPECT_EQ(static_cast<uint64_t>(kept.op.bytes),
                op.kind == OpKind::kCopy ? op.copy.bytes : op.fill.count * op.fill.width);
    }
  }
};

TEST_F(CuptiRecordsTest, EveryOpOfANodeIsTold) {
  std::unique_ptr<Stream> side = std::move(device_->NewStream()).value();
  std::unique_ptr<Graph> graph = CaptureAllKinds(*side);
  ASSERT_NE(graph, nullptr);
  std::unique_ptr<Executable> before = std::move(graph->Instantiate()).value();
  ASSERT_THAT(before->Launch(*stream_), IsOk());
  ASSERT_THAT(stream_->Synchronize(), IsOk());
  for (int round = 0; round < 3; ++round) {
    TestListener listener;
    ASSERT_THAT(source_->Attach(&listener, {}), IsOk());
    std::unique_ptr<Executable> again = std::move(graph->Instantiate()).value();
    std::vector<Launch> launches = {{"made before", before.get()},
                                    {"made while attached", again.get()},
                                    {"made before, once more", before.get()}};
    for (Launch& launch : launches) {
      ASSERT_THAT(launch.executable->Launch(*stream_), IsOk());
      launch.correlation = source_->CorrelationOf(*launch.executable);
      launch.id = source_->IdOf(*launch.executable);
    }
    ASSERT_THAT(stream_->Synchronize(), IsOk());
    ASSERT_THAT(source_->Flush(), IsOk());
    EXPECT_FALSE(listener.ops.empty());
    ASSERT_THAT(source_->Detach({}), IsOk());
    for (const Launch& launch : launches) ExpectTold(*graph, launch, listener);
    EXPECT_EQ(listener.dropped, 0u);
    EXPECT_THAT(listener.notes, testing::IsEmpty());
    ASSERT_THAT(again->Launch(*stream_), IsOk());
    ASSERT_THAT(stream_->Synchronize(), IsOk());
  }
  side.reset();
}

TEST_F(CuptiRecordsTest, OpsLieBetweenTheTimesOfTheirCalls) {
  std::unique_ptr<Graph> graph = CaptureKernels(*stream_, 10, 0);
  std::unique_ptr<Executable> executable = std::move(graph->Instantiate()).value();
  TestListener listener;
  ASSERT_THAT(source_->Attach(&listener, {}), IsOk());
  const int64_t from = source_->NowNs().value();
  ASSERT_THAT(executable->Launch(*stream_), IsOk());
  ASSERT_THAT(stream_->Synchronize(), IsOk());
  const int64_t to = source_->NowNs().value();
  ASSERT_THAT(source_->Detach({}), IsOk());
  constexpr int64_t kSlack = 100'000;  // CUPTI's own fit of the two clocks
  EXPECT_EQ(listener.ops.size(), 10u);
  for (const KeptOp& kept : listener.ops) {
    EXPECT_GE(kept.op.start_ns, from - kSlack);
    EXPECT_LE(kept.op.end_ns, to + kSlack);
  }
}

TEST_F(CuptiRecordsTest, WhoHasItIsNamed) {
  auto second = OpenCuptiSource();
  if (!second.ok()) GTEST_SKIP() << "needs CUPTI: " << second.status().message();
  TestListener listener, other;
  ASSERT_THAT(source_->Attach(&listener, {}), IsOk());
  const absl::Status refused = (*second)->Attach(&other, {});
  EXPECT_THAT(refused, FailsWith(absl::StatusCode::kFailedPrecondition, "one user at a time"));
  std::printf("the second one is told: %s\n", std::string(refused.message()).c_str());
  EXPECT_EQ((*second)->state(), SourceState::kDetached);
  // The first one is none the worse.
  std::unique_ptr<Graph> graph = CaptureKernels(*stream_, 5, 0);
  std::unique_ptr<Executable> executable = std::move(graph->Instantiate()).value();
  ASSERT_THAT(executable->Launch(*stream_), IsOk());
  ASSERT_THAT(stream_->Synchronize(), IsOk());
  ASSERT_THAT(source_->Detach({}), IsOk());
  EXPECT_EQ(listener.ops.size(), 5u);
  ASSERT_THAT((*second)->Attach(&other, {}), IsOk());
  ASSERT_THAT((*second)->Detach({}), IsOk());
}

TEST_F(CuptiRecordsTest, BesideLaunchesOfOthersItLingersUntilTheyRest) {
  std::unique_ptr<Graph> graph = CaptureKernels(*stream_, 5, 0);
  std::unique_ptr<Executable> executable = std::move(graph->Instantiate()).value();
  TestListener listener;
  ASSERT_THAT(source_->Attach(&listener, {}), IsOk());
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(*NativeOf(*executable), RawStream()), cudaSuccess);
  ASSERT_THAT(stream_->Synchronize(), IsOk());
  ASSERT_EQ(listener.launches.size(), 1u);
  EXPECT_TRUE(listener.launches[0].is_foreign);
  const absl::Status put_off = source_->Detach({});
  // A machine that was slow between the two has let them rest.
  if (!put_off.ok()) {
    EXPECT_THAT(put_off, FailsWith(absl::StatusCode::kUnavailable, "put off"));
    std::printf("it says: %s\n", std::string(put_off.message()).c_str());
    while (source_->Poll() == SourceState::kLingering) std::this_thread::yield();
  }
  EXPECT_EQ(source_->state(), SourceState::kDetached);
  EXPECT_EQ(listener.ops.size(), 5u);
  for (const KeptOp& kept : listener.ops) {
    EXPECT_EQ(kept.op.correlation, listener.launches[0].correlation);
  }
  ASSERT_THAT(executable->Launch(*stream_), IsOk());
  ASSERT_THAT(stream_->Synchronize(), IsOk());
}

TEST_F(CuptiRecordsTest, ALaunchCostsWhatItCostBefore) {
  std::unique_ptr<Graph> graph = CaptureKernels(*stream_, 100, 0);
  std::unique_ptr<Executable> executable = std::move(graph->Instantiate()).value();
  LaunchCost(*executable);
  const double before = LaunchCost(*executable);
  TestListener listener;
  ASSERT_THAT(source_->Attach(&listener, {}), IsOk());
  const double attached = LaunchCost(*executable);
  ASSERT_THAT(source_->Detach({}), IsOk());
  EXPECT_EQ(listener.dropped, 0u);
  const double after = LaunchCost(*executable);
  std::printf("a launch of 100 kernels: %.0f ns before, %.0f attached, %.0f after: ratio %.3f\n",
              before, attached, after, after / before);
}

TEST_F(CuptiRecordsTest, TheClocksAreFitted) {
  TestListener listener;
  ASSERT_THAT(source_->Attach(&listener, {}), IsOk());
  activity::ClockFit fit;
  const auto host = [] {
    return int64_t{std::chrono::steady_clock::now().time_since_epoch().count()};
  };
  for (int i = 0; i < 200; ++i) {
    fit.Add(activity::ReadPair([&] { return source_->NowNs().value(); }, host));
    ASSERT_THAT(AddTo(*stream_, 0, 1), IsOk());
    ASSERT_THAT(stream_->Synchronize(), IsOk());
  }
  ASSERT_THAT(source_->Detach({}), IsOk());
  std::printf("drift %.3f ppm, farthest pair %lld ns from the line\n", fit.drift_ppm(),
              static_cast<long long>(fit.worst_ns()));
}

}  // namespace
}  // namespace graphtree::cupti
