// Random programs against a plain list, and the edge cases by name.
#include "graphs/inputs/range_list.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(RangeListTest, Edges) {
  RangeList list;
  EXPECT_FALSE(list.Overlaps({0, 100}));
  list.Add({0, 0});
  EXPECT_TRUE(list.empty()) << "a range of no bytes is met by nothing";
  list.Add({100, 10});
  EXPECT_FALSE(list.Overlaps({90, 10}));
  EXPECT_TRUE(list.Overlaps({90, 11}));
  EXPECT_TRUE(list.Overlaps({109, 1}));
  EXPECT_FALSE(list.Overlaps({110, 5}));
  EXPECT_FALSE(list.Overlaps({105, 0}));
}

TEST(RangeListTest, TouchingOnesAreJoined) {
  RangeList list;
  list.Add({100, 10});
  list.Add({120, 10});
  list.Add({110, 10});
  ASSERT_EQ(list.ranges().size(), 1u);
  EXPECT_EQ(list.ranges()[0], (AddressRange{100, 30}));
  list.Add({90, 100});
  EXPECT_EQ(list.ranges()[0], (AddressRange{90, 100}));
}

TEST(RangeListTest, AsAPlainListSays) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    RangeList list;
    std::vector<AddressRange> plain;
    for (int step = 0; step < 60; ++step) {
      const AddressRange range = {random() % 400, random() % 12};
      bool met = false;
      for (const AddressRange& one : plain) met |= one.Overlaps(range);
      ASSERT_EQ(list.Overlaps(range), met) << "seed " << seed << ", step " << step;
      if (random() % 3 != 0) continue;
      list.Add(range);
      plain.push_back(range);
    }
    for (size_t i = 1; i < list.ranges().size(); ++i) {
      EXPECT_GT(list.ranges()[i].base, list.ranges()[i - 1].end()) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace graphtree
