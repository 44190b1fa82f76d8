// Many streams on one pool: bits that are shared, streams that are forgotten, waits that fail.
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "allocator/books/block_record.h"
#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "allocator/tests/pool_fixture.h"
#include "device/base/status_matchers.h"
#include "device/error.h"
#include "device/fault/fault_device.h"
#include "device/graph.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// The device is lost if two ops touch the same bytes in no order.
class PoolStreamTest : public PoolFixture {
 protected:
  void SetUp() override {
    PoolFixture::SetUp();
    event_ = *device_->NewEvent({});
  }
  void TearDown() override {
    pool_.reset();
    event_.reset();
    streams_.clear();
    PoolFixture::TearDown();
  }
  Stream& New() {
    streams_.push_back(*device_->NewStream());
    return *streams_.back();
  }
  // A block that was used on the stream and is freed.
  Block UsedOn(Stream& stream) {
    const Block block = *pool_->Allocate(kMiB, stream);
    EXPECT_THAT(FillOn(stream, block), IsOk());
    EXPECT_THAT(pool_->Free(block.id), IsOk());
    return block;
  }
  static absl::Status FillOn(Stream& stream, const Block& block) {
    return stream.Fill(block.range.base, 1, 1, block.range.bytes);
  }
  void EverythingIsInOrder() {
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    for (const auto& stream : streams_) EXPECT_THAT(stream->Synchronize(), IsOk());
    EXPECT_THAT(device_->health(), IsOk());
  }

  std::vector<std::unique_ptr<Stream>> streams_;
  std::unique_ptr<Event> event_;
};

TEST_F(PoolStreamTest, StreamsThatShareABitAreOrderedAmongEachOther) {
  for (int i = 0; i < 100; ++i) {
    const Block block = UsedOn(New());
    EXPECT_EQ(block.range.base, pool_->arena().base()) << "the same bytes all the time";
  }
  EXPECT_EQ(pool_->Stats().cross_stream_reuses, 99u);
  EverythingIsInOrder();
}

TEST_F(PoolStreamTest, WhoeverSharesABitWithTheLastUserIsAStrangerToIt) {
  std::vector<Stream*> streams;
  for (int i = 0; i < 64; ++i) streams.push_back(&New());
  const Block hole = Allocate(kMiB);
  Allocate(kMiB);
  Write(hole, 1);
  EXPECT_THAT(pool_->Free(hole.id), IsOk());
  for (size_t i = 0; i < 32; ++i) {
    for (size_t j = 32; j < 64; ++j) {
      EXPECT_EQ(UsedOn(*streams[i]).range, hole.range);
      EXPECT_EQ(UsedOn(*streams[j]).range, hole.range);
    }
  }
  EverythingIsInOrder();
}

TEST_F(PoolStreamTest, WaitOfOneStreamIsNoWaitOfAnotherThatSharesItsBit) {
  std::vector<Stream*> first;
  for (int i = 0; i < 32; ++i) first.push_back(&New());
  for (Stream* stream : first) UsedOn(*stream);
  std::vector<Stream*> second;
  for (int i = 0; i < 32; ++i) second.push_back(&New());
  for (Stream* stream : second) UsedOn(*stream);
  // A long block of one stream, of which others take parts in turn. The block after it keeps its
  // bytes apart from those that all streams have used.
  const Block whole = *pool_->Allocate(64 * kMiB, *first[0]);
  Allocate(kMiB);
  EXPECT_THAT(FillOn(*first[0], whole), IsOk());
  EXPECT_THAT(pool_->Free(whole.id), IsOk());
  for (auto* streams : {&first, &second}) {
    for (Stream* stream : *streams) {
      EXPECT_THAT(FillOn(*stream, *pool_->Allocate(kMiB, *stream)), IsOk());
    }
  }
  EverythingIsInOrder();
}

TEST_F(PoolStreamTest, BitsOfForgottenStreamsAreUsedAgainAndTheirWorkIsAwaited) {
  Allocate(kMiB);
  for (int i = 0; i < 200; ++i) {
    auto brief = *device_->NewStream();
    UsedOn(*brief);
    EXPECT_THAT(pool_->streams().Forget(*brief), IsOk());
  }
  // All but one bit are free again: 31 streams that are here to stay need not share.
  std::vector<Stream*> staying;
  std::vector<Block> live;
  for (int i = 0; i < 31; ++i) staying.push_back(&New());
  for (Stream* stream : staying) live.push_back(*pool_->Allocate(kMiB, *stream));
  for (size_t i = 0; i < 31; ++i) EXPECT_THAT(FillOn(*staying[i], live[i]), IsOk());
  // Holes of one block each, which its own stream gets back. A stream waits once for those that
  // had its bit before.
  uint64_t reuses = 0;
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 1; i < 30; ++i) {
      EXPECT_THAT(pool_->Free(live[i].id), IsOk());
      live[i] = *pool_->Allocate(kMiB, *staying[i]);
      EXPECT_THAT(FillOn(*staying[i], live[i]), IsOk());
    }
    if (round == 0) reuses = pool_->Stats().cross_stream_reuses;
  }
  EXPECT_EQ(pool_->Stats().cross_stream_reuses, reuses) << "one stream for itself";
  EverythingIsInOrder();
}

// Nobody tells the pool that the streams are gone: it finds out, and awaits the work that they had
// queued.
TEST_F(PoolStreamTest, StreamsThatAreDestroyedAreForgotten) {
  Allocate(kMiB);
  for (int i = 0; i < 2000; ++i) {
    auto brief = *device_->NewStream();
    EXPECT_EQ(UsedOn(*brief).range.base, pool_->arena().base() + kMiB);
  }
  const std::vector<Stream*> all = {&New(), &New(), stream_.get()};
  for (Stream* stream : all) UsedOn(*stream);
  EverythingIsInOrder();
}

// The address of a stream is no name: a new one may have it, and knows nothing of what was queued.
TEST_F(PoolStreamTest, ANewStreamAtTheAddressOfOneThatIsGone) {
#ifdef ABSL_HAVE_ADDRESS_SANITIZER
  GTEST_SKIP() << "the address sanitizer gives no address again";
#endif
  int same = 0;
  const Stream* before = nullptr;
  for (int i = 0; i < 200; ++i) {
    auto brief = *device_->NewStream();
    same += brief.get() == before ? 1 : 0;
    before = brief.get();
    UsedOn(*brief);
  }
  EXPECT_GT(same, 0) << "else this test shows nothing";
  EverythingIsInOrder();
}

// Another thread names it when it frees the block. The next user comes after it, and the host waits
// for nothing.
TEST_F(PoolStreamTest, AStreamThatIsGoneWhenThePoolHearsOfIt) {
  for (int i = 0; i < 40; ++i) {
    const Block block = *pool_->Allocate(kMiB, *stream_);
    ASSERT_THAT(stream_->Synchronize(), IsOk());
    bool has_run = false;
    {
      const std::unique_ptr<Stream> stranger = *device_->NewStream();
      ASSERT_THAT(stranger->CallHost([&has_run] { has_run = true; }), IsOk());
      ASSERT_THAT(FillOn(*stranger, block), IsOk());
      pool_->UsedLaterOn(stranger->life());
    }
    ASSERT_THAT(pool_->FreeLater(block.id), IsOk());
    const Block next = *pool_->Allocate(kMiB, i % 2 == 0 ? *stream_ : New());
    EXPECT_EQ(next.range, block.range);
    EXPECT_FALSE(has_run);
    Stream& user = i % 2 == 0 ? *stream_ : *streams_.back();
    ASSERT_THAT(FillOn(user, next), IsOk());
    ASSERT_THAT(user.Synchronize(), IsOk());
    EXPECT_TRUE(has_run);
    ASSERT_THAT(pool_->Free(next.id), IsOk());
  }
  EverythingIsInOrder();
}

TEST_F(PoolStreamTest, LiveBlocksOfStreamsThatAreGone) {
  std::vector<Block> blocks;
  for (int i = 0; i < 100; ++i) {
    auto brief = *device_->NewStream();
    blocks.push_back(*pool_->Allocate(kMiB, *brief));
    EXPECT_THAT(FillOn(*brief, blocks.back()), IsOk());
  }
  for (const Block& block : blocks) EXPECT_THAT(pool_->Free(block.id), IsOk());
  const Block whole = *pool_->Allocate(100 * kMiB, *stream_);
  EXPECT_EQ(whole.range.base, blocks[0].range.base);
  EXPECT_THAT(FillOn(*stream_, whole), IsOk());
  EverythingIsInOrder();
  EXPECT_THAT(pool_->streams().Wait(), IsOk());
}

TEST_F(PoolStreamTest, LaunchesWaitForStreamsThatAreGone) {
  auto brief = *device_->NewStream();
  const Block eager = UsedOn(*brief);
  auto scope = *pool_->scopes().Begin();
  EXPECT_THAT(stream_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  const Block inside = *pool_->Allocate(kMiB, *stream_);
  EXPECT_EQ(inside.range.base, eager.range.base);
  brief = nullptr;
  EXPECT_THAT(FillOn(*stream_, inside), IsOk());
  auto graph = *stream_->EndCapture();
  for (const auto& earlier : scope->Commit()) {
    EXPECT_THAT(earlier->Await(*event_, *stream_), IsOk());
  }
  auto executable = *graph->Instantiate();
  EXPECT_THAT(executable->Launch(*stream_), IsOk());
  EverythingIsInOrder();
  EXPECT_THAT(pool_->Free(inside.id), IsOk());
}

// A fork that a capture has made, and that is gone when the capture ends: its work is the graph's.
TEST_F(PoolStreamTest, AForkThatEndsInItsCapture) {
  for (int round = 0; round < 40; ++round) {
    auto scope = *pool_->scopes().Begin();
    EXPECT_THAT(stream_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
    auto fork = *device_->NewStream();
    EXPECT_THAT(stream_->Record(*event_), IsOk());
    EXPECT_THAT(fork->Wait(*event_), IsOk());
    const Block block = *pool_->Allocate(kMiB, *fork);
    EXPECT_THAT(FillOn(*fork, block), IsOk());
    EXPECT_THAT(fork->Record(*event_), IsOk());
    EXPECT_THAT(stream_->Wait(*event_), IsOk());
    EXPECT_THAT(pool_->Free(block.id), IsOk());
    fork = nullptr;
    const Block again = *pool_->Allocate(kMiB, *stream_);
    EXPECT_EQ(again.range, block.range);
    EXPECT_THAT(FillOn(*stream_, again), IsOk());
    EXPECT_THAT(pool_->Free(again.id), IsOk());
    auto graph = *stream_->EndCapture();
    for (const auto& earlier : scope->Commit()) {
      EXPECT_THAT(earlier->Await(*event_, *stream_), IsOk());
    }
    auto executable = *graph->Instantiate();
    EXPECT_THAT(executable->Launch(*stream_), IsOk());
    EXPECT_THAT(pool_->streams().NoteLaunch(*stream_), IsOk());
    UsedOn(*stream_);
    EverythingIsInOrder();
  }
}

TEST_F(PoolStreamTest, LaunchesWaitForForgottenStreamsToo) {
  auto brief = *device_->NewStream();
  const Block eager = UsedOn(*brief);
  EXPECT_THAT(pool_->streams().Forget(*brief), IsOk());
  auto scope = *pool_->scopes().Begin();
  EXPECT_THAT(stream_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  const Block inside = *pool_->Allocate(kMiB, *stream_);
  EXPECT_EQ(inside.range.base, eager.range.base);
  EXPECT_THAT(FillOn(*stream_, inside), IsOk());
  auto graph = *stream_->EndCapture();
  const StreamLives awaited = scope->Commit();
  EXPECT_EQ(awaited.size(), 1u);
  for (const auto& earlier : awaited) EXPECT_THAT(earlier->Await(*event_, *stream_), IsOk());
  auto executable = *graph->Instantiate();
  EXPECT_THAT(executable->Launch(*stream_), IsOk());
  EXPECT_THAT(brief->Synchronize(), IsOk());
  EverythingIsInOrder();
  // The pool's own stream may be among the awaited ones: it goes with the pool.
  EXPECT_THAT(pool_->Free(inside.id), IsOk());
}

// The graph is launched on a stream that knows nothing of the one it was captured on.
class PoolLaunchTest : public PoolStreamTest {
 protected:
  void SetUp() override {
    PoolStreamTest::SetUp();
    capturing_ = &New();
    launcher_ = &New();
  }
  // Captures a fill of a new block of `bytes`, and launches it as the scope says.
  void CaptureAndLaunch(CaptureScope& scope, uint64_t bytes = kMiB) {
    EXPECT_THAT(capturing_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
    const Block block = *pool_->Allocate(bytes, *capturing_);
    EXPECT_THAT(FillOn(*capturing_, block), IsOk());
    auto graph = *capturing_->EndCapture();
    for (const auto& earlier : scope.Commit()) {
      EXPECT_THAT(earlier->Await(*event_, *launcher_), IsOk());
    }
    auto executable = *graph->Instantiate();
    EXPECT_THAT(executable->Launch(*launcher_), IsOk());
    EverythingIsInOrder();
  }

  Stream* capturing_;
  Stream* launcher_;
};

TEST_F(PoolLaunchTest, WaitsForWhatTheCapturingStreamUsedBefore) {
  UsedOn(*capturing_);
  auto scope = *pool_->scopes().Begin();
  CaptureAndLaunch(*scope);
}

TEST_F(PoolLaunchTest, WaitsForWhatTheCapturingStreamHadWaitedForBefore) {
  UsedOn(*stream_);
  UsedOn(*capturing_);  // after the stream's work
  const Block low = *pool_->Allocate(kMiB, *stream_), high = *pool_->Allocate(kMiB, *stream_);
  EXPECT_THAT(FillOn(*stream_, high), IsOk());
  EXPECT_THAT(pool_->Free(high.id), IsOk());
  const Block other = *pool_->Allocate(1000, *capturing_);  // waits, and takes a little of it
  EXPECT_THAT(FillOn(*capturing_, other), IsOk());
  auto scope = *pool_->scopes().Begin();
  CaptureAndLaunch(*scope, kMiB / 2);
  EXPECT_THAT(pool_->Free(low.id), IsOk());
}

TEST_F(PoolLaunchTest, WaitsForUsersOfWhatWasAllocatedInTheScopeBeforeItsCapture) {
  UsedOn(*stream_);
  auto scope = *pool_->scopes().Begin();
  const Block early = *pool_->Allocate(kMiB, *capturing_);
  EXPECT_THAT(capturing_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(FillOn(*capturing_, early), IsOk());
  auto graph = *capturing_->EndCapture();
  for (const auto& earlier : scope->Commit()) {
    EXPECT_THAT(earlier->Await(*event_, *launcher_), IsOk());
  }
  auto executable = *graph->Instantiate();
  EXPECT_THAT(executable->Launch(*launcher_), IsOk());
  EverythingIsInOrder();
}

// The launch that was to wait for the earlier users never came.
TEST_F(PoolLaunchTest, EarlierUsersAreAwaitedByTheNextIfNothingIsLaunched) {
  // All streams have used the bytes after the last block; a hole between two blocks remembers its
  // own users.
  const Block hole = Allocate(kMiB);
  Allocate(kMiB);
  EXPECT_THAT(pool_->Free(hole.id), IsOk());
  for (bool commit : {false, true}) {
    const Block used = UsedOn(*stream_);
    EXPECT_EQ(used.range, hole.range);
    auto scope = *pool_->scopes().Begin();
    EXPECT_THAT(capturing_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
    const Block inside = *pool_->Allocate(kMiB, *capturing_);
    EXPECT_EQ(inside.range, used.range);
    EXPECT_THAT(capturing_->EndCapture(), IsOk());
    if (commit) {
      EXPECT_FALSE(scope->Commit().empty());
      EXPECT_THAT(pool_->Free(inside.id), IsOk());
    } else {
      EXPECT_THAT(scope->RollBack(), IsOk());
    }
    const Block next = *pool_->Allocate(kMiB, *launcher_);
    EXPECT_EQ(next.range, used.range);
    EXPECT_THAT(FillOn(*launcher_, next), IsOk());
    EverythingIsInOrder();
    EXPECT_THAT(pool_->Free(next.id), IsOk());
  }
}

// Also without a scope, an edge of a graph orders nothing outside of the graph.
TEST_F(PoolLaunchTest, EdgeInsideACaptureIsNoWaitOutsideOfIt) {
  for (bool with_scope : {false, true}) {
    SCOPED_TRACE(with_scope);
    Open({});
    Stream& other = *launcher_;
    const Block low = *pool_->Allocate(kMiB, other), high = *pool_->Allocate(4 * kMiB, other);
    EXPECT_THAT(FillOn(other, high), IsOk());
    EXPECT_THAT(pool_->Free(high.id), IsOk());
    std::unique_ptr<CaptureScope> scope;
    if (with_scope) scope = *pool_->scopes().Begin();
    EXPECT_THAT(capturing_->BeginCapture(CaptureMode::kThreadLocal), IsOk());
    const Block inside = *pool_->Allocate(kMiB, *capturing_);
    EXPECT_THAT(capturing_->EndCapture(), IsOk());
    const Block outside = *pool_->Allocate(kMiB, *capturing_);
    EXPECT_TRUE(AddressRange({high.range.base, 4 * kMiB}).Contains(outside.range));
    EXPECT_THAT(FillOn(*capturing_, outside), IsOk());
    if (with_scope) scope->Commit();
    EverythingIsInOrder();
    for (BlockId id : {low.id, inside.id, outside.id}) EXPECT_THAT(pool_->Free(id), IsOk());
  }
}

TEST(PoolForgetTest, StreamThatCouldNotBeWaitedForIsNotForgotten) {
  FaultDevice device(*OpenHostDevice({.memory_bytes = 64 * kMiB}));
  auto first = *device.NewStream(), second = *device.NewStream();
  auto pool = *Pool::Create(device, {});
  const Block block = *pool->Allocate(kMiB, *first);
  EXPECT_THAT(first->Fill(block.range.base, 1, 1, kMiB), IsOk());
  EXPECT_THAT(pool->Free(block.id), IsOk());
  device.plan().FailEveryCallOf("Event.Synchronize", ErrorCode::kUnknown);
  EXPECT_FALSE(pool->streams().WaitAndForget().ok());
  device.plan().Clear();
  const Block again = *pool->Allocate(kMiB, *second);
  EXPECT_EQ(again.range.base, block.range.base);
  EXPECT_THAT(second->Fill(again.range.base, 2, 1, kMiB), IsOk());
  EXPECT_THAT(second->Synchronize(), IsOk());
  EXPECT_THAT(first->Synchronize(), IsOk());
  EXPECT_THAT(device.health(), IsOk());
  EXPECT_THAT(pool->streams().WaitAndForget(), IsOk()) << "the second time";
  first.reset();
  second.reset();
  pool.reset();
  EXPECT_THAT(device.Close(), IsOk());
}

// No stream of this device could wait for it: every later use of the bytes would fail.
TEST_F(PoolStreamTest, StreamsOfAnotherDeviceAreRefusedAndLeaveNothing) {
  auto other = *OpenHostDevice({.memory_bytes = uint64_t{16} << 20});
  auto theirs = *other->NewStream();
  const Block mine = Allocate(1000);
  const auto refused = FailsWith(absl::StatusCode::kInvalidArgument, "opened apart");
  EXPECT_THAT(pool_->Allocate(1000, *theirs), refused);
  EXPECT_THAT(pool_->AllocateAt(pool_->arena().base() + (1 << 20), 1000, *theirs), refused);
  EXPECT_THAT(pool_->UseOn(mine.id, *theirs), refused);
  EXPECT_THAT(pool_->streams().NoteLaunch(*theirs), refused);
  EXPECT_EQ(pool_->Stats().live_blocks, 1u);
  EXPECT_THAT(pool_->Free(mine.id), IsOk());
  auto another = *device_->NewStream();
  EXPECT_THAT(pool_->Allocate(1000, *another), IsOk());
  EXPECT_THAT(pool_->streams().Forget(*another), IsOk());
  theirs.reset();
  EXPECT_THAT(other->Close(), IsOk());
}

}  // namespace
}  // namespace graphtree
