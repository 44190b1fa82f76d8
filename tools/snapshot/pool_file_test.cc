// What a pool writes of itself is what the readers read and the analysis finds in order.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/pool.h"
#include "allocator/pool_snapshot.h"
#include "allocator/pool_types.h"
#include "allocator/snapshot/byte_sink.h"
#include "allocator/snapshot/json_format.h"
#include "allocator/snapshot/snapshot.h"
#include "allocator/snapshot/write.h"
#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "gtest/gtest.h"
#include "tools/snapshot/analysis/check.h"
#include "tools/snapshot/analysis/history.h"
#include "tools/snapshot/read/read.h"

namespace graphtree::snapshot {
namespace {

class PoolFileTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = *OpenHostDevice({.memory_bytes = 256 << 20});
    stream_ = *device_->NewStream();
  }
  void TearDown() override {
    pool_.reset();
    stream_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }

  // Whatever a pool can go through, step by step.
  void RunRandomProgram(uint64_t seed) {
    std::mt19937_64 random(seed);
    pool_ = *Pool::Create(*device_, {.initial_bytes = seed % 2 == 0 ? uint64_t{5} << 20 : 0});
    blocks_.clear();
    checkpoints_.clear();
    for (int step = 0; step < 150; ++step) {
      const uint64_t dice = random() % 100;
      if (dice < 91) {
        ChangeBooks(dice, random);
      } else if (dice < 95 && !blocks_.empty()) {
        const auto part = pool_->Describe(blocks_[random() % blocks_.size()]);
        if (part.ok() && !part->range.empty()) {
          EXPECT_THAT(pool_->parking().Park(ParkContents::kToHost, {part->range}), IsOk());
        }
      } else {
        EXPECT_THAT(
            pool_->parking().Park(random() % 2 == 0 ? ParkContents::kDrop : ParkContents::kToHost),
            IsOk());
        if (step > 120) break;
        EXPECT_THAT(pool_->parking().Wake(), IsOk());
      }
    }
  }

  void ChangeBooks(uint64_t dice, std::mt19937_64& random) {
    if (dice < 50) {
      const Region region = random() % 5 == 0 ? Region::kLasting : Region::kStep;
      auto block =
          pool_->Allocate(random() % (uint64_t{1} << (random() % 24)), *stream_,
                          {.region = region, .tag = pool_->journal().Word(absl::StrCat(dice))});
      if (block.ok()) blocks_.push_back(block->id);
    } else if (dice < 70 && !blocks_.empty()) {
      pool_->Free(blocks_[random() % blocks_.size()]).IgnoreError();
    } else if (dice < 76) {
      checkpoints_.push_back(*pool_->checkpoints().Take());
    } else if (dice < 82 && !checkpoints_.empty()) {
      pool_->checkpoints().Restore(checkpoints_[random() % checkpoints_.size()]).IgnoreError();
    } else if (dice < 86) {
      auto scope = *pool_->scopes().Begin();
      // A part may be parked.
      pool_->Allocate(random() % (20 << 20), *stream_).status().IgnoreError();
      pool_->Allocate(100, *stream_, {.region = Region::kLasting}).status().IgnoreError();
    } else {
      EXPECT_THAT(pool_->memory().Trim(random() % (20 << 20), random() % 2 == 0), IsOk());
    }
  }

  void ExpectHistoryLeadsToWhatIsLive(const Snapshot& snapshot) {
    const auto history = BuildHistories(snapshot, snapshot.gpu).at(0);
    EXPECT_FALSE(history.losses.any());
    EXPECT_EQ(history.allocated_at_start, 0u) << "recorded from the beginning";
    int64_t requested = 0;
    for (uint32_t event = 0; event < history.rows.size(); ++event) {
      requested += ChangeOf(snapshot, history, event).allocated;
    }
    EXPECT_EQ(static_cast<uint64_t>(requested), pool_->Stats().requested_bytes);
    EXPECT_GE(history.allocated_peak.bytes, pool_->Stats().peak_requested_bytes);
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Pool> pool_;
  std::vector<BlockId> blocks_;
  std::vector<CheckpointId> checkpoints_;
};

std::string JsonText(const Snapshot& snapshot) {
  std::string text;
  auto sink = ByteSink::To(&text);
  EXPECT_THAT(WriteJson(snapshot, *sink), IsOk());
  EXPECT_THAT(sink->Commit(), IsOk());
  return text;
}

TEST_F(PoolFileTest, EverySnapshotOfARandomProgramIsConsistent) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RunRandomProgram(seed);
    const auto taken = *TakePoolSnapshot(*pool_);
    const auto result = Check(*taken);
    for (const Finding& finding : result.findings) {
      ADD_FAILURE() << finding.where << ": " << finding.what;
    }
    EXPECT_GT(result.entries, 80u);
    ExpectHistoryLeadsToWhatIsLive(*taken);
  }
}

TEST_F(PoolFileTest, FilesOfEveryKindReadBackTheSame) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    RunRandomProgram(seed);
    const auto taken = *TakePoolSnapshot(*pool_);
    const std::string expected = JsonText(*taken);
    for (const char* ending : {".pickle", ".json", ".sqlite"}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " " << ending);
      const std::string path = absl::StrCat(testing::TempDir(), "/pool", ending);
      std::remove(path.c_str());
      ASSERT_THAT(WriteSnapshot(*taken, *FileKindOf(path), 4, path), IsOk());
      auto read = ReadSnapshot(path);
      ASSERT_THAT(read, IsOk());
      EXPECT_EQ(JsonText(**read), expected);
      EXPECT_EQ((*read)->gpu.segments.size(), taken->gpu.segments.size());
      EXPECT_EQ((*read)->entries.size(), taken->entries.size());
    }
  }
}

TEST_F(PoolFileTest, ThePoolsOwnFileHoldsWhatIsLive) {
  for (const char* ending : {".pickle", ".json", ".sqlite"}) {
    RunRandomProgram(3);
    const std::string path = absl::StrCat(testing::TempDir(), "/own", ending);
    std::remove(path.c_str());
    ASSERT_THAT(WritePoolSnapshot(*pool_, path), IsOk()) << ending;
    auto read = ReadSnapshot(path);
    ASSERT_THAT(read, IsOk()) << ending;
    uint64_t live = 0;
    for (const Segment& segment : (*read)->gpu.segments) live += segment.allocated_size;
    EXPECT_GT(live, 0u);
    EXPECT_EQ(live, pool_->Stats().live_bytes) << ending;
  }
}

}  // namespace
}  // namespace graphtree::snapshot
