// Snapshots of a pool: the schema that other tools read, and the keys that are only ours.
#include "allocator/pool_snapshot.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/books/block_record.h"
#include "allocator/books/checkpoint_tree.h"
#include "allocator/memory/piece_row.h"
#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "allocator/snapshot/snapshot.h"
#include "allocator/snapshot/words.h"
#include "device/address.h"
#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

namespace words = snapshot::words;

class PoolSnapshotTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = *OpenHostDevice({.memory_bytes = 256 << 20});
    stream_ = *device_->NewStream();
    pool_ = *Pool::Create(*device_, {});
    weights_ = *pool_->Allocate(3000001, *stream_, {.tag = pool_->journal().Word("weights")});
    const Block gone = *pool_->Allocate(5000, *stream_);
    kept_ = *pool_->Allocate(100, *stream_, {.region = Region::kLasting});
    last_ = *pool_->Allocate(20 << 20, *stream_, {.note = pool_->journal().Word("model.cc:17")});
    EXPECT_THAT(pool_->Free(gone.id), IsOk());
  }
  void TearDown() override {
    pool_.reset();
    stream_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }
  std::vector<std::string> Actions(const snapshot::Snapshot& snapshot) {
    std::vector<std::string> actions;
    for (const auto& entry : snapshot.EntriesOf(snapshot.gpu.traces[0])) {
      actions.emplace_back(snapshot.Text(entry.action));
    }
    return actions;
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Pool> pool_;
  Block weights_, kept_, last_;
};

TEST_F(PoolSnapshotTest, BlocksTileTheirSegmentsAndTotalsAddUp) {
  auto snapshot = TakePoolSnapshot(*pool_);
  ASSERT_THAT(snapshot, IsOk());
  const PoolStats stats = pool_->Stats();
  uint64_t total = 0, live = 0, requested = 0, blocks = 0;
  for (const snapshot::Segment& segment : (*snapshot)->gpu.segments) {
    total += segment.total_size;
    requested += segment.requested_size;
    uint64_t at = segment.address, allocated = 0;
    for (const snapshot::Block& block : (*snapshot)->BlocksOf(segment)) {
      EXPECT_EQ(block.address, at);
      at += block.size;
      if (!block.allocated()) continue;
      allocated += block.size;
      ++blocks;
    }
    EXPECT_EQ(at, segment.address + segment.total_size);
    EXPECT_EQ(allocated, segment.allocated_size);
    EXPECT_TRUE(segment.expandable);
    EXPECT_EQ((*snapshot)->Pool(segment.pool),
              std::make_pair(uint64_t{0}, pool_->arena().serial()));
    live += allocated;
  }
  EXPECT_EQ(total, stats.mapped_bytes);
  EXPECT_EQ(live, stats.live_bytes);
  EXPECT_EQ(requested, stats.requested_bytes);
  EXPECT_EQ(blocks, 3u);
}

TEST_F(PoolSnapshotTest, HistoryIsToldInThePeersWords) {
  pool_->journal().SetContext(pool_->journal().Word("request 3"));
  EXPECT_THAT(pool_->Annotate(weights_.id, "layer 2"), IsOk());
  auto snapshot = TakePoolSnapshot(*pool_);
  ASSERT_THAT(snapshot, IsOk());
  const std::vector<std::string> expected = {
      "segment_map", "alloc",          "alloc",          "segment_map", "alloc",   "segment_map",
      "alloc",       "free_requested", "free_completed", "annotate",    "snapshot"};
  EXPECT_EQ(Actions(**snapshot), expected);
  const auto entries = (*snapshot)->EntriesOf((*snapshot)->gpu.traces[0]);
  EXPECT_EQ(entries[1].size, 3000001u) << "what was asked for";
  EXPECT_EQ((*snapshot)->Text(entries[9].user_metadata), "layer 2");
  EXPECT_EQ((*snapshot)->Text(entries[10].user_metadata), "request 3");
  for (size_t i = 1; i < entries.size(); ++i) EXPECT_GE(entries[i].time_us, entries[i - 1].time_us);
}

TEST_F(PoolSnapshotTest, ARestoreIsOneEntryThatNamesWhatWentAndCame) {
  const CheckpointId here = *pool_->checkpoints().Take();
  const std::string before = *PoolSnapshotJson(*pool_, {.with_history = false});
  EXPECT_THAT(pool_->Allocate(12345, *stream_), IsOk());
  EXPECT_THAT(pool_->Free(weights_.id), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(here), IsOk());
  const std::string after = *PoolSnapshotJson(*pool_, {.with_history = false});
  const std::string end = "\"graphtree\"";
  EXPECT_EQ(before.substr(0, before.find(end)), after.substr(0, after.find(end)));
  EXPECT_EQ(Actions(**TakePoolSnapshot(*pool_)).end()[-3], "checkpoint_restore");
  const std::string whole = *PoolSnapshotJson(*pool_);
  EXPECT_NE(whole.find(", 12345]], \"back\": [["), std::string::npos) << whole;
  EXPECT_NE(whole.find(absl::StrCat("\"back\": [[", weights_.range.base, ", 3000001]]")),
            std::string::npos) << whole;
}

TEST_F(PoolSnapshotTest, OurFieldsSayWhoMadeABlockAndWhatIsParked) {
  EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost, {last_.range}), IsOk());
  const std::string json = *PoolSnapshotJson(*pool_, {.origin = [&](const Block& block) {
    return block.id == weights_.id ? BlockOrigin{"node 4", "decode"} : BlockOrigin{};
  }});
  EXPECT_NE(json.find("\"node\": \"node 4\", \"function\": \"decode\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"tag\": \"weights\""), std::string::npos);
  EXPECT_NE(json.find("\"note\": \"model.cc:17\""), std::string::npos);
  EXPECT_NE(json.find("\"parked\": true}"), std::string::npos);
  EXPECT_NE(json.find("\"kept\": true"), std::string::npos);
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
}

TEST_F(PoolSnapshotTest, AFileOfNoKnownKindIsRefused) {
  EXPECT_THAT(WritePoolSnapshot(*pool_, "x.txt"),
              FailsWith(absl::StatusCode::kInvalidArgument, ".pickle, .json or .sqlite"));
}

// A block's name may have bytes that no form of a file can hold.
TEST_F(PoolSnapshotTest, WordsThatAreNoUtf8AreWrittenAsFarAsTheyAre) {
  EXPECT_THAT(pool_->Annotate(weights_.id, "caf\xC3\xA9 \xFF"), IsOk());
  EXPECT_NE(PoolSnapshotJson(*pool_)->find("\"note\": \"caf\xC3\xA9 \xEF\xBF\xBD\""),
            std::string::npos);
}

TEST_F(PoolSnapshotTest, ExactAddressesCarryAnInternalMark) {
  EXPECT_THAT(pool_->AllocateAt(last_.range.end() + (4 << 20), 100, *stream_), IsOk());
  EXPECT_NE(PoolSnapshotJson(*pool_)->find("\"internal_metadata\": \"mallocWithAddress\""),
            std::string::npos);
}

// There is one segment, and the snapshot says to the byte which part of it is parked.
TEST_F(PoolSnapshotTest, PartThatIsParkedIsToldFromTheRestOfItsSegment) {
  EXPECT_NE(PoolSnapshotJson(*pool_)->find("\"parked_ranges\": []"), std::string::npos);
  EXPECT_THAT(pool_->parking().Park(ParkContents::kDrop, {weights_.range}), IsOk());
  const PieceRow& row = std::as_const(*pool_).row(Region::kStep);
  std::string expected;
  for (uint32_t i = 0; i < row.count(); ++i) {
    const AddressRange range = row.RangeOf(i);
    if (!range.Overlaps(weights_.range) || range.Overlaps(last_.range)) continue;
    absl::StrAppend(&expected, expected.empty() ? "" : ", ");
    absl::StrAppend(&expected, "[", range.base, ", ", range.bytes, "]");
  }
  const std::string json = *PoolSnapshotJson(*pool_);
  EXPECT_NE(json.find(absl::StrCat("\"parked_ranges\": [", expected, "]")), std::string::npos)
      << expected;
  EXPECT_THAT(pool_->parking().Wake(), IsOk());
  EXPECT_NE(PoolSnapshotJson(*pool_)->find("\"parked_ranges\": []"), std::string::npos);
}

}  // namespace
}  // namespace graphtree
