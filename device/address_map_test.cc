// What the address map refuses, and a random walk beside a map of single granules.
#include "device/address_map.h"

#include <map>
#include <random>
#include <vector>

#include "device/base/status_matchers.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

//   reservation  0x1000 ................ 0x9000
//   mappings       0x2000 [A] 0x3000 [B] 0x5000      0x6000 [C] 0x7000
class AddressMapTest : public testing::Test {
 protected:
  AddressMapTest() {
    map_.Reserved({0x1000, 0x8000});
    map_.Mapped({0x2000, 0x1000}, 'A');
    map_.Mapped({0x3000, 0x2000}, 'B');
    map_.Mapped({0x6000, 0x1000}, 'C');
  }
  AddressMap map_;
};

TEST_F(AddressMapTest, MappingOverAMappingNamesBoth) {
  EXPECT_THAT(map_.MayMap({0x4000, 0x1000}),
              FailsWith(kInvalid, "mapping [0x4000, +4096): [0x3000, +8192) is already mapped"));
  EXPECT_THAT(map_.MayMap({0x1000, 0x2000}), FailsWith(kInvalid, "already mapped"));
  EXPECT_THAT(map_.MayMap({0x5000, 0x1000}), IsOk());
}

TEST_F(AddressMapTest, MappingOutsideAReservationIsRefused) {
  EXPECT_THAT(map_.MayMap({0x8000, 0x2000}), FailsWith(kInvalid, "one reserved range"));
  EXPECT_THAT(map_.MayMap({0x0, 0x1000}), FailsWith(kInvalid, "one reserved range"));
  EXPECT_THAT(map_.MayMap({0x8000, 0}), FailsWith(kInvalid, "nothing to map"));
}

TEST_F(AddressMapTest, UnmappingTakesWholeMappingsOnly) {
  EXPECT_THAT(map_.MayUnmap({0x3000, 0x1000}),
              FailsWith(kInvalid, "only a part of the mapping [0x3000, +8192)"));
  EXPECT_THAT(map_.MayUnmap({0x4000, 0x1000}), FailsWith(kInvalid, "only a part"));
  EXPECT_THAT(map_.MayUnmap({0x3000, 0x4000}), FailsWith(kInvalid, "nothing is mapped at 0x5000"));
  EXPECT_THAT(map_.MayUnmap({0x2000, 0x3000}), IsOk());
  EXPECT_EQ(map_.Unmapped({0x2000, 0x3000}).size(), 2u);
  EXPECT_EQ(map_.mapped_bytes(), 0x1000u);
}

TEST_F(AddressMapTest, BytesAreMappedByWhateverMappings) {
  EXPECT_THAT(map_.IsMapped({0x2800, 0x2000}), IsOk());
  EXPECT_THAT(map_.IsMapped({0x6fff, 1}), IsOk());
  EXPECT_THAT(map_.IsMapped({0x7000, 1}), FailsWith(kInvalid, "nothing is mapped at 0x7000"));
  EXPECT_THAT(map_.IsMapped({0x4800, 0x2000}), FailsWith(kInvalid, "nothing is mapped at 0x5000"));
  EXPECT_THAT(map_.IsMapped({0x1800, 0x1000}), FailsWith(kInvalid, "nothing is mapped at 0x1800"));
}

TEST_F(AddressMapTest, ReleasingNeedsTheWholeRangeWithNothingMapped) {
  EXPECT_THAT(map_.MayRelease({0x1000, 0x8000}),
              FailsWith(kInvalid, "[0x2000, +4096) in it is still mapped"));
  EXPECT_THAT(map_.MayRelease({0x1000, 0x1000}), FailsWith(kInvalid, "only a part"));
  EXPECT_THAT(map_.MayRelease({0x20000, 0x1000}), FailsWith(kInvalid, "not reserved"));
  map_.Unmapped({0x2000, 0x3000});
  map_.Unmapped({0x6000, 0x1000});
  EXPECT_THAT(map_.MayRelease({0x1000, 0x8000}), IsOk());
  map_.Released({0x1000, 0x8000});
  EXPECT_THAT(map_.MayRelease({0x1000, 0x8000}), FailsWith(kInvalid, "released before"));
}

TEST_F(AddressMapTest, AccessMaySpanMappingsButNeitherSplitThemNorSpanGaps) {
  EXPECT_THAT(map_.MayAccess({0x2000, 0x3000}), IsOk());
  EXPECT_THAT(map_.MayAccess({0x2800, 0x1000}), FailsWith(kInvalid, "only a part"));
  EXPECT_THAT(map_.MayAccess({0x3000, 0x4000}), FailsWith(kInvalid, "nothing is mapped at 0x5000"));
}

TEST_F(AddressMapTest, ARangeThatGoesPastTheLastAddressIsRefused) {
  const AddressRange wrapping = {0x2000, ~uint64_t{0}};
  EXPECT_THAT(map_.MayUnmap(wrapping), FailsWith(kInvalid, "past the last address"));
  EXPECT_THAT(map_.MayAccess(wrapping), FailsWith(kInvalid, "past the last address"));
}

// The model: which granule belongs to which mapping (by its tag), 0 for none.
TEST(AddressMapModelTest, RandomMapsAndUnmapsAgreeWithGranules) {
  const uint32_t seed = 20251;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  constexpr uint64_t kGranules = 64;
  AddressMap map;
  map.Reserved({0, kGranules});
  std::vector<uint64_t> owner(kGranules, 0);
  std::map<uint64_t, AddressRange> mappings;
  for (uint64_t step = 1; step < 20000; ++step) {
    const uint64_t base = random() % kGranules;
    const AddressRange range{base, 1 + random() % (kGranules - base)};
    bool all_free = true, whole = true;
    for (uint64_t i = range.base; i < range.end(); ++i) {
      all_free &= owner[i] == 0;
      whole &= owner[i] != 0 && range.Contains(mappings[owner[i]]);
    }
    ASSERT_EQ(map.MayMap(range).ok(), all_free) << ToString(range);
    ASSERT_EQ(map.MayUnmap(range).ok(), whole) << ToString(range);
    if (all_free && range.bytes < 12) {
      map.Mapped(range, step);
      mappings[step] = range;
      for (uint64_t i = range.base; i < range.end(); ++i) owner[i] = step;
    } else if (whole) {
      for (const AddressMap::Mapping& gone : map.Unmapped(range)) {
        ASSERT_EQ(gone.range, mappings[gone.tag]);
        mappings.erase(gone.tag);
      }
      for (uint64_t i = range.base; i < range.end(); ++i) owner[i] = 0;
    }
    ASSERT_EQ(map.mapping_count(), mappings.size());
  }
}

}  // namespace
}  // namespace graphtree
