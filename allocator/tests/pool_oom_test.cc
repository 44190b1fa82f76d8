// The figures of an out-of-memory report account for every free byte.
#include <cstdint>
#include <memory>
#include <utility>

#include "allocator/memory/piece_row.h"
#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "allocator/reports/oom_report.h"
#include "allocator/tests/pool_fixture.h"
#include "device/base/status_matchers.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using absl::StatusCode;
constexpr uint64_t kMiB = uint64_t{1} << 20;

class PoolOomTest : public PoolFixture {
 protected:
  // Free memory stays mapped meanwhile, as a capture of somebody else's is open.
  const OomReport& RunOut() {
    auto capturing = *device_->NewStream();
    EXPECT_THAT(capturing->BeginCapture(CaptureMode::kThreadLocal), IsOk());
    EXPECT_THAT(pool_->Allocate(150 * kMiB, *stream_),
                FailsWith(StatusCode::kResourceExhausted, ""));
    EXPECT_THAT(capturing->EndCapture(), IsOk());
    return pool_->last_out_of_memory();
  }
  // The bytes of the step region's pieces that lie in the range, mapped or not.
  uint64_t PiecesIn(AddressRange range, bool mapped) {
    const PieceRow& row = std::as_const(*pool_).row(Region::kStep);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < row.count(); ++i) {
      const bool inside = range.Contains(row.RangeOf(i));
      if (inside && row.piece(i).is_mapped() == mapped) bytes += row.piece(i).bytes;
    }
    return bytes;
  }
  static uint64_t Accounted(const OomReport& report) {
    return report.live + report.free.between_blocks + report.free.behind_blocks +
           report.free.other_region;
  }
};

TEST_F(PoolOomTest, EveryMappedByteIsLiveOrFreeForAReason) {
  const Block a = Allocate(19 * kMiB), b = Allocate(kMiB), c = Allocate(20 * kMiB);
  const Block d = Allocate(kMiB + kMiB / 2);
  const BlockOptions in_kept = {.region = Region::kLasting};
  const Block kept = Allocate(5 * kMiB, in_kept);
  EXPECT_THAT(pool_->Free(Allocate(7 * kMiB, in_kept).id), IsOk());
  EXPECT_THAT(pool_->Free(c.id), IsOk());
  EXPECT_GT(*pool_->memory().Trim(0), 0u);
  EXPECT_GT(PiecesIn(c.range, /*mapped=*/false), 0u);
  EXPECT_THAT(pool_->checkpoints().Take(), IsOk());
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  EXPECT_EQ(*pool_->memory().ReserveAhead(8 * kMiB), 0u);
  EXPECT_THAT(pool_->memory().SetLimit(mapped() + kMiB), IsOk());
  const OomReport& report = RunOut();
  EXPECT_EQ(report.mapped, mapped());
  EXPECT_EQ(Accounted(report), report.mapped);
  EXPECT_EQ(report.live, b.range.bytes + d.range.bytes + kept.range.bytes);
  EXPECT_GE(report.free.between_blocks, a.range.bytes);
  EXPECT_LT(report.free.between_blocks, a.range.bytes + c.range.bytes)
      << "of the second hole most is not mapped";
  EXPECT_GE(report.free.behind_blocks, 8 * kMiB);
  EXPECT_LT(report.free.behind_blocks, 16 * kMiB);
  EXPECT_GT(report.free.other_region, 0u);
  EXPECT_EQ(report.free.held_by_checkpoints, PiecesIn(a.range, /*mapped=*/true))
      << "and not what something live lies in, too";
  EXPECT_EQ(report.free.parked, 0u) << "the hole is not to be woken";
  EXPECT_EQ(report.free.queued_frees, 0u);
  EXPECT_EQ(report.held_by_others, 0u);
}

TEST_F(PoolOomTest, WhatIsParkedOrQueuedOrSomebodyElsesIsNamed) {
  Block late;
  Open({.before_out_of_memory = [&](const MemoryWanted&) {
    EXPECT_THAT(pool_->FreeLater(late.id), IsOk());
    return false;
  }});
  const Block parked = Allocate(20 * kMiB);
  late = Allocate(3 * kMiB);
  const Block hole = Allocate(20 * kMiB), last = Allocate(kMiB);
  EXPECT_THAT(pool_->Free(hole.id), IsOk());
  EXPECT_THAT(pool_->memory().Trim(0), IsOk());
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop, {parked.range}), IsOk());
  auto other = *Pool::Create(*device_, {});
  const Block theirs = *other->Allocate(120 * kMiB, *stream_);
  const OomReport& report = RunOut();
  EXPECT_GE(report.free.parked, PiecesIn(parked.range, /*mapped=*/false));
  EXPECT_LT(report.free.parked, parked.range.bytes + hole.range.bytes / 2);
  EXPECT_EQ(report.free.queued_frees, late.range.bytes);
  EXPECT_EQ(report.held_by_others, other->Stats().mapped_bytes);
  EXPECT_EQ(report.live, parked.range.bytes + late.range.bytes + last.range.bytes);
  EXPECT_THAT(other->Free(theirs.id), IsOk());
  other.reset();
}

}  // namespace
}  // namespace graphtree
