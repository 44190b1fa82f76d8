// What staging costs above the copies themselves: a step's block against one copy for each slot,
// into memory of the same kind.
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "runtime/shapes/key.h"
#include "runtime/slots/copy_for_device.h"
#include "runtime/slots/rows.h"
#include "runtime/slots/slot.h"
#include "runtime/slots/slot_plan.h"
#include "runtime/slots/step_block.h"
#include "tools/benching/row.h"
#include "tools/benching/timing.h"

namespace graphtree::bench {
namespace {

// Blocks come round as a ring's do.
constexpr uint64_t kBlocks = 8;

struct World {
  World(size_t count, int64_t bytes) : rows(bytes / static_cast<int64_t>(count * 4)) {
    for (size_t i = 0; i < count; ++i) {
      slots.push_back(
          {.name = absl::StrCat("slot", i), .sizes = {rows}, .rows = KeyField::kTokens});
    }
    plan = PlanShape(slots, PlanArena(slots), {.tokens = static_cast<int32_t>(rows)}).value();
    block_bytes = (plan.block_bytes + 255) / 256 * 256;
    memory.resize(kBlocks * block_bytes + 256);
    data.resize(rows);
  }
  uint8_t* NextBlock() {
    const uint64_t start = (256 - reinterpret_cast<uint64_t>(memory.data()) % 256) % 256;
    return memory.data() + start + turn++ % kBlocks * block_bytes;
  }

  const int64_t rows;
  std::vector<SlotSpec> slots;
  ShapePlan plan;
  uint64_t block_bytes = 0;
  std::vector<uint8_t> memory;
  std::vector<int32_t> data;
  StepBlock block;
  uint64_t turn = 0;
};

Outcome Time(size_t slots, int64_t bytes) {
  World ours(slots, bytes);
  World hands(slots, bytes);
  bool is_fine = true;
  const Measurement pair = ComparePair(
      [&] {
        ours.block.Begin(ours.slots, ours.plan, ours.NextBlock());
        for (SlotId slot = 0; slot < ours.slots.size(); ++slot) {
          is_fine &=
              ours.block.Stage(slot, HostRows{ours.data.data(), DType::kI32, ours.rows}).ok();
        }
        is_fine &= ours.block.Finish().ok();
        ClobberMemory();
      },
      [&] {
        uint8_t* const block = hands.NextBlock();
        const auto* const from = reinterpret_cast<const uint8_t*>(hands.data.data());
        const uint64_t each = hands.data.size() * sizeof(int32_t);
        for (size_t slot = 0; slot < hands.slots.size(); ++slot) {
          CopyForDevice(block + slot * each, from, each);
        }
        EndCopies();
        ClobberMemory();
      });
  GRAPHTREE_CHECK(is_fine) << "a slot was refused";
  return pair;
}

[[maybe_unused]] const bool registered = [] {
  for (const size_t slots : {8, 32}) {
    for (const int64_t bytes : {256, 4096, 32768}) {
      RegisterRow({.name = absl::StrCat("runtime.block.", slots, ".", bytes),
                   .ours = absl::StrCat("a block with ", slots, " slots, ", bytes, " B"),
                   .against = "a copy for each",
                   .goal = slots == 8 ? "difference <= 50 ns" : "difference <= 150 ns"},
                  [=]() -> Outcome { return Time(slots, bytes); });
    }
  }
  return true;
}();

}  // namespace
}  // namespace graphtree::bench
