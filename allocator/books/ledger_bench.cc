// What the books cost, without a device: placing, freeing, checkpoints, and bytes for each block.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/books/block_record.h"
#include "allocator/books/checkpoint_tree.h"
#include "allocator/books/ledger.h"
#include "allocator/placement/run.h"
#include "device/base/check.h"
#include "tools/benching/row.h"
#include "tools/benching/timing.h"

namespace graphtree::bench {
namespace {

constexpr uint32_t kEnd = 1u << 28;  // 128 GiB

// Sizes spread over their magnitudes, 1 byte to 4 MiB.
uint64_t RandomBytes(std::mt19937_64& random) {
  return random() % (uint64_t{1} << (1 + random() % 22));
}

BlockId MustAllocate(Ledger& ledger, uint64_t bytes) {
  const Allocation got = ledger.Allocate({.bytes = bytes});
  GRAPHTREE_CHECK(got.outcome == AllocateOutcome::kAllocated) << bytes << " bytes";
  return got.block;
}

// `count` live blocks in a space that has been in use for a while.
std::vector<BlockId> Populate(Ledger& ledger, size_t count, std::mt19937_64& random) {
  std::vector<BlockId> live;
  for (size_t i = 0; i < count; ++i) live.push_back(MustAllocate(ledger, RandomBytes(random)));
  for (size_t i = 0; i < 20 * count; ++i) {
    BlockId& victim = live[random() % count];
    ledger.Free(victim, 0);
    victim = MustAllocate(ledger, RandomBytes(random));
  }
  return live;
}

[[maybe_unused]] const bool kWarmPairs = [] {
  for (uint64_t bytes : {uint64_t{512}, uint64_t{1} << 20, uint64_t{32} << 20}) {
    RegisterRow({.name = absl::StrCat("allocator.ledger.warm_pair.", bytes),
                 .ours = "allocate and free, books only",
                 .goal = "value <= 50 ns"},
                [bytes]() -> Outcome {
                  Ledger ledger(kEnd, kEnd, kEnd);
                  MustAllocate(ledger, 1000);
                  return Measure([&] { ledger.Free(MustAllocate(ledger, bytes), 0); });
                });
  }
  return true;
}();

GRAPHTREE_ROW(RandomPairs, {.name = "allocator.ledger.random_pair.10000_live",
                            .ours = "free a random block and allocate a random size",
                            .goal = "value <= 100 ns"}) {
  std::mt19937_64 random(1);
  Ledger ledger(kEnd, kEnd, kEnd);
  std::vector<BlockId> live = Populate(ledger, 10000, random);
  // The choice of sizes and victims is made ahead: it is not what is measured.
  std::vector<uint32_t> victims(1 << 12);
  std::vector<uint64_t> sizes(1 << 12);
  for (uint32_t& victim : victims) victim = static_cast<uint32_t>(random() % live.size());
  for (uint64_t& size : sizes) size = RandomBytes(random);
  size_t step = 0;
  return Measure([&] {
    BlockId& victim = live[victims[step]];
    ledger.Free(victim, 0);
    victim = MustAllocate(ledger, sizes[step]);
    step = (step + 1) % victims.size();
  });
}

GRAPHTREE_ROW(BytesPerBlock, {.name = "allocator.ledger.bytes_per_block.10000_live",
                              .ours = "bookkeeping for each live block",
                              .unit = "B",
                              .goal = "value <= 96 B"}) {
  std::mt19937_64 random(1);
  Ledger ledger(kEnd, kEnd, kEnd);
  std::vector<BlockId> live = Populate(ledger, 10000, random);
  return Measurement{.ours = static_cast<double>(ledger.bookkeeping_bytes()) / 10000.0};
}

GRAPHTREE_ROW(TakeCheckpoint, {.name = "allocator.ledger.checkpoint.take.5000",
                               .ours = "2 changes and a checkpoint, 5,000 live blocks",
                               .against = "the 2 changes",
                               .goal = "difference <= 100 ns"}) {
  std::mt19937_64 random(1);
  Ledger ledger(kEnd, kEnd, kEnd);
  std::vector<BlockId> live = Populate(ledger, 5000, random);
  ledger.Take(0);
  std::vector<CheckpointTree::NodeId> taken;
  taken.reserve(1000);
  size_t step = 0;
  const auto change = [&] {
    BlockId& victim = live[step++ % live.size()];
    ledger.Free(victim, 0);
    victim = MustAllocate(ledger, 4096);
  };
  TimingOptions options;
  options.most_calls = 1000;
  options.between = [&] {
    for (CheckpointTree::NodeId id : taken) ledger.Drop(id);
    taken.clear();
  };
  return ComparePair(
      [&] {
        change();
        taken.push_back(ledger.Take(0));
      },
      change, options);
}

GRAPHTREE_ROW(RestoreTenOf5000, {.name = "allocator.ledger.checkpoint.restore.5000_10_changed",
                                 .ours = "restore 5,000 blocks of which 10 changed",
                                 .goal = "value <= 2 us"}) {
  std::mt19937_64 random(1);
  Ledger ledger(kEnd, kEnd, kEnd);
  std::vector<BlockId> live = Populate(ledger, 5000, random);
  const CheckpointTree::NodeId before = ledger.Take(0);
  for (int i = 0; i < 5; ++i) {
    ledger.Free(live[static_cast<size_t>(i) * 700], 0);
    MustAllocate(ledger, RandomBytes(random));
  }
  const CheckpointTree::NodeId after = ledger.Take(0);
  RestorePlan plan;
  bool to_before = true;
  return Measure([&] {
    ledger.Plan(to_before ? before : after, {}, {}, &plan);
    const RestoreOutcome outcome = ledger.Apply(&plan, 0);
    GRAPHTREE_CHECK(outcome == RestoreOutcome::kReady);
    to_before = !to_before;
  });
}

}  // namespace
}  // namespace graphtree::bench
