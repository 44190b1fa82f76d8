// The pool on a GPU: executables go on working whatever happens to the memory under them.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "device/base/status_matchers.h"
#include "device/graph.h"
#include "device/open.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

class PoolGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* nvrtc = std::getenv("GRAPHTREE_NVRTC");
    auto device = OpenDevice("cuda:0", {.nvrtc_folder = nvrtc == nullptr ? "" : nvrtc,
                                        .kernel_cache_folder = ""});
    if (!device.ok()) GTEST_SKIP() << "needs a GPU: " << device.status().ToString();
    device_ = *std::move(device);
    stream_ = *device_->NewStream();
    other_ = *device_->NewStream();
    Open({});
  }
  void TearDown() override {
    pool_.reset();
    stream_.reset();
    other_.reset();
    if (device_ == nullptr) return;
    EXPECT_THAT(device_->Close(), IsOk());
  }
  void Open(PoolOptions options) {
    pool_.reset();
    pool_ = *Pool::Create(*device_, std::move(options));
  }
  absl::Status Fill(Stream& stream, const Block& block, uint8_t byte) {
    return stream.Fill(block.range.base, byte, 1, block.range.bytes);
  }
  // The byte that all of the block's bytes are; -1 if they differ.
  int Read(const Block& block) {
    auto host = *device_->memory().AllocateHost(block.range.bytes);
    EXPECT_THAT(stream_->Copy(host->range().base, block.range.base, block.range.bytes), IsOk());
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    const uint8_t* bytes = static_cast<const uint8_t*>(host->data());
    for (uint64_t i = 0; i < block.range.bytes; ++i) {
      if (bytes[i] != bytes[0]) return -1;
    }
    return bytes[0];
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_, other_;
  std::unique_ptr<Pool> pool_;
};

TEST_F(PoolGpuTest, ExecutableReplaysAfterParkWakeRestoreAndGrowth) {
  const CheckpointId root = *pool_->checkpoints().Take();
  auto scope = *pool_->scopes().Begin();
  ASSERT_THAT(stream_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  const Block temporary = *pool_->Allocate(30 * kMiB, *stream_);
  EXPECT_THAT(Fill(*stream_, temporary, 3), IsOk());
  const Block block = *pool_->Allocate(20 * kMiB, *stream_);
  EXPECT_THAT(stream_->Copy(block.range.base, temporary.range.base, block.range.bytes), IsOk());
  EXPECT_THAT(pool_->Free(temporary.id), IsOk());
  auto graph = *stream_->EndCapture();
  scope->Commit();
  const CheckpointId recorded = *pool_->checkpoints().Take();
  auto executable = *graph->Instantiate();
  const auto replays = [&] {
    EXPECT_THAT(Fill(*stream_, block, 0), IsOk());
    EXPECT_THAT(executable->Launch(*stream_), IsOk());
    return Read(block) == 3;
  };
  EXPECT_TRUE(replays());
  for (ParkContents contents : {ParkContents::kDrop, ParkContents::kToHost}) {
    ASSERT_THAT(pool_->parking().Park(contents), IsOk());
    EXPECT_EQ(pool_->Stats().mapped_bytes, 0u);
    ASSERT_THAT(pool_->parking().Wake(), IsOk());
    EXPECT_TRUE(replays()) << "after park and wake";
  }
  EXPECT_EQ(*pool_->memory().Trim(0), 0u) << "the graph's temporary is spared";
  EXPECT_THAT(pool_->checkpoints().Restore(root), IsOk());
  EXPECT_THAT(pool_->checkpoints().Restore(recorded), IsOk());
  EXPECT_TRUE(replays()) << "after restore";
  const Block grown = *pool_->Allocate(2000 * kMiB, *stream_);
  EXPECT_TRUE(replays()) << "with a grown arena";
  EXPECT_THAT(pool_->Free(grown.id), IsOk());
}

TEST_F(PoolGpuTest, ContentsComeBackFromHostMemory) {
  std::vector<Block> blocks;
  for (uint8_t i = 0; i < 12; ++i) {
    blocks.push_back(*pool_->Allocate((i * 900 + 1) * 1000, *stream_));
    EXPECT_THAT(Fill(*stream_, blocks.back(), i), IsOk());
  }
  ASSERT_THAT(pool_->parking().Park(ParkContents::kToHost), IsOk());
  ASSERT_THAT(pool_->parking().Wake(), IsOk());
  for (uint8_t i = 0; i < 12; ++i) EXPECT_EQ(Read(blocks[i]), i);
}

TEST_F(PoolGpuTest, BytesFreedOnOneStreamAreSafeOnAnother) {
  const Block a = *pool_->Allocate(512 * kMiB, *stream_);
  for (int i = 0; i < 20; ++i) EXPECT_THAT(Fill(*stream_, a, 1), IsOk());
  EXPECT_THAT(pool_->Free(a.id), IsOk());
  const Block b = *pool_->Allocate(512 * kMiB, *other_);
  EXPECT_EQ(a.range.base, b.range.base);
  EXPECT_THAT(Fill(*other_, b, 2), IsOk());
  EXPECT_THAT(other_->Synchronize(), IsOk());
  EXPECT_EQ(Read(b), 2) << "the first stream's fills came before";
}

TEST_F(PoolGpuTest, GrowsInsideACaptureAndReturnsTheGrowthOfAFailedOne) {
  const uint64_t free_before = device_->memory().Info()->free_bytes;
  auto scope = *pool_->scopes().Begin();
  ASSERT_THAT(stream_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(pool_->Allocate(1000 * kMiB, *stream_), IsOk());
  EXPECT_FALSE(stream_->Synchronize().ok());
  EXPECT_FALSE(stream_->EndCapture().ok());
  EXPECT_THAT(scope->RollBack(), IsOk());
  EXPECT_EQ(pool_->Stats().mapped_bytes, 0u);
  EXPECT_GE(device_->memory().Info()->free_bytes + 64 * kMiB, free_before);
}

TEST_F(PoolGpuTest, CanariesAreCheckedByAKernel) {
  Open({.debug = {.guard_gaps = true, .canaries = true}});
  const Block block = *pool_->Allocate(1000, *stream_, {.tag = pool_->journal().Word("x")});
  const absl::Status checked = pool_->watchers().CheckCanaries(*stream_);
  if (!checked.ok() && checked.ToString().find("NVRTC") != std::string::npos) {
    GTEST_SKIP() << checked.ToString();
  }
  EXPECT_THAT(checked, IsOk());
  EXPECT_THAT(stream_->Fill(block.range.base - 4, 9, 1, 4), IsOk());
  EXPECT_THAT(pool_->watchers().CheckCanaries(*stream_),
              FailsWith(absl::StatusCode::kDataLoss, "4 bytes in front of block \"x\""));
}

TEST_F(PoolGpuTest, OutOfMemoryNamesWhatOthersHold) {
  Open({.address_bytes = uint64_t{1} << 38});
  auto others = *Pool::Create(*device_, {});
  const uint64_t free_bytes = device_->memory().Info()->free_bytes;
  const Block theirs = *others->Allocate(free_bytes / 2, *stream_);
  const auto failed = pool_->Allocate(free_bytes * 3 / 4, *stream_);
  EXPECT_THAT(failed, FailsWith(absl::StatusCode::kResourceExhausted, "the device has no more"));
  EXPECT_GT(pool_->last_out_of_memory().held_by_others, free_bytes / 3);
  EXPECT_EQ(pool_->Stats().mapped_bytes, 0u);
  EXPECT_THAT(others->Free(theirs.id), IsOk());
  EXPECT_THAT(others->Close(), IsOk());
}

}  // namespace
}  // namespace graphtree
