// What a program may say about its slots, what each refusal says, and how large slots are.
#include "runtime/slots/slot.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using absl::StatusCode;

SlotSpec Ids() {
  return {.name = "ids", .type = DType::kI32, .sizes = {256}, .rows = KeyField::kTokens};
}

// What CheckSlots says of the slot, which it must refuse.
std::string Refused(const SlotSpec& slot) {
  const absl::Status status = CheckSlots({slot});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(CheckSlotsTest, OrdinarySlotsAreFine) {
  EXPECT_THAT(CheckSlots({}), IsOk());
  EXPECT_THAT(CheckSlots({Ids(),
                          {.name = "scale", .type = DType::kF32},
                          {.name = "table", .type = DType::kI64, .sizes = {4, 8}},
                          {.name = "offsets",
                           .sizes = {65},
                           .rows = KeyField::kRequests,
                           .extra_rows = 1,
                           .pad = PadRule::kLastRow},
                          {.name = "positions",
                           .type = DType::kI64,
                           .sizes = {3, 256},
                           .rows = KeyField::kTokens,
                           .axis = 1}}),
              IsOk());
}

TEST(CheckSlotsTest, Names) {
  SlotSpec slot = Ids();
  slot.name = "";
  EXPECT_EQ(Refused(slot), "a slot has no name");
  EXPECT_THAT(CheckSlots({Ids(), Ids()}),
              FailsWith(StatusCode::kInvalidArgument, "two slots of one program are named 'ids'"));
}

TEST(CheckSlotsTest, NumbersThatAreNoValueOfTheirEnum) {
  SlotSpec type = Ids(), pad = Ids(), rows = Ids();
  type.type = static_cast<DType>(77);
  pad.pad = static_cast<PadRule>(9);
  rows.rows = static_cast<KeyField>(99);
  EXPECT_EQ(Refused(type), "slot 'ids' has type 77, and there is none with that number");
  EXPECT_EQ(Refused(pad), "slot 'ids' has padding rule 9, and there is none with that number");
  EXPECT_EQ(Refused(rows), "slot 'ids' has rows by field 99, and there is none with that number");
}

TEST(CheckSlotsTest, HowMany) {
  std::vector<SlotSpec> slots(kMostSlots, Ids());
  for (size_t i = 0; i < slots.size(); ++i) slots[i].name = absl::StrCat("slot ", i);
  EXPECT_THAT(CheckSlots(slots), IsOk());
  slots.push_back(Ids());
  EXPECT_THAT(CheckSlots(slots), FailsWith(StatusCode::kInvalidArgument,
                                           "a program has 33 slots; it may have at most 32"));
}

TEST(CheckSlotsTest, Sizes) {
  SlotSpec slot = Ids();
  slot.sizes = {256, 0};
  EXPECT_EQ(Refused(slot), "slot 'ids' has a dimension of 0; all of them are at least 1");
  slot.sizes = {-3};
  EXPECT_EQ(Refused(slot), "slot 'ids' has a dimension of -3; all of them are at least 1");
  slot.sizes = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_EQ(Refused(slot),
            "slot 'ids': a tensor of i32[1099511627776,1099511627776] has more bytes than there "
            "are addresses");
  slot.type = DType::kU8;
  slot.sizes = {int64_t{1} << 31};
  EXPECT_EQ(Refused(slot),
            "slot 'ids' is too large; rows, elements of a row, and what lies before the rows' axis "
            "are each less than 2^31");
  slot.sizes = {1, int64_t{1} << 31};
  EXPECT_EQ(CheckSlots({slot}).code(), StatusCode::kInvalidArgument);
  slot.sizes = {int64_t{1} << 31, 1};
  slot.axis = 1;
  EXPECT_EQ(CheckSlots({slot}).code(), StatusCode::kInvalidArgument);
}

// Places are counted in 16 bytes by 32 bits. Many slots of which each is possible may not wrap
// around to a small sum either.
TEST(CheckSlotsTest, AllSlotsTogetherAreLessThan64GiB) {
  constexpr int64_t kGiB = int64_t{1} << 30;
  SlotSpec slot = Ids();
  slot.type = DType::kU8;
  slot.sizes = {64, kGiB};
  EXPECT_EQ(Refused(slot),
            "slot 'ids' takes 68719476736 bytes; all slots of a program take less than "
            "68719476736 (64 GiB)");
  slot.sizes = {63, kGiB};
  EXPECT_THAT(CheckSlots({slot}), IsOk());
  SlotSpec other = slot;
  other.name = "other";
  other.sizes = {1, kGiB};
  EXPECT_THAT(CheckSlots({slot, other}),
              FailsWith(StatusCode::kInvalidArgument,
                        "slot 'other' takes 1073741824 bytes after the 67645734912 of the slots "
                        "before; all slots of a program take less than 68719476736 (64 GiB)"));
  // Each of them takes room up to the next multiple of 256.
  slot.sizes = {32, (int64_t{1} << 31) - 16};
  const SlotSpec small = {.name = "small", .type = DType::kU8};
  const SlotSpec last = {.name = "last", .type = DType::kU8};
  EXPECT_THAT(CheckSlots({slot, small}), IsOk());
  EXPECT_THAT(CheckSlots({slot, small, last}),
              FailsWith(StatusCode::kInvalidArgument,
                        "slot 'last' takes 1 bytes after the 68719476480 of the slots before"));
  std::vector<SlotSpec> many(32, slot);
  for (size_t i = 0; i < many.size(); ++i) {
    many[i].name = absl::StrCat("slot ", i);
    many[i].sizes = {kGiB, kGiB};  // 2^60 bytes each
  }
  EXPECT_EQ(CheckSlots(many).code(), StatusCode::kInvalidArgument);
}

TEST(CheckSlotsTest, RowsAndTheirAxis) {
  SlotSpec slot = Ids();
  slot.axis = 1;
  EXPECT_EQ(Refused(slot), "slot 'ids' has its rows along axis 1; it has 1 axis, numbered from 0");
  slot.sizes = {};
  slot.axis = 0;
  EXPECT_EQ(Refused(slot), "slot 'ids' has its rows along axis 0; it has no axes");
  slot = {.name = "table", .sizes = {4, 8}, .axis = 1};
  EXPECT_EQ(Refused(slot),
            "slot 'table' names axis 1 for its rows, and no field of the key says how many rows it "
            "has");
  slot = Ids();
  slot.rows = KeyField::kExtra;
  EXPECT_EQ(Refused(slot),
            "slot 'ids' has as many rows as the key's field extra says, which is no number of "
            "anything");
}

TEST(CheckSlotsTest, ExtraRows) {
  SlotSpec slot = Ids();
  slot.extra_rows = -1;
  EXPECT_EQ(Refused(slot), "slot 'ids' has -1 extra rows; the number is at least 0");
  slot.extra_rows = 257;
  EXPECT_EQ(Refused(slot), "slot 'ids' has 257 extra rows, and at most 256 rows altogether");
  slot.extra_rows = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(CheckSlots({slot}).code(), StatusCode::kInvalidArgument);
  slot = {.name = "table", .sizes = {4}, .extra_rows = 1};
  EXPECT_EQ(Refused(slot),
            "slot 'table' has 1 extra rows, and no field of the key says how many rows it has");
}

TEST(CheckSlotsTest, PadValues) {
  SlotSpec slot = Ids();
  slot.pad = PadRule::kValue;
  slot.pad_value = 2147483648.0;
  EXPECT_EQ(Refused(slot), "slot 'ids' is padded with 2147483648, which i32 cannot hold");
  slot.pad_value = 0.5;
  EXPECT_EQ(Refused(slot), "slot 'ids' is padded with 0.5, which i32 cannot hold");
  slot.type = DType::kBool;
  slot.pad_value = 2;
  EXPECT_EQ(Refused(slot), "slot 'ids' is padded with 2, which bool cannot hold");
  slot.type = DType::kF16;
  slot.pad_value = 0.1;
  EXPECT_THAT(CheckSlots({slot}), IsOk()) << "rounded";
}

TEST(SlotTest, RowsFollowTheKey) {
  SlotSpec slot = Ids();
  EXPECT_EQ(RowsOf(slot, {.tokens = 8, .requests = 3}), 8);
  slot.rows = KeyField::kRequests;
  slot.extra_rows = 1;
  EXPECT_EQ(RowsOf(slot, {.tokens = 8, .requests = 3}), 4);
  EXPECT_EQ(RowsOf(slot, {.tokens = 8}), 1);
  slot = {.name = "table", .sizes = {4, 8}};
  EXPECT_EQ(RowsOf(slot, {.tokens = 8}), 4) << "the same in every shape";
  EXPECT_EQ(RowsOf({.name = "scale"}, {.tokens = 8}), 1);
}

TEST(SlotTest, PiecesRowsAndElements) {
  SlotSpec slot = {
      .name = "x", .type = DType::kI64, .sizes = {2, 3, 5, 7}, .rows = KeyField::kTokens};
  const int64_t pieces[] = {1, 2, 6, 30};
  const int64_t rows[] = {2, 3, 5, 7};
  const int64_t elements[] = {105, 35, 7, 1};
  for (uint32_t axis = 0; axis < 4; ++axis) {
    slot.axis = axis;
    EXPECT_EQ(PiecesOf(slot), pieces[axis]);
    EXPECT_EQ(GreatestRows(slot), rows[axis]);
    EXPECT_EQ(RowElementsOf(slot), elements[axis]);
    EXPECT_EQ(GreatestBytes(slot), 210u * 8);
  }
  const SlotSpec scalar = {.name = "scale", .type = DType::kF32};
  EXPECT_EQ(PiecesOf(scalar), 1);
  EXPECT_EQ(GreatestRows(scalar), 1);
  EXPECT_EQ(RowElementsOf(scalar), 1);
  EXPECT_EQ(GreatestBytes(scalar), 4u);
}

TEST(SlotTest, FitsFromNoRowsToTheGreatest) {
  const SlotSpec slot = Ids();
  EXPECT_THAT(CheckFits(slot, {.tokens = 0}), IsOk());
  EXPECT_THAT(CheckFits(slot, {.tokens = 256}), IsOk());
  EXPECT_THAT(CheckFits(slot, {.tokens = 257}),
              FailsWith(StatusCode::kInvalidArgument,
                        "slot 'ids' has at most 256 rows, and 257 are wanted for tokens=257"));
  EXPECT_THAT(CheckFits({.name = "table", .sizes = {4}}, {.tokens = kAny}), IsOk());
}

// A shape whose field is any has no number of rows, with extra rows neither.
TEST(SlotTest, AnyIsNoNumberOfRows) {
  for (const int64_t extra : {0, 1, 5}) {
    SlotSpec slot = Ids();
    slot.extra_rows = extra;
    EXPECT_THAT(CheckFits(slot, {.tokens = kAny, .requests = 2}),
                FailsWith(StatusCode::kInvalidArgument,
                          "slot 'ids' has as many rows as tokens says, and tokens=any requests=2 "
                          "says no number"));
  }
}

TEST(SlotTest, PadBits) {
  SlotSpec slot = Ids();
  slot.pad_value = -1;
  for (const PadRule rule : {PadRule::kValue, PadRule::kFillOnce}) {
    slot.pad = rule;
    EXPECT_EQ(static_cast<uint32_t>(PadBits(slot)), 0xffffffffu);
  }
  slot.pad = PadRule::kZero;
  EXPECT_EQ(PadBits(slot), 0u);
}

TEST(SlotTest, RulesHaveNames) {
  EXPECT_STREQ(PadRuleName(PadRule::kZero), "zero");
  EXPECT_STREQ(PadRuleName(PadRule::kValue), "value");
  EXPECT_STREQ(PadRuleName(PadRule::kLastRow), "last_row");
  EXPECT_STREQ(PadRuleName(PadRule::kKeep), "keep");
  EXPECT_STREQ(PadRuleName(PadRule::kFillOnce), "fill_once");
}

}  // namespace
}  // namespace graphtree
