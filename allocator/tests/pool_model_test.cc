// Random programs over a pool, every block's bytes checked, against a model that remembers what
// each block holds; and the same with one device call failing, for every call.
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "allocator/books/block_record.h"
#include "allocator/books/checkpoint_tree.h"
#include "allocator/placement/placement.h"
#include "allocator/placement/run.h"
#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "device/base/status_matchers.h"
#include "device/error.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

struct Held {
  Block block;
  uint8_t byte;
};
struct Saved {
  CheckpointId id;
  std::map<uint32_t, Held> live;  // of the step region, by record
};

// Drives a pool with seeded calls. Any call may fail when the device does; then nothing has
// changed.
class Program {
 public:
  Program(Device* device, uint64_t seed) : device_(*device), random_(seed) {}

  void Run(int steps) {
    auto stream = device_.NewStream();
    if (!stream.ok()) return;
    stream_ = *std::move(stream);
    auto other = device_.NewStream();
    if (!other.ok()) return;
    other_ = *std::move(other);
    auto host = device_.memory().AllocateHost(kMiB);
    if (!host.ok()) return;
    host_ = *std::move(host);
    auto pool = Pool::Create(device_, {.limit_bytes = 40 * kMiB, .address_bytes = 64 * kMiB});
    if (!pool.ok()) return;
    pool_ = *std::move(pool);
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) Step();
    CheckBytes();
    for (const Saved& saved : saved_) EXPECT_THAT(pool_->checkpoints().Drop(saved.id), IsOk());
    for (const auto& [index, held] : live_) EXPECT_THAT(pool_->Free(held.block.id), IsOk());
    for (const auto& [index, held] : kept_) EXPECT_THAT(pool_->Free(held.block.id), IsOk());
    EXPECT_EQ(pool_->Stats().live_blocks, 0u);
    EXPECT_EQ(pool_->Stats().checkpoints, 0u);
    pool_->ledger().CheckConsistency();
  }

  // How often each thing happened: where nothing fails there must be some of each.
  struct Done {
    int blocks_written = 0;
    int restores = 0;
    int blocks_checked = 0;
  };
  const Done& done() const { return done_; }

 private:
  void Step() {
    const uint64_t dice = random_() % 100;
    if (dice < 40) {
      Allocate();
    } else if (dice < 65) {
      Free();
    } else if (dice < 72) {
      Take();
    } else if (dice < 84) {
      Restore();
    } else if (dice < 88) {
      DropOne();
    } else if (dice < 92) {
      pool_->memory().Trim(random_() % (20 * kMiB)).status().IgnoreError();
    } else if (dice < 96) {
      ParkAndWake();
    } else {
      CheckBytes();
    }
    if (pool_->parking().is_parked()) pool_->parking().Wake().IgnoreError();
    ASSERT_FALSE(pool_->parking().is_parked()) << "a second attempt has to work";
    ASSERT_EQ(pool_->Stats().live_blocks, live_.size() + kept_.size());
    ASSERT_LE(pool_->Stats().mapped_bytes, 40 * kMiB);
  }

  Stream& AnyStream() { return random_() % 4 == 0 ? *other_ : *stream_; }

  // A block whose bytes could not be written is of no use to the model.
  void Write(std::map<uint32_t, Held>* where, const Block& block, Stream& stream) {
    const uint8_t byte = static_cast<uint8_t>(random_() % 251);
    if (block.range.empty() ||
        stream.Fill(block.range.base, byte, 1, block.range.bytes).ok()) {
      (*where)[block.id.index] = {block, byte};
      ++done_.blocks_written;
    } else {
      EXPECT_THAT(pool_->Free(block.id), IsOk());
    }
  }

  void Allocate() {
    const uint64_t bytes = random_() % (uint64_t{1} << (random_() % 23));
    const Region region = random_() % 8 == 0 ? Region::kLasting : Region::kStep;
    Stream& stream = AnyStream();
    auto block = pool_->Allocate(
        bytes, stream, {.alignment = uint64_t{1} << (random_() % 16), .region = region});
    if (block.ok()) Write(region == Region::kLasting ? &kept_ : &live_, *block, stream);
  }

  void Free() {
    std::map<uint32_t, Held>& from = random_() % 8 == 0 ? kept_ : live_;
    if (from.empty()) return;
    auto it = from.begin();
    std::advance(it, static_cast<long>(random_() % from.size()));
    EXPECT_THAT(pool_->Free(it->second.block.id), IsOk());
    from.erase(it);
  }

  void Take() {
    auto id = pool_->checkpoints().Take();
    ASSERT_THAT(id, IsOk());
    saved_.push_back({*id, live_});
  }

  // Writes blocks anew that were overwritten since the checkpoint: the model is of books, not of
  // bytes.
  void Restore() {
    if (saved_.empty()) return;
    const Saved saved = saved_[random_() % saved_.size()];
    const absl::Status status = pool_->checkpoints().Restore(saved.id);
    if (!status.ok()) return;
    ++done_.restores;
    live_ = saved.live;
    EXPECT_TRUE(*pool_->checkpoints().IsAt(saved.id));
    for (auto& [index, held] : live_) {
      EXPECT_EQ(pool_->Describe(held.block.id)->range, held.block.range);
      if (held.block.range.empty()) continue;
      held.byte = static_cast<uint8_t>(random_() % 251);
      ASSERT_THAT(FillOnBoth(held), IsOk());
    }
  }

  // The restored blocks' bytes may be in use on either stream; the program waits for both.
  absl::Status FillOnBoth(const Held& held) {
    absl::Status status;
    for (int attempt = 0; attempt < 2; ++attempt) {
      status = stream_->Synchronize();
      if (status.ok()) status = other_->Synchronize();
      if (status.ok()) {
        status = stream_->Fill(held.block.range.base, held.byte, 1, held.block.range.bytes);
      }
      if (status.ok()) status = pool_->UseOn(held.block.id, *stream_);
      if (status.ok()) status = stream_->Synchronize();
      if (status.ok()) break;
    }
    return status;
  }

  void DropOne() {
    if (saved_.empty()) return;
    const size_t which = random_() % saved_.size();
    EXPECT_THAT(pool_->checkpoints().Drop(saved_[which].id), IsOk());
    saved_.erase(saved_.begin() + static_cast<long>(which));
  }

  void ParkAndWake() {
    pool_->parking().Park(ParkContents::kToHost).IgnoreError();
    if (!pool_->parking().Wake().ok()) pool_->parking().Wake().IgnoreError();
  }

  void CheckBytes() {
    if (!stream_->Synchronize().ok() || !other_->Synchronize().ok()) return;
    for (const auto* map : {&live_, &kept_}) {
      for (const auto& [index, held] : *map) {
        const uint64_t bytes = std::min<uint64_t>(held.block.range.bytes, kMiB);
        if (bytes == 0) continue;
        const Address from = held.block.range.end() - bytes;
        if (!stream_->Copy(host_->range().base, from, bytes).ok()) return;
        if (!stream_->Synchronize().ok()) return;
        const uint8_t* data = static_cast<const uint8_t*>(host_->data());
        ASSERT_EQ(data[0], held.byte) << "block " << index;
        ASSERT_EQ(data[bytes / 2], held.byte) << "block " << index;
        ASSERT_EQ(data[bytes - 1], held.byte) << "block " << index;
        ++done_.blocks_checked;
      }
    }
  }

  Device& device_;
  std::mt19937_64 random_;
  std::unique_ptr<HostBuffer> host_;
  std::unique_ptr<Stream> stream_, other_;
  std::unique_ptr<Pool> pool_;
  std::map<uint32_t, Held> live_, kept_;
  std::vector<Saved> saved_;
  Done done_;
};

class PoolProgram : public testing::TestWithParam<int> {};

TEST_P(PoolProgram, KeepsEveryBlocksBytes) {
  SCOPED_TRACE(testing::Message() << "seed " << GetParam());
  auto device = *OpenHostDevice(
      {.seed = static_cast<uint64_t>(GetParam()) + 1, .memory_bytes = 64 * kMiB});
  {
    Program program(device.get(), static_cast<uint64_t>(GetParam()));
    program.Run(250);
    EXPECT_GT(program.done().blocks_written, 50);
    EXPECT_GT(program.done().restores, 5);
    EXPECT_GT(program.done().blocks_checked, 20);
  }
  EXPECT_THAT(device->Close(), IsOk());
}

INSTANTIATE_TEST_SUITE_P(Seeds, PoolProgram, testing::Range(0, 12));

TEST(PoolFaultTest, AnySingleFailingCallLosesNothing) {
  const auto make = [] { return *OpenHostDevice({.memory_bytes = 64 * kMiB, .poison = false}); };
  for (uint64_t seed : {3u, 4u}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const uint64_t calls = ForEveryFailingCall(
        make, [seed](FaultDevice& device) { Program(&device, seed).Run(60); });
    EXPECT_GT(calls, 100u);
  }
}

TEST(PoolFaultTest, FailedCallsLeaveTheSameAddressesToTheNext) {
  const auto make = [] { return *OpenHostDevice({.memory_bytes = 64 * kMiB}); };
  ForEveryFailingCall(make, [](FaultDevice& device) {
    auto stream = device.NewStream();
    if (!stream.ok()) return;
    auto pool = Pool::Create(device, {.address_bytes = 64 * kMiB});
    if (!pool.ok()) return;
    for (uint64_t bytes : {3 * kMiB, 20 * kMiB, kMiB}) {
      auto block = (*pool)->Allocate(bytes, **stream);
      if (!block.ok()) block = (*pool)->Allocate(bytes, **stream);
      ASSERT_THAT(block, IsOk());
    }
    const Placement& placement = (*pool)->ledger().placement(Region::kStep);
    EXPECT_EQ(placement.end() * kQuantum, 24 * kMiB);
  });
}

}  // namespace
}  // namespace graphtree
