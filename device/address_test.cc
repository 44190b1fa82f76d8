// What lies in a range, up to its very ends.
#include "device/address.h"

#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr AddressRange kRange = {0x1000, 0x100};
constexpr AddressRange kNext = {0x1100, 0x100};
constexpr AddressRange kLast = {~Address{0} - 0xff, 0x100};  // its end is 0

TEST(AddressTest, ContainsWhatLiesInItWhole) {
  EXPECT_TRUE(kRange.Contains(kRange));
  EXPECT_TRUE(kRange.Contains(AddressRange{0x10ff, 1}));
  EXPECT_FALSE(kRange.Contains(AddressRange{0xfff, 2}));
  EXPECT_FALSE(kRange.Contains(AddressRange{0x10ff, 2}));
  EXPECT_FALSE(kRange.Contains(AddressRange{0x1080, ~uint64_t{0}}));
  EXPECT_FALSE(kRange.Contains(AddressRange{0, ~uint64_t{0}}));
  EXPECT_TRUE(kLast.Contains(AddressRange{~Address{0}, 1}));
  EXPECT_FALSE(kLast.Contains(AddressRange{~Address{0}, 2}));
}

TEST(AddressTest, ARangeOfNoBytesIsInOneOfTwoThatTouch) {
  for (Address at = kRange.base; at < kNext.end(); ++at) {
    const AddressRange none = {at, 0};
    EXPECT_EQ(kRange.Contains(none), at < kRange.end()) << at;
    EXPECT_EQ(kNext.Contains(none), at >= kNext.base) << at;
    EXPECT_FALSE(none.Contains(none)) << at;
  }
  EXPECT_FALSE(kRange.Contains(AddressRange{kRange.base - 1, 0}));
  EXPECT_FALSE(kNext.Contains(AddressRange{kNext.end(), 0}));
}

}  // namespace
}  // namespace graphtree
