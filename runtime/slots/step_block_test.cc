// What a step refuses, and that a refusal changes nothing: the step goes on as if the call had not
// been made.
#include "runtime/slots/step_block.h"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"
#include "runtime/slots/element.h"

namespace graphtree {
namespace {

using absl::StatusCode;

enum : SlotId { kIds, kTable, kMask, kScale, kKept };

std::vector<SlotSpec> Slots() {
  return {{.name = "ids", .sizes = {16}, .rows = KeyField::kTokens},
          {.name = "table", .sizes = {2, 16, 3}, .rows = KeyField::kTokens, .axis = 1},
          {.name = "mask", .type = DType::kBool, .sizes = {16}, .rows = KeyField::kTokens},
          {.name = "scale", .type = DType::kF16},
          {.name = "kept", .type = DType::kU8, .sizes = {4}, .may_be_left_out = true}};
}

// A step of 8 rows. Memory begins as garbage, as the ring's does.
class StepBlockTest : public testing::Test {
 protected:
  StepBlockTest() : plan_(PlanShape(slots_, PlanArena(slots_), {.tokens = 8}).value()) {
    memory_.resize(plan_.block_bytes, 0xee);
    Begin();
  }

  void Begin() { block_.Begin(slots_, plan_, memory_.data()); }
  void StageAllBut(SlotId left_out) {
    for (SlotId slot = 0; slot < slots_.size(); ++slot) {
      if (slot != left_out) {
        EXPECT_THAT(block_.Stage(slot, 1.0), IsOk());
      }
    }
  }
  unpack::Staged RecordOf(SlotId slot) const {
    unpack::Staged staged;
    std::memcpy(&staged, memory_.data() + slot * sizeof(staged), sizeof(staged));
    return staged;
  }
  // The call fails so, and the slot can be staged after that and has what was staged then alone.
  void ExpectNothingChanged(SlotId slot, const absl::Status& refused, const std::string& text) {
    EXPECT_THAT(refused, FailsWith(StatusCode::kInvalidArgument, text));
    EXPECT_THAT(block_.Finish(), FailsWith(StatusCode::kFailedPrecondition, "was not staged"));
    EXPECT_THAT(block_.Stage(slot, 1.0), IsOk());
    StageAllBut(slot);
    EXPECT_THAT(block_.Finish(), IsOk());
    const unpack::Staged staged = RecordOf(slot);
    EXPECT_EQ(staged.kind, unpack::Kind::kValue);
    EXPECT_EQ(staged.rows, plan_.slots[slot].rows);
    Begin();
  }

  const std::vector<SlotSpec> slots_ = Slots();
  const ShapePlan plan_;
  std::vector<uint8_t> memory_;
  StepBlock block_;
  const std::vector<int32_t> numbers_ = std::vector<int32_t>(1000, 3);
};

TEST_F(StepBlockTest, RowsWrittenInPlaceLieWhereStagedOnesWould) {
  ASSERT_THAT(block_.Stage(kIds, HostRows{numbers_.data(), DType::kI32, 5}), IsOk());
  StageAllBut(kIds);
  ASSERT_THAT(block_.Finish(), IsOk());
  const std::vector<uint8_t> staged = memory_;
  Begin();
  const absl::StatusOr<uint8_t*> rows = block_.Buffer(kIds, 5);
  ASSERT_THAT(rows, IsOk());
  std::memcpy(*rows, numbers_.data(), 5 * sizeof(int32_t));
  StageAllBut(kIds);
  ASSERT_THAT(block_.Finish(), IsOk());
  EXPECT_EQ(memory_, staged);
}

TEST_F(StepBlockTest, WhatCannotBeWrittenInPlace) {
  EXPECT_THAT(block_.Buffer(5, 1),
              FailsWith(StatusCode::kInvalidArgument, "slot 5 was staged; the program has 5"));
  ExpectNothingChanged(kIds, block_.Buffer(kIds, 9).status(), "9 rows in place");
  ExpectNothingChanged(kTable, block_.Buffer(kTable, 2).status(),
                       "its rows lie in 2 pieces along axis 1");
  ASSERT_THAT(block_.Buffer(kIds, 1), IsOk());
  EXPECT_THAT(block_.Buffer(kIds, 1),
              FailsWith(StatusCode::kFailedPrecondition, "was staged twice in one step"));
}

TEST_F(StepBlockTest, AnUnknownSlot) {
  const std::string text = "slot 5 was staged; the program has 5, numbered from 0";
  EXPECT_THAT(block_.Stage(5, HostRows{numbers_.data(), DType::kI32, 1}),
              FailsWith(StatusCode::kInvalidArgument, text));
  EXPECT_THAT(block_.Stage(5, DeviceRows{4096, DType::kI32, 1}),
              FailsWith(StatusCode::kInvalidArgument, text));
  EXPECT_THAT(block_.Stage(5, 1.0), FailsWith(StatusCode::kInvalidArgument, text));
  EXPECT_THAT(block_.Stage(0xffffffff, 1.0),
              FailsWith(StatusCode::kInvalidArgument, "slot 4294967295 was staged"));
}

TEST_F(StepBlockTest, TwiceInOneStepTheFirstTimeStands) {
  ASSERT_THAT(block_.Stage(kIds, HostRows{numbers_.data(), DType::kI32, 5}), IsOk());
  const std::vector<int32_t> other(8, 77);
  const std::string text = "slot 'ids' was staged twice in one step; the first time stands";
  EXPECT_THAT(block_.Stage(kIds, HostRows{other.data(), DType::kI32, 8}),
              FailsWith(StatusCode::kFailedPrecondition, text));
  EXPECT_THAT(block_.Stage(kIds, DeviceRows{4096, DType::kI32, 8}),
              FailsWith(StatusCode::kFailedPrecondition, text));
  EXPECT_THAT(block_.Stage(kIds, 4.0), FailsWith(StatusCode::kFailedPrecondition, text));
  StageAllBut(kIds);
  ASSERT_THAT(block_.Finish(), IsOk());
  EXPECT_EQ(RecordOf(kIds).kind, unpack::Kind::kPayload);
  EXPECT_EQ(RecordOf(kIds).rows, 5u);
  const uint8_t* const payload = memory_.data() + plan_.slots[kIds].payload_unit * 16;
  EXPECT_EQ(std::memcmp(payload, numbers_.data(), 5 * sizeof(int32_t)), 0);
}

TEST_F(StepBlockTest, TooManyRows) {
  ExpectNothingChanged(kIds, block_.Stage(kIds, HostRows{numbers_.data(), DType::kI32, 9}),
                       "slot 'ids' was staged with 9 rows from the host; this step's shape has 8 "
                       "rows of it, the slot at most 16");
  ExpectNothingChanged(kIds, block_.Stage(kIds, DeviceRows{4096, DType::kI32, 9}),
                       "slot 'ids' was staged with 9 rows from the device; this step's shape has 8 "
                       "rows of it, the slot at most 16");
  ExpectNothingChanged(kScale, block_.Stage(kScale, HostRows{numbers_.data(), DType::kF32, 2}),
                       "slot 'scale' was staged with 2 rows from the host; this step's shape has 1 "
                       "row of it, the slot at most 1");
  ExpectNothingChanged(kIds, block_.Stage(kIds, HostRows{numbers_.data(), DType::kI32, -1}),
                       "slot 'ids' was staged with -1 rows from the host");
}

TEST_F(StepBlockTest, TypesThatDoNotBecomeEachOther) {
  ExpectNothingChanged(kIds, block_.Stage(kIds, HostRows{numbers_.data(), DType::kF32, 1}),
                       "slot 'ids' of i32 was staged with f32 from the host; one does not become "
                       "the other");
  ExpectNothingChanged(kMask, block_.Stage(kMask, DeviceRows{4096, DType::kU8, 1}),
                       "slot 'mask' of bool was staged with u8 from the device; one does not "
                       "become the other");
  ExpectNothingChanged(kScale, block_.Stage(kScale, HostRows{numbers_.data(), DType::kI32, 1}),
                       "slot 'scale' of f16 was staged with i32 from the host");
}

TEST_F(StepBlockTest, Strides) {
  constexpr int64_t kTooFar = int64_t{1} << 32;
  for (const int64_t stride : {int64_t{-1}, kTooFar}) {
    const std::string text = absl::StrCat("slot 'ids' was staged with a stride of ", stride,
                                          " between rows and 0 between pieces; both are from 0 to "
                                          "4294967295");
    ExpectNothingChanged(
        kIds, block_.Stage(kIds, HostRows{numbers_.data(), DType::kI32, 1, stride}), text);
    ExpectNothingChanged(kIds, block_.Stage(kIds, DeviceRows{4096, DType::kI32, 1, stride}), text);
    ExpectNothingChanged(
        kTable, block_.Stage(kTable, HostRows{numbers_.data(), DType::kI32, 1, 0, stride}),
        absl::StrCat("slot 'table' was staged with a stride of 0 between rows and ", stride,
                     " between pieces"));
  }
}

// Pieces without a gap between them follow from the rows; the op counts with 32 bits.
TEST_F(StepBlockTest, PiecesThatAreTooFarApartOnTheDevice) {
  constexpr int64_t kFar = 0xffffffff;
  ExpectNothingChanged(kTable, block_.Stage(kTable, DeviceRows{4096, DType::kI32, 2, kFar}),
                       "slot 'table' was staged with 8589934590 elements from piece to piece; "
                       "there may be at most 4294967295");
  // A slot of one piece has no next piece that could be too far.
  EXPECT_THAT(block_.Stage(kIds, DeviceRows{4096, DType::kI32, 2, kFar}), IsOk());
  Begin();
  constexpr Address kLast = std::numeric_limits<Address>::max() - 31;  // of 8 words
  EXPECT_THAT(block_.Stage(kIds, DeviceRows{kLast - 32, DType::kI32, 8}), IsOk());
  Begin();
  ExpectNothingChanged(kIds, block_.Stage(kIds, DeviceRows{kLast, DType::kI32, 8}),
                       "end beyond the last address");
  ExpectNothingChanged(kTable, block_.Stage(kTable, DeviceRows{kLast, DType::kI32, 1, 0, 8}),
                       "end beyond the last address");
}

TEST_F(StepBlockTest, NoAddress) {
  ExpectNothingChanged(kIds, block_.Stage(kIds, HostRows{nullptr, DType::kI32, 3}),
                       "slot 'ids' was staged with 3 rows from the host at no address");
  ExpectNothingChanged(kIds, block_.Stage(kIds, DeviceRows{0, DType::kI32, 3}),
                       "slot 'ids' was staged with 3 rows from the device at no address");
  ExpectNothingChanged(
      kIds, block_.Stage(kIds, DeviceRows{4098, DType::kI32, 1}),
      "slot 'ids' was staged with 1 row of i32 at the device address 0x1002, which "
      "is not a multiple of the type's 4 bytes");
  // Without rows there is nothing to read, wherever that would be.
  EXPECT_THAT(block_.Stage(kIds, HostRows{nullptr, DType::kI32, 0}), IsOk());
  EXPECT_THAT(block_.Stage(kTable, HostRows{nullptr, DType::kI32, 0, 3, 100}), IsOk());
  EXPECT_THAT(block_.Stage(kMask, DeviceRows{0, DType::kBool, 0}), IsOk());
}

TEST_F(StepBlockTest, WholeNumbersThatTheSlotCannotHold) {
  std::vector<int64_t> far(100, 5);
  far[3] = int64_t{1} << 31;
  ExpectNothingChanged(kIds, block_.Stage(kIds, HostRows{far.data(), DType::kI64, 8}),
                       "slot 'ids' of i32 was staged with 2147483648, which it cannot hold, in row "
                       "3");
  far[3] = 5;
  far[2 * 8 * 3 - 1] = -(int64_t{1} << 40);
  ExpectNothingChanged(kTable, block_.Stage(kTable, HostRows{far.data(), DType::kI64, 8}),
                       "slot 'table' of i32 was staged with -1099511627776, which it cannot hold, "
                       "in row 7 of piece 1");
  // In a row of its own among gaps.
  far.assign(100, int64_t{1} << 50);
  for (int row = 0; row < 8; ++row) far[row * 10] = row;
  EXPECT_THAT(block_.Stage(kIds, HostRows{far.data(), DType::kI64, 8, 10}), IsOk());
  Begin();
  ExpectNothingChanged(kIds, block_.Stage(kIds, HostRows{far.data(), DType::kI64, 8, 9}),
                       "slot 'ids' of i32 was staged with 1125899906842624, which it cannot hold, "
                       "in row 1");
}

TEST_F(StepBlockTest, ValuesThatTheSlotCannotHold) {
  ExpectNothingChanged(kIds, block_.Stage(kIds, 2147483648.0),
                       "slot 'ids' of i32 was staged with 2147483648, which it cannot hold");
  ExpectNothingChanged(kIds, block_.Stage(kIds, 0.5),
                       "slot 'ids' of i32 was staged with 0.5, which it cannot hold");
  ExpectNothingChanged(kMask, block_.Stage(kMask, 2.0),
                       "slot 'mask' of bool was staged with 2, which it cannot hold");
  EXPECT_THAT(block_.Stage(kScale, 0.1), IsOk()) << "rounded";
}

TEST_F(StepBlockTest, AForgottenSlot) {
  StageAllBut(kMask);
  EXPECT_THAT(block_.Finish(),
              FailsWith(StatusCode::kFailedPrecondition,
                        "slot 'mask' was not staged, and the program does not say that it may be "
                        "left out"));
  EXPECT_EQ(memory_[0], 0xee) << "a step that fails writes no records";
  ASSERT_THAT(block_.Stage(kMask, 1.0), IsOk());
  EXPECT_THAT(block_.Finish(), IsOk());
}

TEST_F(StepBlockTest, ASlotThatIsLeftOutHasNothing) {
  StageAllBut(kKept);
  ASSERT_THAT(block_.Finish(), IsOk());
  EXPECT_EQ(RecordOf(kKept).kind, unpack::Kind::kNothing);
  // The next step knows nothing of this one.
  Begin();
  EXPECT_THAT(block_.Finish(), FailsWith(StatusCode::kFailedPrecondition, "slot 'ids'"));
  StageAllBut(kIds);
  ASSERT_THAT(block_.Stage(kIds, 1.0), IsOk());
  ASSERT_THAT(block_.Finish(), IsOk());
  EXPECT_EQ(RecordOf(kKept).kind, unpack::Kind::kValue);
}

TEST_F(StepBlockTest, PaddingForAllThatWasNotStagedAndIsNotKept) {
  ASSERT_THAT(block_.Stage(kIds, 7.0), IsOk());
  block_.StagePadding();
  ASSERT_THAT(block_.Finish(), IsOk());
  EXPECT_EQ(RecordOf(kIds).source, 7u);
  for (SlotId slot = kTable; slot < kKept; ++slot) {
    const bool has_last_row = plan_.slots[slot].tail == unpack::Tail::kLastRow;
    EXPECT_EQ(RecordOf(slot).kind, unpack::Kind::kValue);
    EXPECT_EQ(RecordOf(slot).source, 0u);
    EXPECT_EQ(RecordOf(slot).rows, has_last_row ? plan_.slots[slot].rows : 0);
  }
  EXPECT_EQ(RecordOf(kKept).kind, unpack::Kind::kNothing);
}

TEST_F(StepBlockTest, PaddingIsWhatTheRuleSays) {
  std::vector<SlotSpec> slots = {
      {.name = "mapping", .sizes = {16}, .rows = KeyField::kTokens, .pad_value = -1}};
  for (const PadRule rule : {PadRule::kZero, PadRule::kValue, PadRule::kLastRow}) {
    slots[0].pad = rule;
    const ShapePlan plan = PlanShape(slots, PlanArena(slots), {.tokens = 8}).value();
    block_.Begin(slots, plan, memory_.data());
    block_.StagePadding();
    ASSERT_THAT(block_.Finish(), IsOk());
    EXPECT_EQ(RecordOf(0).rows, rule == PadRule::kLastRow ? 8u : 0u) << PadRuleName(rule);
    EXPECT_EQ(RecordOf(0).source, 0u) << PadRuleName(rule);
    if (rule == PadRule::kLastRow) continue;  // it has no tail
    EXPECT_EQ(RecordOf(0).tail_bits, rule == PadRule::kZero ? 0 : PadBits(slots[0]));
  }
}

TEST_F(StepBlockTest, PaddingThatIsKeptStays) {
  std::vector<SlotSpec> slots = {{.name = "ids", .sizes = {16}, .rows = KeyField::kTokens}};
  for (const PadRule rule : {PadRule::kKeep, PadRule::kFillOnce}) {
    slots[0].pad = rule;
    const ShapePlan plan = PlanShape(slots, PlanArena(slots), {.tokens = 8}).value();
    block_.Begin(slots, plan, memory_.data());
    block_.StagePadding();
    ASSERT_THAT(block_.Finish(), IsOk());
    EXPECT_EQ(RecordOf(0).rows, 0u) << PadRuleName(rule);
  }
}

TEST_F(StepBlockTest, TheCallersMemoryIsFreeAtOnce) {
  std::vector<int32_t> mine = {1, 2, 3};
  ASSERT_THAT(block_.Stage(kIds, HostRows{mine.data(), DType::kI32, 3}), IsOk());
  mine = {9, 9, 9};
  const uint8_t* const payload = memory_.data() + plan_.slots[kIds].payload_unit * 16;
  const std::vector<int32_t> expected = {1, 2, 3};
  EXPECT_EQ(std::memcmp(payload, expected.data(), 12), 0);
}

TEST(StepBlockOfNoSlotsTest, IsFinishedWithoutMemory) {
  const ShapePlan plan = PlanShape({}, PlanArena({}), {}).value();
  StepBlock block;
  block.Begin({}, plan, nullptr);
  block.StagePadding();
  EXPECT_THAT(block.Finish(), IsOk());
  EXPECT_THAT(block.Stage(0, 1.0), FailsWith(StatusCode::kInvalidArgument, "the program has 0"));
}

}  // namespace
}  // namespace graphtree
