// Where slots lie: aligned, apart from each other, and where the layouts say.
#include "runtime/slots/slot_plan.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"
#include "runtime/slots/block_cursor.h"

namespace graphtree {
namespace {

using absl::StatusCode;

// First byte and the one after the last, sorted: none overlaps the next.
void ExpectApart(std::vector<std::pair<uint64_t, uint64_t>> ranges, uint64_t end) {
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 0; i < ranges.size(); ++i) {
    const uint64_t next = i + 1 < ranges.size() ? ranges[i + 1].first : end;
    EXPECT_LE(ranges[i].second, next) << "range " << i;
  }
}

std::vector<SlotSpec> RandomSlots(std::mt19937_64& random) {
  std::vector<SlotSpec> slots(random() % (kMostSlots + 1));
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].name = absl::StrCat("slot ", i);
    slots[i].type = static_cast<DType>(random() % 8);
    for (uint64_t axes = random() % 4; axes > 0; --axes) {
      slots[i].sizes.push_back(1 + static_cast<int64_t>(random() % 40));
    }
    if (slots[i].sizes.empty() || random() % 4 == 0) continue;
    slots[i].axis = static_cast<uint32_t>(random() % slots[i].sizes.size());
    slots[i].rows = KeyField::kTokens;
  }
  return slots;
}

int64_t MostTokens(const std::vector<SlotSpec>& slots) {
  int64_t most = 40;
  for (const SlotSpec& slot : slots) {
    if (slot.rows.has_value()) most = std::min(most, GreatestRows(slot));
  }
  return most;
}

TEST(SlotPlanTest, RandomSlotsLieApartAndAligned) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const std::vector<SlotSpec> slots = RandomSlots(random);
    ASSERT_THAT(CheckSlots(slots), IsOk());
    const ArenaPlan arena = PlanArena(slots);
    ASSERT_EQ(arena.offsets.size(), slots.size());
    std::vector<std::pair<uint64_t, uint64_t>> in_arena;
    for (size_t i = 0; i < slots.size(); ++i) {
      EXPECT_EQ(arena.offsets[i] % 256, 0u);
      uint64_t bytes = BytesOf(slots[i].type);
      for (const int64_t size : slots[i].sizes) bytes *= static_cast<uint64_t>(size);
      in_arena.push_back({arena.offsets[i], arena.offsets[i] + bytes});
    }
    EXPECT_EQ(arena.cursor % sizeof(unpack::Cursor), 0u);
    if (!slots.empty()) {
      in_arena.push_back({arena.cursor, arena.cursor + sizeof(unpack::Cursor)});
    }
    ExpectApart(in_arena, arena.bytes);

    const auto tokens =
        static_cast<int32_t>(random() % static_cast<uint64_t>(MostTokens(slots) + 1));
    const absl::StatusOr<ShapePlan> plan = PlanShape(slots, arena, {.tokens = tokens});
    ASSERT_THAT(plan, IsOk());
    EXPECT_EQ(plan->block->ToString(), absl::StrCat("u8[", plan->block_bytes, "]"));
    std::vector<std::pair<uint64_t, uint64_t>> in_block = {{0, slots.size() * 32}};
    uint64_t all_units = 0;
    for (size_t i = 0; i < slots.size(); ++i) {
      const unpack::Slot& slot = plan->slots[i];
      EXPECT_EQ(slot.target_unit * uint64_t{16}, arena.offsets[i]);
      EXPECT_EQ(slot.type, static_cast<uint8_t>(slots[i].type));
      EXPECT_EQ(slot.greatest_rows, GreatestRows(slots[i]));
      EXPECT_EQ(slot.rows, slots[i].rows.has_value() ? tokens : GreatestRows(slots[i]));
      // Each piece starts at a unit of its own.
      const uint64_t piece = slot.rows * uint64_t{slot.row_elements} * BytesOf(slots[i].type);
      const uint64_t units = (piece + 15) / 16 * slot.pieces;
      const uint64_t at = slot.payload_unit * uint64_t{16};
      if (units > 0) in_block.push_back({at, at + units * 16});
      EXPECT_EQ(slot.piece_units, (piece + 15) / 16);
      EXPECT_EQ(slot.payload_unit, 2 * slots.size() + all_units) << "no gap before it";
      all_units += units;
    }
    EXPECT_EQ(plan->launch_blocks, (all_units + 255) / 256);
    ExpectApart(in_block, plan->block_bytes);
  }
}

TEST(SlotPlanTest, TheBodySeesTheRowsOfItsShapeInsideOfTheGreatestSlot) {
  const std::vector<SlotSpec> slots = {
      {.name = "rows first", .type = DType::kF16, .sizes = {256, 8}, .rows = KeyField::kTokens},
      {.name = "rows last", .sizes = {3, 256}, .rows = KeyField::kTokens, .axis = 1},
      {.name = "rows between", .sizes = {2, 256, 5}, .rows = KeyField::kTokens, .axis = 1},
      {.name = "no rows", .sizes = {2, 3}},
      {.name = "one number", .type = DType::kF32}};
  const ShapePlan plan = PlanShape(slots, PlanArena(slots), {.tokens = 7}).value();
  EXPECT_EQ(plan.layouts[0], Layout::Of(DType::kF16, {7, 8}));
  EXPECT_EQ(plan.layouts[1], Layout::Strided(DType::kI32, {3, 7}, {256, 1}));
  EXPECT_EQ(plan.layouts[2], Layout::Strided(DType::kI32, {2, 7, 5}, {1280, 5, 1}));
  EXPECT_EQ(plan.layouts[3], Layout::Of(DType::kI32, {2, 3}));
  EXPECT_EQ(plan.layouts[4], Layout::Of(DType::kF32, {}));
}

TEST(SlotPlanTest, RowsAreCopiedAsTheyAreIntoSlotsOfOnePieceThatNoKernelFills) {
  const std::vector<SlotSpec> slots = {
      {.name = "rows first", .type = DType::kF16, .sizes = {256, 8}, .rows = KeyField::kTokens},
      {.name = "pieces", .sizes = {3, 256}, .rows = KeyField::kTokens, .axis = 1},
      {.name = "filled", .sizes = {4}, .fill = [](Launcher&, const Key&, const Tensor&) {}},
      {.name = "may be left out", .type = DType::kU8, .sizes = {4}, .may_be_left_out = true}};
  const ShapePlan plan = PlanShape(slots, PlanArena(slots), {.tokens = 7}).value();
  EXPECT_EQ(plan.places[0].plain_type, static_cast<uint8_t>(DType::kF16));
  EXPECT_EQ(plan.places[0].rows, 7u);
  EXPECT_EQ(plan.places[1].plain_type, SlotPlace::kNone);
  EXPECT_EQ(plan.places[2].plain_type, SlotPlace::kNone);
  EXPECT_EQ(plan.places[3].plain_type, static_cast<uint8_t>(DType::kU8));
  EXPECT_EQ(plan.filled, 0b0100u);
  EXPECT_EQ(plan.needed, 0b0011u);
}

TEST(SlotPlanTest, EachRuleHasItsTail) {
  std::vector<SlotSpec> slots;
  for (const PadRule rule :
       {PadRule::kZero, PadRule::kValue, PadRule::kLastRow, PadRule::kKeep, PadRule::kFillOnce}) {
    slots.push_back({.name = PadRuleName(rule), .pad = rule});
  }
  const ShapePlan plan = PlanShape(slots, PlanArena(slots), {}).value();
  EXPECT_EQ(plan.slots[0].tail, unpack::Tail::kValue);
  EXPECT_EQ(plan.slots[1].tail, unpack::Tail::kValue);
  EXPECT_EQ(plan.slots[2].tail, unpack::Tail::kLastRow);
  EXPECT_EQ(plan.slots[3].tail, unpack::Tail::kKeep);
  EXPECT_EQ(plan.slots[4].tail, unpack::Tail::kKeep);
}

TEST(SlotPlanTest, SlotsWithoutRowsTakeNothingOfABlock) {
  const std::vector<SlotSpec> slots = {{.name = "a", .sizes = {16}, .rows = KeyField::kTokens},
                                       {.name = "b", .sizes = {16}, .rows = KeyField::kRequests},
                                       {.name = "c", .sizes = {16}, .rows = KeyField::kTokens}};
  const ArenaPlan arena = PlanArena(slots);
  const ShapePlan none = PlanShape(slots, arena, {}).value();
  EXPECT_EQ(none.launch_blocks, 0u);
  EXPECT_EQ(none.block_bytes, 3 * sizeof(unpack::Staged));
  EXPECT_EQ(none.layouts[0], Layout::Strided(DType::kI32, {0}, {1}));
  const ShapePlan one = PlanShape(slots, arena, {.requests = 4}).value();
  EXPECT_EQ(one.launch_blocks, 1u);
  EXPECT_EQ(one.block_bytes, 3 * sizeof(unpack::Staged) + 16);
}

TEST(SlotPlanTest, NoSlots) {
  const ArenaPlan arena = PlanArena({});
  EXPECT_EQ(arena.bytes, 0u);
  const ShapePlan plan = PlanShape({}, arena, {.tokens = 5}).value();
  EXPECT_EQ(plan.block_bytes, 0u);
  EXPECT_EQ(plan.launch_blocks, 0u);
}

TEST(SlotPlanTest, MoreRowsThanASlotHas) {
  const std::vector<SlotSpec> slots = {{.name = "ids", .sizes = {16}, .rows = KeyField::kTokens}};
  EXPECT_THAT(PlanShape(slots, PlanArena(slots), {.tokens = 17}),
              FailsWith(StatusCode::kInvalidArgument,
                        "slot 'ids' has at most 16 rows, and 17 are wanted for tokens=17"));
  EXPECT_THAT(PlanShape(slots, PlanArena(slots), {.tokens = kAny}),
              FailsWith(StatusCode::kInvalidArgument, "slot 'ids'"));
}

// A piece takes whole units of a block, so a slot of few bytes may need a block of many.
TEST(SlotPlanTest, ABlockOfTooManyBytes) {
  constexpr int64_t kPieces = (int64_t{1} << 31) - 1;
  std::vector<SlotSpec> slots;
  for (const char* name : {"a", "b", "c"}) {
    slots.push_back({.name = name,
                     .type = DType::kU8,
                     .sizes = {kPieces, 1},
                     .rows = KeyField::kTokens,
                     .axis = 1});
  }
  ASSERT_THAT(CheckSlots(slots), IsOk());
  EXPECT_THAT(PlanShape(slots, PlanArena(slots), {.tokens = 1}),
              FailsWith(StatusCode::kInvalidArgument,
                        "a step's block takes 103079215152 bytes for tokens=1; it may take less "
                        "than 68719476736 (64 GiB)"));
  slots.pop_back();
  slots[1].sizes[0] -= 4;
  EXPECT_THAT(PlanShape(slots, PlanArena(slots), {.tokens = 1}), IsOk());
}

}  // namespace
}  // namespace graphtree
