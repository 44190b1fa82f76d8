// Until when streams may use free bytes: joined bytes, launches, ranges that are set aside.
#include "allocator/order/use_times.h"

#include "allocator/order/set_aside.h"
#include "allocator/placement/run.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr LastUse kJoined = {.streams = 1u << 2 | 1u << 4, .time = 9};

TEST(UseTimesTest, ABitIsNoYoungerThanTheLastFreeWithIt) {
  UseTimes times;
  EXPECT_EQ(times.Until(2, kJoined, /*is_last=*/false), 0u) << "it was never told of one";
  EXPECT_EQ(times.Until(2, kJoined, /*is_last=*/true), 9u) << "it is not told";
  times.Freed(2, 3);
  EXPECT_EQ(times.Until(2, kJoined, /*is_last=*/false), 3u);
  times.Freed(2, 12);
  EXPECT_EQ(times.Until(2, kJoined, /*is_last=*/false), 9u) << "of other bytes";
  EXPECT_EQ(times.Until(3, kJoined, /*is_last=*/false), 0u) << "without its bit";
}

TEST(UseTimesTest, ALaunchUsesAllBytes) {
  UseTimes times;
  times.UsedEverywhere(3, 5);
  EXPECT_EQ(times.UsersOf(kJoined), kJoined.streams | 1u << 3);
  EXPECT_EQ(times.Until(3, kJoined, /*is_last=*/false), 5u);
  times.UsedEverywhere(2, 11);
  times.Freed(2, 3);
  EXPECT_EQ(times.Until(2, kJoined, /*is_last=*/false), 11u) << "the later one";
}

TEST(UseTimesTest, WhatIsFreedApartCountsOnceItIsSettled) {
  UseTimes times;
  times.FreedApart(4, {8, 16}, 7);
  EXPECT_EQ(times.Until(4, kJoined, /*is_last=*/false), 0u);
  EXPECT_EQ(times.aside().EndOfOverlap({10, 11}), 16u);
  times.Settle(4, 8);
  EXPECT_EQ(times.Until(4, kJoined, /*is_last=*/false), 8u);
  EXPECT_EQ(times.aside().bits(), 0u);
}

TEST(UseTimesTest, BeyondWhatIsSetAsideTheStreamHasUsedNothing) {
  UseTimes times;
  times.UsedEverywhere(2, 5);
  times.Freed(2, 6);
  times.FreedApart(2, {100, 101}, 6);
  const Quanta covered[] = {{0, 64}, {512, 600}};
  times.SetAllAside(2, covered);
  EXPECT_EQ(times.Until(2, kJoined, /*is_last=*/false), 0u);
  EXPECT_EQ(times.UsersOf({}), 0u);
  EXPECT_EQ(times.aside().EndOfOverlap({0, 1000}), 600u);
  EXPECT_EQ(times.aside().EndOfOverlap({100, 101}), 0u) << "the ranges take the place of others";
  times.Settle(2, 9);
  EXPECT_EQ(times.UsersOf({}), 1u << 2) << "as before";
  EXPECT_EQ(times.Until(2, kJoined, /*is_last=*/false), 9u);
}

// Bytes that are had and freed again carry the bits of all who used them before.
TEST(UseTimesTest, ABitSaysNothingUntilItsStreamIsAtWorkAgain) {
  UseTimes times;
  times.UsedEverywhere(2, 5);
  const Quanta covered[] = {{0, 64}}, more[] = {{0, 128}};
  times.SetAllAside(2, covered);
  EXPECT_TRUE(times.MayBeAside({})) << "a launch used them all";
  times.Freed(2, 7);
  times.FreedApart(2, {64, 70}, 7);
  times.SetAllAside(2, more);
  EXPECT_EQ(times.aside().EndOfOverlap({60, 128}), 64u);
  EXPECT_EQ(times.UsersOf(kJoined), 1u << 4);
  EXPECT_EQ(times.Until(2, kJoined, /*is_last=*/false), 0u);
  EXPECT_TRUE(times.MayBeAside(kJoined));
  times.IsAtWork(2);
  EXPECT_EQ(times.UsersOf(kJoined), kJoined.streams);
  times.FreedApart(2, {64, 70}, 8);
  EXPECT_EQ(times.aside().EndOfOverlap({60, 128}), 70u);
  times.SetAllAside(2, more);
  EXPECT_EQ(times.aside().EndOfOverlap({60, 128}), 128u) << "what it was given since is among them";
  times.Settle(2, 9);
  EXPECT_FALSE(times.MayBeAside(kJoined));
  EXPECT_EQ(times.UsersOf({}), 1u << 2);
}

TEST(UseTimesTest, TooManyRangesCountAsAllBytes) {
  UseTimes times;
  for (uint32_t i = 0; i < SetAside::kMost; ++i) times.FreedApart(1, {2 * i, 2 * i + 1}, 3);
  times.FreedApart(4, {500, 501}, 7);
  EXPECT_EQ(times.Until(4, kJoined, /*is_last=*/false), 7u);
  times.UsedEverywhere(4, 8);
  const Quanta covered[] = {{0, 64}};
  times.SetAllAside(4, covered);
  EXPECT_EQ(times.Until(4, kJoined, /*is_last=*/false), 8u) << "nothing has changed";
}

// What was set aside for the stream before stays so.
TEST(UseTimesTest, TooManyRangesLeaveThoseOfTheStreamAlone) {
  UseTimes times;
  for (uint32_t i = 0; i + 1 < SetAside::kMost; ++i) times.FreedApart(1, {2 * i, 2 * i + 1}, 3);
  times.FreedApart(4, {500, 501}, 7);
  const Quanta covered[] = {{0, 400}, {600, 700}};
  times.SetAllAside(4, covered);
  EXPECT_EQ(times.aside().EndOfOverlap({500, 501}), 501u);
  EXPECT_EQ(times.aside().EndOfOverlap({390, 400}), 0u);
  times.Freed(4, 9);
  EXPECT_EQ(times.Until(4, kJoined, /*is_last=*/false), 9u);
}

}  // namespace
}  // namespace graphtree
