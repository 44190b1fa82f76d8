// Which pads are in place, and which layout the result has.
#include "graphs/pad/pad_plan.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using testing::HasSubstr;
using Sizes = std::vector<int64_t>;

const Layout* F32(const Sizes& sizes) { return Layout::Of(DType::kF32, sizes); }
const Layout* F32(const Sizes& sizes, const Sizes& strides) {
  return Layout::Strided(DType::kF32, sizes, strides);
}

// Made by the run, with nobody else looking. Learned room is beyond what was asked.
PadSource Block(uint64_t asked, uint64_t learned = 0, uint64_t offset = 0) {
  return {true, true, offset, asked, asked + learned};
}

PadPlan PlanOf(const Layout* tensor, const Sizes& sizes, const PadSource& source) {
  const absl::StatusOr<PadPlan> plan = PlanPad(*tensor, sizes, source);
  EXPECT_THAT(plan, IsOk());
  return plan.ok() ? *plan : PadPlan();
}

std::string Refusal(const Layout* tensor, const Sizes& sizes) {
  const absl::StatusOr<PadPlan> plan = PlanPad(*tensor, sizes, Block(1 << 20));
  EXPECT_FALSE(plan.ok());
  return std::string(plan.status().message());
}

TEST(PadPlanTest, EqualSizesAreTheTensorItself) {
  for (const Layout* tensor : {F32({}), F32({4, 6}), F32({0, 6}), F32({4, 6}, {9, 1})}) {
    const Sizes sizes(tensor->sizes().begin(), tensor->sizes().end());
    const PadPlan plan = PlanOf(tensor, sizes, PadSource());
    EXPECT_EQ(plan.way, PadWay::kNothing);
    EXPECT_EQ(plan.layout, tensor);
  }
}

// In some runs somebody holds the tensor, so that the first pad is a copy: the second has the same
// layout in all runs.
TEST(PadPlanTest, APadOfAPadHasOneLayoutWhetherTheFirstWasACopy) {
  const Layout* const rows = F32({2, 3}, {8, 1});
  for (const uint64_t offset : {0, 16}) {
    PadSource source = Block(64 + offset, 0, offset);
    const PadPlan view = PlanOf(rows, {2, 5}, source);
    EXPECT_EQ(view.way, PadWay::kInPlace);
    EXPECT_EQ(PlanOf(view.layout, {2, 7}, source).layout, F32({2, 7}, {8, 1}));
    source.alone = false;
    const PadPlan copy = PlanOf(rows, {2, 5}, source);
    EXPECT_EQ(copy.way, PadWay::kCopy);
    EXPECT_EQ(copy.layout, view.layout);
    EXPECT_EQ(copy.copy_bytes, 64u);
    EXPECT_EQ(PlanOf(copy.layout, {2, 7}, Block(copy.copy_bytes)).layout, F32({2, 7}, {8, 1}));
  }
}

TEST(PadPlanTest, ATensorGrowsAtItsEndIfItsBlockHasTheBytes) {
  const PadPlan exact = PlanOf(F32({4, 6}), {5, 6}, Block(120));
  EXPECT_EQ(exact.way, PadWay::kInPlace);
  EXPECT_EQ(exact.layout, F32({5, 6}));
  EXPECT_EQ(PlanOf(F32({4, 6}), {5, 6}, Block(119)).way, PadWay::kCopy);
  EXPECT_EQ(PlanOf(F32({4, 6}), {5, 6}, Block(136, 0, 16)).way, PadWay::kInPlace);
  EXPECT_EQ(PlanOf(F32({4, 6}), {5, 6}, Block(135, 0, 16)).way, PadWay::kCopy);
  EXPECT_EQ(PlanOf(F32({4, 6}), {5, 6}, Block(96, 24)).way, PadWay::kInPlace);
  EXPECT_EQ(PlanOf(F32({4, 6}), {5, 6}, Block(96, 23)).way, PadWay::kCopy);
  // An offset beyond the block is a bug of somebody's, and no room.
  EXPECT_EQ(PlanOf(F32({4, 6}), {5, 6}, Block(120, 0, 1000)).way, PadWay::kCopy);
}

TEST(PadPlanTest, RowsGrowIntoTheirStride) {
  const Layout* const rows = F32({4, 6}, {8, 1});
  const PadPlan whole = PlanOf(rows, {4, 8}, Block(128));
  EXPECT_EQ(whole.way, PadWay::kInPlace);
  EXPECT_EQ(whole.layout, F32({4, 8}));
  const PadPlan partly = PlanOf(rows, {5, 7}, Block(160));
  EXPECT_EQ(partly.way, PadWay::kInPlace);
  EXPECT_EQ(partly.layout, F32({5, 7}, {8, 1}));
  // Beyond the stride, or beyond what was asked for: a dense copy. Learned room does not count.
  for (const PadPlan& copy : {PlanOf(rows, {4, 9}, Block(1000)), PlanOf(rows, {5, 7}, Block(155)),
                              PlanOf(rows, {5, 7}, Block(128, 1000))}) {
    EXPECT_EQ(copy.way, PadWay::kCopy);
    EXPECT_EQ(copy.layout->ToString(), F32(Sizes(copy.layout->sizes().begin(),
                                                 copy.layout->sizes().end()))->ToString());
    EXPECT_EQ(copy.wanted_bytes, 0u);
  }
  // One row has no stride that matters.
  EXPECT_EQ(PlanOf(F32({1, 6}), {4, 8}, Block(128)).way, PadWay::kInPlace);
  EXPECT_EQ(PlanOf(F32({1, 6}, {8, 1}), {4, 8}, Block(128)).way, PadWay::kInPlace);
  EXPECT_EQ(PlanOf(F32({1, 6}), {4, 8}, Block(24, 104)).way, PadWay::kInPlace);
  // Columns, too.
  const PadPlan turned = PlanOf(F32({6, 4}, {1, 8}), {8, 4}, Block(128));
  EXPECT_EQ(turned.way, PadWay::kInPlace);
  EXPECT_EQ(turned.layout, F32({8, 4}, {1, 8}));
}

TEST(PadPlanTest, MemoryThatIsNotTheRunsOwnIsCopiedDense) {
  PadSource others;
  others.alone = true;
  others.asked = others.has = 1 << 20;
  for (const Layout* tensor : {F32({4, 6}), F32({4, 6}, {8, 1})}) {
    const PadPlan plan = PlanOf(tensor, {8, 8}, others);
    EXPECT_EQ(plan.way, PadWay::kCopy);
    EXPECT_EQ(plan.layout, F32({8, 8}));
    EXPECT_EQ(plan.wanted_bytes, 0u);
  }
}

// The layout does not depend on who looks, so that it is the same in every run.
TEST(PadPlanTest, WhatOthersLookIntoIsCopiedWithTheSameLayout) {
  for (const Layout* tensor : {F32({4, 6}), F32({4, 6}, {8, 1}), F32({4, 6}, {12, 2})}) {
    for (const Sizes& sizes : {Sizes{4, 8}, Sizes{5, 6}, Sizes{7, 7}}) {
      for (const uint64_t asked : {64, 128, 160, 4000}) {
        for (const uint64_t learned : {0, 4000}) {
          PadSource source = Block(asked, learned);
          const PadPlan alone = PlanOf(tensor, sizes, source);
          source.alone = false;
          const PadPlan seen = PlanOf(tensor, sizes, source);
          EXPECT_EQ(seen.way, PadWay::kCopy);
          EXPECT_EQ(seen.layout, alone.layout);
          EXPECT_EQ(seen.wanted_bytes, 0u);
        }
      }
    }
  }
}

TEST(PadPlanTest, RoomIsWantedWhereNothingElseIsLacking) {
  EXPECT_EQ(PlanOf(F32({4, 6}), {8, 6}, Block(96)).wanted_bytes, 192u);
  EXPECT_EQ(PlanOf(F32({2, 6}), {8, 6}, Block(96, 10, 48)).wanted_bytes, 240u);
  EXPECT_EQ(PlanOf(F32({0, 6}), {8, 6}, Block(0)).wanted_bytes, 192u);
  EXPECT_EQ(PlanOf(F32({4, 6}), {4, 8}, Block(96)).wanted_bytes, 0u);  // the rows would move
  EXPECT_EQ(PlanOf(F32({4, 6}), {5, 6}, Block(120)).wanted_bytes, 0u);
}

TEST(PadPlanTest, ATensorOfNoElementsGrowsWhereItIs) {
  for (const Layout* empty : {F32({0, 6}), F32({4, 0}), F32({0, 2, 3}, {100, 50, 1})}) {
    Sizes sizes(empty->sizes().size(), 6);
    EXPECT_EQ(PlanOf(empty, sizes, Block(10000)).way, PadWay::kInPlace) << empty->ToString();
    EXPECT_EQ(PlanOf(empty, sizes, PadSource()).way, PadWay::kCopy);
  }
  // What has no elements afterwards has nothing to write, whosever it is.
  const PadPlan plan = PlanOf(F32({0, 6}), {0, 8}, PadSource());
  EXPECT_EQ(plan.way, PadWay::kNothing);
  EXPECT_EQ(plan.layout, F32({0, 8}));
}

TEST(PadPlanTest, WhatOverlapsItselfIsCopied) {
  EXPECT_EQ(PlanOf(F32({4, 6}, {0, 1}), {4, 8}, Block(4000)).way, PadWay::kCopy);
  EXPECT_EQ(PlanOf(F32({4, 6}, {1, 1}), {5, 6}, Block(4000)).way, PadWay::kCopy);
}

TEST(PadPlanTest, SizesThatAreNoPaddingAreErrorsThatSayWhy) {
  EXPECT_EQ(Refusal(F32({4, 8}), {4, 6}),
            "a tensor of f32[4,8] is to be padded to [4,6]: size 1 would shrink from 8 to 6");
  EXPECT_EQ(Refusal(F32({4, 8}), {32}),
            "a tensor of f32[4,8] is to be padded to [32]: the one has 2 sizes, the other 1");
  EXPECT_THAT(Refusal(F32({}), {1}), HasSubstr("the one has 0 sizes, the other 1"));
  EXPECT_THAT(Refusal(F32({0}), {-1}), HasSubstr("would shrink from 0 to -1"));
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(Refusal(F32({4, 8}), {4, most}), HasSubstr("more bytes than there are addresses"));
  EXPECT_THAT(Refusal(F32({0, 8}), {0, most}), HasSubstr("more bytes than there are addresses"));
}

// The tensor's own strides would overflow, and the dense ones do not.
TEST(PadPlanTest, StridesThatWouldOverflowAreNotKept) {
  const int64_t far = int64_t{1} << 60;
  const PadPlan plan = PlanOf(F32({1, 6}, {far, 1}), {9, 6}, Block(1 << 20));
  EXPECT_EQ(plan.layout, F32({9, 6}));
}

TEST(PadPlanTest, ATensorWithRoomHasTheStridesOfItsRoom) {
  const auto with = [](const Sizes& sizes, const Sizes& room) {
    const absl::StatusOr<const Layout*> layout = LayoutWithRoom(DType::kF32, sizes, room);
    EXPECT_THAT(layout, IsOk());
    return layout.ok() ? *layout : nullptr;
  };
  EXPECT_EQ(with({4, 6}, {4, 6}), F32({4, 6}));
  EXPECT_EQ(with({4, 6}, {9, 6}), F32({4, 6}));
  EXPECT_EQ(with({4, 6}, {4, 8}), F32({4, 6}, {8, 1}));
  EXPECT_EQ(with({1, 6}, {4, 8}), F32({1, 6}, {8, 1}));
  // It can be padded in place in several steps, up to its room.
  const Layout* layout = with({1, 6}, {4, 8});
  for (const Sizes& sizes : {Sizes{2, 6}, Sizes{2, 7}, Sizes{4, 8}}) {
    const PadPlan plan = PlanOf(layout, sizes, Block(128));
    EXPECT_EQ(plan.way, PadWay::kInPlace);
    layout = plan.layout;
  }
  EXPECT_EQ(layout, F32({4, 8}));
  EXPECT_THAT(LayoutWithRoom(DType::kU8, {4, 6}, {4, 5}).status().message(),
              HasSubstr("a tensor of u8[4,6] is to have room for [4,5]: size 1 would shrink"));
  EXPECT_FALSE(LayoutWithRoom(DType::kU8, {4}, {4, 5}).ok());
  EXPECT_FALSE(LayoutWithRoom(DType::kU8, {-4}, {4}).ok());
  EXPECT_FALSE(LayoutWithRoom(DType::kF64, {4}, {std::numeric_limits<int64_t>::max()}).ok());
}

}  // namespace
}  // namespace graphtree
