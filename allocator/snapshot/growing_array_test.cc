// Values stay through growth, small and large, and large arrays lie as huge pages want it.
#include "allocator/snapshot/growing_array.h"

#include <cstdint>
#include <utility>

#include "allocator/snapshot/large_memory.h"
#include "gtest/gtest.h"

namespace graphtree::snapshot {
namespace {

constexpr size_t kMany = 5 * kLargeBytes / sizeof(uint64_t);

bool CountsUp(const GrowingArray<uint64_t>& array) {
  for (size_t i = 0; i < array.size(); ++i) {
    if (array[i] != i) return false;
  }
  return true;
}

TEST(GrowingArrayTest, KeepsItsValuesThroughEveryMove) {
  GrowingArray<uint64_t> array;
  for (uint64_t i = 0; i < kMany; ++i) array.Push(i);
  EXPECT_EQ(array.size(), kMany);
  EXPECT_TRUE(CountsUp(array));
}

TEST(GrowingArrayTest, WhatIsLargeBeginsAtAHugePage) {
  GrowingArray<uint64_t> array;
  for (size_t megabytes : {1, 4, 5, 9, 40}) {
    array.Reserve(megabytes << 17);
    const uint64_t next = array.size();
    array.Push(next);
    if (megabytes < 4) continue;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data()) % kHugePageBytes, 0) << megabytes;
  }
  EXPECT_TRUE(CountsUp(array));
}

TEST(GrowingArrayTest, AValueMayNotDivideAHugePage) {
  struct Odd {
    uint8_t bytes[24];
  };
  GrowingArray<Odd> array;
  const size_t count = kLargeBytes / sizeof(Odd) + 1;
  array.Resize(count, Odd{{7}});
  EXPECT_EQ(array.back().bytes[0], 7);
  array.Resize(3 * count, Odd{{8}});
  EXPECT_EQ(array[count - 1].bytes[0], 7);
  EXPECT_EQ(array.back().bytes[0], 8);
}

TEST(GrowingArrayTest, AnotherTakesItOverAndClearEmptiesIt) {
  GrowingArray<uint64_t> array;
  for (uint64_t i = 0; i < kMany; ++i) array.Push(i);
  GrowingArray<uint64_t> other(std::move(array));
  EXPECT_TRUE(CountsUp(other));
  EXPECT_EQ(other.size(), kMany);
  other.Clear();
  EXPECT_TRUE(other.empty());
  other.Push(0);
  EXPECT_TRUE(CountsUp(other));
}

}  // namespace
}  // namespace graphtree::snapshot
