// Another framework's callbacks on a pool.
#include "allocator/foreign.h"

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "device/address.h"
#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "device/host/native.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

class ForeignTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = *OpenHostDevice({.memory_bytes = 64 << 20});
    pool_ = *Pool::Create(*device_, {});
    theirs_ = *NewHostNativeStream(*device_);
    other_ = *NewHostNativeStream(*device_);
    foreign_ = std::make_unique<ForeignAllocator>(pool_.get());
    ASSERT_THAT(ForeignAllocator::Install(0, foreign_.get()), IsOk());
  }
  void TearDown() override {
    foreign_.reset();
    EXPECT_EQ(ForeignAllocator::Installed(0), nullptr) << "who is gone is not called";
    EXPECT_THAT(pool_->Close(), IsOk());
    pool_.reset();
    theirs_.reset();
    other_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<HostNativeStream> theirs_, other_;
  std::unique_ptr<ForeignAllocator> foreign_;
};

TEST_F(ForeignTest, CallbacksAllocateFromThePool) {
  void* a = graphtree_foreign_malloc(1000, 0, theirs_->handle());
  void* b = graphtree_foreign_malloc(0, 0, theirs_->handle());
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_NE(a, b);
  EXPECT_EQ(pool_->Stats().live_blocks, 2u);
  EXPECT_EQ(pool_->Find(AddressOf(a))->range.bytes, 1000u);
  graphtree_foreign_free(a, 1000, 0, theirs_->handle());
  graphtree_foreign_free(b, 0, 0, theirs_->handle());
  graphtree_foreign_free(nullptr, 0, 0, theirs_->handle());
  EXPECT_EQ(pool_->Stats().live_blocks, 0u);
  EXPECT_THAT(foreign_->last_error(), IsOk());
}

TEST_F(ForeignTest, UseOnAnotherStreamIsAwaited) {
  void* a = graphtree_foreign_malloc(1 << 20, 0, theirs_->handle());
  graphtree_foreign_record_stream(a, 0, other_->handle());
  graphtree_foreign_free(a, 1 << 20, 0, theirs_->handle());
  void* b = graphtree_foreign_malloc(1 << 20, 0, theirs_->handle());
  EXPECT_EQ(a, b);
  EXPECT_EQ(pool_->Stats().cross_stream_reuses, 1u);
  graphtree_foreign_free(b, 1 << 20, 0, theirs_->handle());
}

TEST_F(ForeignTest, FailuresReturnNullAndAreKept) {
  EXPECT_EQ(graphtree_foreign_malloc(int64_t{1} << 40, 0, theirs_->handle()), nullptr);
  EXPECT_THAT(foreign_->last_error(), FailsWith(absl::StatusCode::kResourceExhausted, "memory"));
  EXPECT_EQ(graphtree_foreign_malloc(-1, 0, theirs_->handle()), nullptr);
  EXPECT_EQ(graphtree_foreign_malloc(1, 63, theirs_->handle()), nullptr);
  EXPECT_EQ(graphtree_foreign_malloc(1, -1, theirs_->handle()), nullptr);
  int not_ours = 0;
  graphtree_foreign_free(&not_ours, 4, 0, theirs_->handle());
  EXPECT_THAT(foreign_->last_error(), FailsWith(absl::StatusCode::kNotFound, "no live block"));
}

TEST_F(ForeignTest, AServerThatIsAskedForMemoryMayFreeThroughTheHooks) {
  constexpr int64_t kMiB = 1 << 20;
  void* cache = nullptr;
  foreign_.reset();
  const auto drop_cache = [&](const MemoryWanted&) {
    graphtree_foreign_free(cache, 0, 0, theirs_->handle());
    return std::exchange(cache, nullptr) != nullptr;
  };
  pool_ = *Pool::Create(*device_,
                        {.address_bytes = 256 * kMiB, .before_out_of_memory = drop_cache});
  foreign_ = std::make_unique<ForeignAllocator>(pool_.get());
  ASSERT_THAT(ForeignAllocator::Install(0, foreign_.get()), IsOk());
  cache = graphtree_foreign_malloc(30 * kMiB, 0, theirs_->handle());
  void* between = graphtree_foreign_malloc(2 * kMiB, 0, theirs_->handle());
  void* wanted = graphtree_foreign_malloc(50 * kMiB, 0, theirs_->handle());
  EXPECT_NE(wanted, nullptr);
  EXPECT_EQ(cache, nullptr);
  graphtree_foreign_free(between, 0, 0, theirs_->handle());
  graphtree_foreign_free(wanted, 0, 0, theirs_->handle());
}

// The pool knows the adopted stream, which nobody can forget while it captures.
TEST_F(ForeignTest, MayGoWhileAStreamThatItAdoptedCaptures) {
  void* a = graphtree_foreign_malloc(1 << 20, 0, theirs_->handle());
  auto ours = *device_->AdoptStream(theirs_->handle());
  EXPECT_THAT(ours->Fill(AddressOf(a), 1, 1, 1 << 20), IsOk());
  graphtree_foreign_free(a, 0, 0, theirs_->handle());
  EXPECT_THAT(ours->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  foreign_.reset();
  EXPECT_THAT(pool_->streams().Wait(),
              FailsWith(absl::StatusCode::kFailedPrecondition, "capturing"))
      << "the pool knows it still";
  EXPECT_THAT(ours->EndCapture(), IsOk());
  auto stream = *device_->NewStream();
  const Block block = *pool_->Allocate(1 << 20, *stream);
  EXPECT_THAT(stream->Fill(block.range.base, 2, 1, 1 << 20), IsOk());
  EXPECT_THAT(stream->Synchronize(), IsOk());
  EXPECT_THAT(device_->health(), IsOk()) << "behind the first fill";
  EXPECT_THAT(pool_->Free(block.id), IsOk());
  EXPECT_THAT(pool_->Close(), IsOk());
  pool_.reset();
  stream.reset();
  ours.reset();
  pool_ = *Pool::Create(*device_, {});
}

// One is installed after the other, and its blocks go back to where they came from.
TEST_F(ForeignTest, ABlockGoesBackToTheOneThatHasGivenIt) {
  void* const block = graphtree_foreign_malloc(1000, 0, theirs_->handle());
  ASSERT_NE(block, nullptr);
  auto pool = *Pool::Create(*device_, {});
  ForeignAllocator second(pool.get());
  EXPECT_THAT(ForeignAllocator::Install(0, &second), IsOk());
  graphtree_foreign_record_stream(block, 0, other_->handle());
  graphtree_foreign_free(block, 1000, 0, theirs_->handle());
  EXPECT_EQ(pool_->Stats().live_blocks, 0u);
  EXPECT_THAT(second.last_error(), IsOk());
  void* const more = graphtree_foreign_malloc(1000, 0, theirs_->handle());
  EXPECT_EQ(pool->Stats().live_blocks, 1u);
  EXPECT_THAT(ForeignAllocator::Install(0, nullptr), IsOk());
  graphtree_foreign_free(more, 1000, 0, theirs_->handle());
  EXPECT_EQ(pool->Stats().live_blocks, 0u);
}

// An allocator that is on its way out while another thread's callback is in it.
class SlowAllocator : public ForeignAllocator {
 public:
  SlowAllocator(Pool* pool, std::atomic<bool>* has_gone)
      : ForeignAllocator(pool), has_gone_(has_gone) {}
  ~SlowAllocator() override {
    AwaitCallers();
    has_gone_->store(true);
  }
  std::atomic<bool> is_taking{false};

 protected:
  absl::StatusOr<Address> Take(uint64_t, Stream&) override {
    is_taking = true;
    // Whoever goes has begun to, and is given the time to be done with it.
    while (Installed(1) != nullptr) std::this_thread::yield();
    for (int turn = 0; turn < 10000; ++turn) std::this_thread::yield();
    EXPECT_FALSE(has_gone_->load());
    return absl::ResourceExhaustedError("none");
  }

 private:
  std::atomic<bool>* const has_gone_;
};

TEST_F(ForeignTest, WhoeverGoesWaitsForCallbacksThatAreInIt) {
  std::atomic<bool> has_gone{false};
  auto slow = std::make_unique<SlowAllocator>(pool_.get(), &has_gone);
  EXPECT_THAT(ForeignAllocator::Install(1, slow.get()), IsOk());
  std::thread caller(
      [&] { EXPECT_EQ(graphtree_foreign_malloc(64, 1, theirs_->handle()), nullptr); });
  while (!slow->is_taking) std::this_thread::yield();
  slow.reset();
  EXPECT_TRUE(has_gone);
  EXPECT_EQ(graphtree_foreign_malloc(64, 1, theirs_->handle()), nullptr);
  caller.join();
}

TEST_F(ForeignTest, NoDeviceHasSuchANumber) {
  for (const int number : {-1, 64, 1 << 30}) {
    EXPECT_THAT(ForeignAllocator::Install(number, foreign_.get()),
                FailsWith(absl::StatusCode::kInvalidArgument, "devices have numbers from 0 to 63"));
    EXPECT_EQ(ForeignAllocator::Installed(number), nullptr);
    EXPECT_EQ(graphtree_foreign_malloc(1, number, theirs_->handle()), nullptr);
  }
  EXPECT_EQ(ForeignAllocator::Installed(0), foreign_.get());
  EXPECT_THAT(ForeignAllocator::Install(63, foreign_.get()), IsOk());
  EXPECT_THAT(ForeignAllocator::Install(63, nullptr), IsOk());
  EXPECT_EQ(ForeignAllocator::Installed(63), nullptr);
}

TEST_F(ForeignTest, ThreadsTakeTurns) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      std::vector<void*> mine;
      for (int i = 0; i < 200; ++i) {
        mine.push_back(graphtree_foreign_malloc(100 * (t + 1), 0, theirs_->handle()));
        if (i % 3 != 0) continue;
        graphtree_foreign_free(mine.back(), 0, 0, theirs_->handle());
        mine.pop_back();
      }
      for (void* address : mine) graphtree_foreign_free(address, 0, 0, theirs_->handle());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(foreign_->last_error(), IsOk());
  EXPECT_EQ(pool_->Stats().refused_queued_frees, 0u);
}

}  // namespace
}  // namespace graphtree
