// What a pool costs on the host device: allocating, restoring, history, growing.
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/books/block_record.h"
#include "allocator/books/checkpoint_tree.h"
#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "device/base/check.h"
#include "device/device.h"
#include "device/host/host_device.h"
#include "device/stream.h"
#include "tools/benching/row.h"
#include "tools/benching/timing.h"

namespace graphtree::bench {
namespace {

// The checks of the host device are not what is measured: a GPU is told nothing.
class Bench {
 public:
  explicit Bench(PoolOptions options = {}) {
    device_ = *OpenHostDevice({.memory_bytes = uint64_t{64} << 30, .poison = false});
    stream = *device_->NewStream();
    options.tell_device = false;
    pool = *Pool::Create(*device_, std::move(options));
  }
  BlockId MustAllocate(uint64_t bytes) {
    absl::StatusOr<Block> block = pool->Allocate(bytes, *stream);
    GRAPHTREE_CHECK(block.ok()) << block.status().ToString();
    return block->id;
  }
  void MustFree(BlockId id) { GRAPHTREE_CHECK(pool->Free(id).ok()); }

  std::vector<BlockId> Populate(size_t count, std::mt19937_64& random) {
    std::vector<BlockId> live;
    for (size_t i = 0; i < count; ++i) live.push_back(MustAllocate(RandomBytes(random)));
    for (size_t i = 0; i < 10 * count; ++i) {
      BlockId& victim = live[random() % count];
      MustFree(victim);
      victim = MustAllocate(RandomBytes(random));
    }
    return live;
  }
  static uint64_t RandomBytes(std::mt19937_64& random) {
    return random() % (uint64_t{1} << (1 + random() % 22));
  }

 private:
  std::unique_ptr<Device> device_;

 public:
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Pool> pool;
};

PoolOptions WithoutHistory() {
  PoolOptions options;
  options.history_entries = 0;
  return options;
}

[[maybe_unused]] const bool kWarmPairs = [] {
  for (uint64_t bytes : {uint64_t{512}, uint64_t{1} << 20, uint64_t{32} << 20}) {
    RegisterRow({.name = absl::StrCat("allocator.pool.warm_pair.", bytes),
                 .ours = "allocate and free",
                 .goal = "value <= 50 ns"},
                [bytes]() -> Outcome {
                  Bench bench(WithoutHistory());
                  bench.MustAllocate(1000);
                  return Measure([&] { bench.MustFree(bench.MustAllocate(bytes)); });
                });
  }
  return true;
}();

GRAPHTREE_ROW(RandomPairs, {.name = "allocator.pool.random_pair.10000_live",
                            .ours = "free a random block and allocate a random size",
                            .goal = "value <= 100 ns"}) {
  std::mt19937_64 random(1);
  Bench bench(WithoutHistory());
  std::vector<BlockId> live = bench.Populate(10000, random);
  std::vector<uint32_t> victims(1 << 12);
  std::vector<uint64_t> sizes(1 << 12);
  for (uint32_t& victim : victims) victim = static_cast<uint32_t>(random() % live.size());
  for (uint64_t& size : sizes) size = Bench::RandomBytes(random);
  size_t step = 0;
  return Measure([&] {
    BlockId& victim = live[victims[step]];
    bench.MustFree(victim);
    victim = bench.MustAllocate(sizes[step]);
    step = (step + 1) % victims.size();
  });
}

// A pair writes three entries: allocated, free requested, free completed.
GRAPHTREE_ROW(History, {.name = "allocator.pool.history.three_entries",
                        .ours = "allocate and free, history on",
                        .against = "history off",
                        .goal = "difference <= 90 ns"}) {
  Bench on, off(WithoutHistory());
  return ComparePair([&] { on.MustFree(on.MustAllocate(4096)); },
                     [&] { off.MustFree(off.MustAllocate(4096)); });
}

GRAPHTREE_ROW(Restore, {.name = "allocator.pool.restore.5000_10_changed",
                        .ours = "restore 5,000 blocks of which 10 changed",
                        .goal = "value <= 2 us"}) {
  std::mt19937_64 random(1);
  Bench bench;
  std::vector<BlockId> live = bench.Populate(5000, random);
  const CheckpointId before = *bench.pool->checkpoints().Take();
  for (size_t i = 0; i < 5; ++i) {
    bench.MustFree(live[i * 700]);
    bench.MustAllocate(Bench::RandomBytes(random));
  }
  const CheckpointId after = *bench.pool->checkpoints().Take();
  bool to_before = true;
  return Measure([&] {
    GRAPHTREE_CHECK(bench.pool->checkpoints().Restore(to_before ? before : after).ok());
    to_before = !to_before;
  });
}

GRAPHTREE_ROW(Take, {.name = "allocator.pool.checkpoint.take.5000",
                     .ours = "2 changes and a checkpoint, 5,000 live blocks",
                     .against = "the 2 changes",
                     .goal = "difference <= 100 ns"}) {
  std::mt19937_64 random(1);
  Bench bench(WithoutHistory());
  std::vector<BlockId> live = bench.Populate(5000, random);
  GRAPHTREE_CHECK(bench.pool->checkpoints().Take().ok());
  std::vector<CheckpointId> taken;
  taken.reserve(1000);
  size_t step = 0;
  const auto change = [&] {
    BlockId& victim = live[step++ % live.size()];
    bench.MustFree(victim);
    victim = bench.MustAllocate(4096);
  };
  TimingOptions options;
  options.most_calls = 1000;
  options.between = [&] {
    for (CheckpointId id : taken) GRAPHTREE_CHECK(bench.pool->checkpoints().Drop(id).ok());
    taken.clear();
  };
  return ComparePair(
      [&] {
        change();
        taken.push_back(*bench.pool->checkpoints().Take());
      },
      change, options);
}

}  // namespace
}  // namespace graphtree::bench
