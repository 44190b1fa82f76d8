// On each recorded history our pool reserves less than the allocator that recorded it.
#include "tools/snapshot/replay/trace_replay.h"

#include <cstdio>
#include <memory>
#include <string>

#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "gtest/gtest.h"
#include "tools/snapshot/read/read.h"

namespace graphtree {
namespace {

constexpr uint64_t kGranule = uint64_t{2} << 20;  // the smallest piece of memory that a GPU maps

class TraceReplay : public testing::TestWithParam<const char*> {};

TEST_P(TraceReplay, ReservesLessThanTheAllocatorThatRecordedIt) {
  auto snapshot = snapshot::ReadSnapshot(
      std::string("tools/snapshot/testdata/") + GetParam() + ".pickle");
  ASSERT_THAT(snapshot, IsOk());
  auto device = *OpenHostDevice({.memory_bytes = uint64_t{8} << 30, .poison = false});
  auto stream = *device->NewStream();
  int replayed_traces = 0;
  for (const snapshot::Trace& trace : (*snapshot)->gpu.traces) {
    if (trace.entry_count == 0) continue;
    auto pool = *Pool::Create(*device, {.tell_device = false});
    auto replayed = ReplayTrace(**snapshot, trace, *pool, *stream);
    ASSERT_THAT(replayed, IsOk());
    ++replayed_traces;
    std::printf("%-36s theirs %.4f ours %.4f by offset %.4f (peak live %llu)\n", GetParam(),
                replayed->theirs(), replayed->ours(), replayed->ours_by_offset(),
                static_cast<unsigned long long>(replayed->peak_live));
    EXPECT_LT(replayed->ours_by_offset(), replayed->theirs());
    // Memory comes in granules of 2 MiB. Where the other allocator has reserved as many as the live
    // bytes alone need, nobody can reserve less.
    const uint64_t least = (replayed->peak_live + kGranule - 1) / kGranule * kGranule;
    if (replayed->their_reserved > least) {
      EXPECT_LT(replayed->ours(), replayed->theirs());
    } else {
      EXPECT_EQ(replayed->our_mapped, least);
    }
  }
  EXPECT_GT(replayed_traces, 0);
  stream.reset();
  EXPECT_THAT(device->Close(), IsOk());
}

INSTANTIATE_TEST_SUITE_P(Recorded, TraceReplay,
                         testing::Values("cpp_writer_2_11", "expandable_two_streams",
                                         "leak_step39", "leak_step9", "oom_fragmented",
                                         "reduce_overhead_batches_1_2_4_8", "torch_2_15_mixed",
                                         "train_step7"));

}  // namespace
}  // namespace graphtree
