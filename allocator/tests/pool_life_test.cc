// Random lives of a pool against a plain model: captures that are committed or fail, parts that are
// parked, debug modes, many streams that come and go, frees from other threads; every block's bytes
// are checked, and the host device checks that no two streams touch them in no order. Then the same
// with one device call failing, for every call.
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/books/block_record.h"
#include "allocator/books/checkpoint_tree.h"
#include "allocator/order/deferred.h"
#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "device/base/status_matchers.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/graph.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kLimit = 48 * kMiB;

struct Held {
  Block block;
  Region region;
  int byte;  // -1: anything
};
using Books = std::map<uint32_t, Held>;  // by record

// The features that a seed switches on.
struct Kind {
  size_t streams = 3;
  PoolDebug debug = {};
  bool goes_back = true;  // restores, and captures that fail
};

Kind KindOf(uint64_t seed) {
  switch (seed % 4) {
    case 0: return {};
    case 1: return {.streams = 34};
    case 2: return {.streams = 5, .debug = {.poison_on_free = true, .remember_frees = true}};
    // Guards of what comes back may have been written over by whoever lay there meanwhile.
    default: return {.debug = {.poison_on_free = true, .guard_gaps = true, .canaries = true,
                               .seal_dead_memory = true},
                     .goes_back = false};
  }
}

// Drives a pool with seeded calls. Any call may fail when the device does; then nothing has
// changed.
class Life {
 public:
  Life(Device* device, uint64_t seed) : device_(*device), kind_(KindOf(seed)), random_(seed) {}

  void Run(int steps) {
    if (!SetUp()) return;
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      SCOPED_TRACE(testing::Message() << "step " << step);
      Step();
      Compare();
    }
    if (testing::Test::HasFatalFailure()) return;
    CheckBytes();
    for (const auto& [id, books] : saved_) EXPECT_THAT(pool_->checkpoints().Drop(id), IsOk());
    for (const auto& [index, held] : live_) EXPECT_THAT(pool_->Free(held.block.id), IsOk());
    EXPECT_EQ(pool_->Stats().live_blocks, 0u);
    EXPECT_EQ(pool_->Stats().checkpoints, 0u);
    EXPECT_EQ(pool_->Stats().refused_queued_frees, 0u);
    pool_->ledger().CheckConsistency();
    EXPECT_THAT(device_.health(), IsOk());
  }

 private:
  bool SetUp() {
    for (size_t i = 0; i < kind_.streams; ++i) {
      auto stream = device_.NewStream();
      if (!stream.ok()) return false;
      streams_.push_back(*std::move(stream));
    }
    auto event = device_.NewEvent({});
    if (!event.ok()) return false;
    event_ = *std::move(event);
    auto host = device_.memory().AllocateHost(kMiB);
    if (!host.ok()) return false;
    host_ = *std::move(host);
    auto pool = Pool::Create(device_, {.limit_bytes = kLimit, .address_bytes = 256 * kMiB,
                                       .debug = kind_.debug});
    if (!pool.ok()) return false;
    pool_ = *std::move(pool);
    // In this order they get their bits: of 34 the last two share those of the second and third.
    for (const auto& stream : streams_) {
      if (auto block = pool_->Allocate(1, *stream); block.ok()) {
        EXPECT_THAT(pool_->Free(block->id), IsOk());
      }
    }
    return true;
  }

  void Step() {
    const uint64_t dice = random_() % 100;
    if (dice < 30) {
      Allocate(AnyStream());
    } else if (dice < 46) {
      Free();
    } else if (dice < 54) {
      FreeElsewhere();
    } else if (dice < 58) {
      UseOnAnother();
    } else if (dice < 68) {
      CaptureAndEnd();
    } else if (dice < 76) {
      Checkpoints();
    } else if (dice < 83) {
      ParkAPart();
    } else if (dice < 87) {
      ReplaceAStream();
    } else if (dice < 91) {
      pool_->memory().Trim(random_() % kLimit).status().IgnoreError();
    } else if (dice < 94) {
      pool_->watchers().SealDeadMemory().IgnoreError();
    } else {
      CheckBytes();
    }
  }

  // Checks what must hold at any time.
  void Compare() {
    const PoolStats stats = pool_->Stats();
    ASSERT_EQ(stats.live_blocks, live_.size() + stats.queued_frees);
    ASSERT_LE(stats.mapped_bytes, kLimit);
    ASSERT_FALSE(pool_->parking().is_parked());
    ASSERT_THAT(device_.health(), IsOk());
    AddressRange before;
    std::vector<AddressRange> ranges;
    for (const auto& [index, held] : live_) {
      const absl::StatusOr<Block> block = pool_->Describe(held.block.id);
      ASSERT_THAT(block, IsOk());
      ASSERT_EQ(block->range, held.block.range);
      ranges.push_back(block->range);
    }
    std::sort(ranges.begin(), ranges.end(),
              [](const AddressRange& a, const AddressRange& b) { return a.base < b.base; });
    for (const AddressRange& range : ranges) {
      ASSERT_LE(before.end(), range.base);
      before = range;
    }
  }

  Stream& AnyStream() {
    constexpr size_t kSharing[] = {1, 2, 32, 33};
    const bool shares = streams_.size() > 32 && random_() % 8 != 0;
    return *streams_[shares ? kSharing[random_() % 4] : random_() % streams_.size()];
  }
  Books::iterator AnyBlock() {
    auto it = live_.begin();
    std::advance(it, static_cast<long>(random_() % live_.size()));
    return it;
  }

  // A block whose bytes could not be written is of no use to the model.
  void Allocate(Stream& stream) {
    const uint64_t bytes = 1 + random_() % (uint64_t{1} << (random_() % 23));
    const Region region = random_() % 6 == 0 ? Region::kLasting : Region::kStep;
    const auto block = pool_->Allocate(
        bytes, stream, {.alignment = uint64_t{1} << (random_() % 24), .region = region});
    if (!block.ok()) return;
    const int byte = static_cast<int>(random_() % 251);
    const absl::Status filled =
        stream.Fill(block->range.base, static_cast<uint32_t>(byte), 1, bytes);
    live_[block->id.index] = {*block, region, filled.ok() ? byte : -1};
  }

  void Free() {
    if (live_.empty()) return;
    const auto it = AnyBlock();
    ASSERT_THAT(pool_->Free(it->second.block.id), IsOk());
    live_.erase(it);
  }

  void FreeElsewhere() {
    if (live_.empty()) return;
    const auto it = AnyBlock();
    const BlockId id = it->second.block.id;
    std::thread([&] { EXPECT_THAT(pool_->Free(id), IsOk()); }).join();
    gone_.push_back(it->first);
    live_.erase(it);
  }

  // A caller orders its work after the work of the block's own stream.
  void UseOnAnother() {
    if (live_.empty()) return;
    Held& held = AnyBlock()->second;
    if (!WaitForAll()) return;
    Stream& stream = AnyStream();
    if (!pool_->UseOn(held.block.id, stream).ok()) return;
    const int byte = static_cast<int>(random_() % 251);
    const bool filled = stream.Fill(held.block.range.base, static_cast<uint32_t>(byte), 1,
                                    held.block.range.bytes).ok();
    if (filled) held.byte = byte;
  }

  bool WaitForAll() {
    for (const auto& stream : streams_) {
      if (!stream->Synchronize().ok()) return false;
    }
    return pool_->streams().Wait().ok();  // streams that are gone have left work, too
  }

  // A scope, perhaps within another, around eager work and a capture. The graph is launched
  // anywhere.
  void CaptureAndEnd() {
    const Books before = live_;
    gone_.clear();
    auto scope = pool_->scopes().Begin();
    if (!scope.ok()) return;
    Stream& capturing = AnyStream();
    if (random_() % 2 == 0) Allocate(capturing);
    if (random_() % 4 == 0) CaptureInside();
    const bool begun = capturing.BeginCapture(CaptureMode::kThreadLocal).ok();
    for (uint64_t i = random_() % 6; begun && i > 0; --i) {
      const uint64_t dice = random_() % 8;
      if (dice < 4) Allocate(capturing);
      if (dice == 4) Allocate(AnyStream());
      if (dice > 4 && dice < 7) Free();
      if (dice == 7) FreeElsewhere();
    }
    std::unique_ptr<Graph> graph;
    if (begun) {
      if (auto ended = capturing.EndCapture(); ended.ok()) graph = *std::move(ended);
    }
    if (graph == nullptr || (kind_.goes_back && random_() % 3 == 0)) {
      GoBack(scope->get(), before);
      return;
    }
    // What was queued may be to return memory that the graph uses and nobody holds.
    const DeferredQueue::Holding holding(pool_->deferred());
    if (!Launch((*scope)->Commit(), *graph)) {
      for (auto& [index, held] : live_) held.byte = -1;
      went_back_ = true;  // guards that the graph was to write are not there
    }
  }

  void CaptureInside() {
    const Books before = live_;
    auto scope = pool_->scopes().Begin();
    if (!scope.ok()) return;
    Allocate(AnyStream());
    Free();
    FreeElsewhere();
    if (kind_.goes_back && random_() % 2 == 0) {
      GoBack(scope->get(), before);
    } else {
      (*scope)->Commit();
    }
  }

  // Blocks that others wrote over meanwhile have lost their bytes; blocks that other threads freed
  // are gone.
  void GoBack(CaptureScope* scope, const Books& before) {
    scope->RollBack().IgnoreError();
    went_back_ = true;
    Books now = before;
    for (uint32_t index : gone_) now.erase(index);
    for (auto& [index, held] : now) {
      const auto same = live_.find(index);
      const bool stayed = same != live_.end() && same->second.block.id == held.block.id;
      held.byte = stayed ? same->second.byte : -1;
    }
    live_ = std::move(now);
  }

  bool Launch(const StreamLives& awaited, const Graph& graph) {
    Stream& launcher = AnyStream();
    auto executable = graph.Instantiate();
    if (!executable.ok()) return false;
    for (const auto& earlier : awaited) {
      if (earlier == launcher.life()) continue;
      if (!earlier->Await(*event_, launcher).ok()) return false;
    }
    if (!(*executable)->Launch(launcher).ok()) return false;
    EXPECT_THAT(pool_->streams().NoteLaunch(launcher), IsOk());
    for (auto& [index, held] : live_) {
      EXPECT_THAT(pool_->UseOn(held.block.id, launcher), IsOk());
    }
    return WaitForAll();
  }

  void Checkpoints() {
    const uint64_t dice = random_() % 4;
    if (dice == 0 || saved_.empty()) {
      if (const auto id = pool_->checkpoints().Take(); id.ok())
        saved_.emplace_back(*id, StepBlocks());
    } else if (dice == 1 || !kind_.goes_back) {
      const size_t which = random_() % saved_.size();
      EXPECT_THAT(pool_->checkpoints().Drop(saved_[which].first), IsOk());
      saved_.erase(saved_.begin() + static_cast<long>(which));
    } else {
      Restore();
    }
  }

  Books StepBlocks() const {
    Books books;
    for (const auto& [index, held] : live_) {
      if (held.region == Region::kStep) books[index] = held;
    }
    return books;
  }

  void Restore() {
    const auto& [id, books] = saved_[random_() % saved_.size()];
    if (!pool_->checkpoints().Restore(id).ok()) return;
    went_back_ = true;
    Books now = books;
    for (auto& [index, held] : now) held.byte = -1;
    for (const auto& [index, held] : live_) {
      const auto same = now.find(index);
      if (held.region == Region::kLasting) now[index] = held;
      if (same != now.end() && same->second.block.id == held.block.id) same->second = held;
    }
    live_ = std::move(now);
  }

  void ParkAPart() {
    if (live_.empty()) return;
    const bool drops = random_() % 2 == 0;
    const Books before = live_;
    std::vector<AddressRange> parts;
    if (random_() % 3 != 0) parts.push_back(AnyBlock()->second.block.range);
    pool_->parking().Park(drops ? ParkContents::kDrop : ParkContents::kToHost, parts).IgnoreError();
    for (uint64_t i = random_() % 4; i > 0; --i) {
      random_() % 2 == 0 ? Allocate(AnyStream()) : Free();
    }
    if (!pool_->parking().Wake().ok() && !pool_->parking().Wake().ok()) {
      // Others have got the memory meanwhile.
      for (auto it = live_.begin(); it != live_.end();) {
        const auto old = before.find(it->first);
        const bool is_new = old == before.end() || !(old->second.block.id == it->second.block.id);
        if (is_new) {
          EXPECT_THAT(pool_->Free(it->second.block.id), IsOk());
        }
        it = is_new ? live_.erase(it) : std::next(it);
      }
      pool_->memory().Trim(0).status().IgnoreError();
      ASSERT_THAT(pool_->parking().Wake(), IsOk());
    }
    for (auto& [index, held] : live_) {
      const bool was_there = before.find(index) != before.end();
      if (drops && was_there) held.byte = -1;
    }
  }

  void ReplaceAStream() {
    const size_t which = random_() % streams_.size();
    auto fresh = device_.NewStream();
    if (!fresh.ok()) return;
    // Some streams are destroyed without a Forget.
    if (random_() % 3 == 0) {
      streams_[which] = *std::move(fresh);
      return;
    }
    if (!pool_->streams().Forget(*streams_[which]).ok()) return;
    if (random_() % 2 == 0) {
      streams_[which] = *std::move(fresh);
    } else {
      pool_->streams().Forget(std::move(streams_[which]));
      streams_[which] = *std::move(fresh);
    }
  }

  void CheckBytes() {
    if (kind_.debug.canaries && !went_back_) {
      EXPECT_NE(pool_->watchers().CheckCanaries(*streams_[0]).code(), absl::StatusCode::kDataLoss);
    }
    if (!WaitForAll()) return;
    for (const auto& [index, held] : live_) {
      if (held.byte < 0) continue;
      const uint64_t bytes = std::min<uint64_t>(held.block.range.bytes, kMiB);
      const Address from = held.block.range.end() - bytes;
      if (!streams_[0]->Copy(host_->range().base, from, bytes).ok()) return;
      // The pool was not told of this copy: it must be over before the block can be freed.
      if (!streams_[0]->Synchronize().ok() && !streams_[0]->Synchronize().ok()) return;
      const uint8_t* data = static_cast<const uint8_t*>(host_->data());
      ASSERT_EQ(data[0], held.byte) << "block " << index;
      ASSERT_EQ(data[bytes / 2], held.byte) << "block " << index;
      ASSERT_EQ(data[bytes - 1], held.byte) << "block " << index;
    }
  }

  Device& device_;
  const Kind kind_;
  std::mt19937_64 random_;
  std::unique_ptr<HostBuffer> host_;
  std::unique_ptr<Event> event_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::unique_ptr<Pool> pool_;
  Books live_;
  bool went_back_ = false;
  std::vector<uint32_t> gone_;  // freed by other threads since the scope began
  std::vector<std::pair<CheckpointId, Books>> saved_;
};

class PoolLife : public testing::TestWithParam<int> {};

TEST_P(PoolLife, KeepsEveryBlocksBytesAndOrder) {
  const uint64_t seed = static_cast<uint64_t>(GetParam());
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  auto device = *OpenHostDevice({.seed = seed + 1, .memory_bytes = 96 * kMiB});
  { Life(device.get(), seed).Run(200); }
  EXPECT_THAT(device->Close(), IsOk());
}

INSTANTIATE_TEST_SUITE_P(Seeds, PoolLife, testing::Range(0, 24));

TEST(PoolLifeFaultTest, AnySingleFailingCallLosesNothing) {
  const auto make = [] { return *OpenHostDevice({.memory_bytes = 96 * kMiB}); };
  for (uint64_t seed : {2u, 3u, 4u}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const uint64_t calls = ForEveryFailingCall(
        make, [seed](FaultDevice& device) { Life(&device, seed).Run(30); });
    EXPECT_GT(calls, 60u);
  }
}

}  // namespace
}  // namespace graphtree
