// Places against what they promise, for random ranges.
#include "runtime/park/sample_places.h"

#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Address kBase = 1 << 30;

TEST(SamplePlacesTest, WhatIsSmallIsTakenWhole) {
  const std::vector<AddressRange> ranges = {{kBase, 1000}, {kBase + 4096, 0}, {kBase + 8192, 7}};
  EXPECT_THAT(PlacesToSample(ranges, 64), ElementsAre(ranges[0], ranges[2]));
  EXPECT_THAT(PlacesToSample({}, 64), IsEmpty());
}

TEST(SamplePlacesTest, EachPieceOfALargeRangeHasOneAndTheEndHasOne) {
  const AddressRange range = {kBase, 2 * kSampleStride + 1000};
  EXPECT_THAT(PlacesToSample({&range, 1}, 64),
              ElementsAre(AddressRange{kBase, 64}, AddressRange{kBase + kSampleStride, 64},
                          AddressRange{kBase + 2 * kSampleStride, 64},
                          AddressRange{range.end() - 64, 64}));
}

TEST(SamplePlacesTest, PlacesLieInTheRangesAndAreNoMoreThanAsked) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    std::vector<AddressRange> ranges;
    Address at = kBase;
    for (uint32_t i = 0; i < random() % 9; ++i) {
      const uint64_t bytes = random() % 3 == 0 ? random() % 100 : random() % (9 * kSampleStride);
      ranges.push_back({at, bytes});
      at += bytes + random() % 3 * 512;
    }
    const size_t most = 1 + random() % 20;
    const std::vector<AddressRange> places = PlacesToSample(ranges, most);
    EXPECT_LE(places.size(), most) << "seed " << seed;
    Address last = 0;
    for (const AddressRange& place : places) {
      EXPECT_FALSE(place.empty()) << "seed " << seed;
      EXPECT_GE(place.base, last) << "seed " << seed;
      last = place.base;
      bool is_inside = false;
      for (const AddressRange& range : ranges) is_inside |= range.Contains(place);
      EXPECT_TRUE(is_inside) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace graphtree
