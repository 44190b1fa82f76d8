// Parking and waking on a GPU, and the pool's hot paths beside the driver's own allocator calls.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/books/block_record.h"
#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "device/base/check.h"
#include "device/device.h"
#include "device/open.h"
#include "device/stream.h"
#include "tools/benching/row.h"
#include "tools/benching/timing.h"

namespace graphtree::bench {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

struct Bench {
  absl::Status Open(PoolOptions options) {
    auto opened = OpenDevice("cuda:0");
    if (!opened.ok()) return opened.status();
    device = *std::move(opened);
    auto made = device->NewStream();
    if (!made.ok()) return made.status();
    stream = *std::move(made);
    auto created = Pool::Create(*device, std::move(options));
    if (!created.ok()) return created.status();
    pool = *std::move(created);
    return absl::OkStatus();
  }
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Pool> pool;
};

double MillisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// `block_bytes` at a time, until 4 GiB are live.
Outcome ParkAndWake(uint64_t block_bytes) {
  Bench bench;
  const absl::Status opened = bench.Open({});
  if (!opened.ok()) return Skipped("needs a GPU: " + opened.ToString());
  for (uint64_t bytes = 0; bytes < 4 * kGiB; bytes += block_bytes) {
    auto block = bench.pool->Allocate(block_bytes, *bench.stream);
    if (!block.ok()) return block.status();
  }
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    absl::Status status = bench.pool->parking().Park(ParkContents::kDrop);
    if (status.ok()) status = bench.pool->parking().Wake();
    if (!status.ok()) return status;
    best = std::min(best, MillisecondsSince(start));
  }
  return Measurement{.ours = best};
}

[[maybe_unused]] const bool kParkRows = [] {
  for (uint64_t mib : {uint64_t{4096}, uint64_t{1}}) {
    RegisterRow({.name = absl::StrCat("allocator.pool.gpu.park_wake_4GiB.blocks_of_", mib, "MiB"),
                 .ours = "park and wake 4 GiB, contents dropped, best of 5",
                 .unit = "ms",
                 .goal = "value <= 10 ms"},
                [mib] { return ParkAndWake(mib << 20); });
  }
  return true;
}();

// Sizes are 512 bytes times a power of two up to 2^13: the workload of peer_bench.py.
GRAPHTREE_ROW(MixedPairs, {.name = "allocator.pool.gpu.mixed_pair.10000_live",
                           .ours = "free a random block and allocate a random size",
                           .goal = "value <= 100 ns"}) {
  Bench bench;
  const absl::Status opened = bench.Open({.history_entries = 0});
  if (!opened.ok()) return Skipped("needs a GPU: " + opened.ToString());
  std::mt19937_64 random(1);
  const auto allocate = [&](uint64_t bytes) {
    auto block = bench.pool->Allocate(bytes, *bench.stream);
    GRAPHTREE_CHECK(block.ok()) << block.status().ToString();
    return block->id;
  };
  std::vector<BlockId> live(10000);
  for (BlockId& id : live) id = allocate(uint64_t{512} << random() % 14);
  std::vector<size_t> victims(4096);
  std::vector<uint64_t> sizes(4096);
  for (size_t& victim : victims) victim = random() % live.size();
  for (uint64_t& size : sizes) size = uint64_t{512} << random() % 14;
  size_t step = 0;
  return Measure([&] {
    BlockId& id = live[victims[step % 4096]];
    GRAPHTREE_CHECK(bench.pool->Free(id).ok());
    id = allocate(sizes[step % 4096]);
    ++step;
  });
}

[[maybe_unused]] const bool kPairRows = [] {
  for (uint64_t bytes : {uint64_t{512}, uint64_t{1} << 20, uint64_t{32} << 20}) {
    RegisterRow({.name = absl::StrCat("allocator.pool.gpu.warm_pair.", bytes),
                 .ours = "allocate and free",
                 .goal = "value <= 50 ns"},
                [bytes]() -> Outcome {
                  Bench bench;
                  const absl::Status opened = bench.Open({.history_entries = 0});
                  if (!opened.ok()) return Skipped("needs a GPU: " + opened.ToString());
                  return Measure([&] {
                    auto block = bench.pool->Allocate(bytes, *bench.stream);
                    GRAPHTREE_CHECK(block.ok() && bench.pool->Free(block->id).ok());
                  });
                });
  }
  return true;
}();

}  // namespace
}  // namespace graphtree::bench
