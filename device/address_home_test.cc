// Who is named for an address, as homes reserve, release and go.
#include "device/address_home.h"

#include <optional>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr AddressRange kLow = {0x1000, 0x1000};
constexpr AddressRange kHigh = {0x4000, 0x1000};

TEST(AddressHomeTest, OnlyOthersAreNamed) {
  AddressHome a("a", false), b("b", false);
  a.Reserved(kLow);
  b.Reserved(kHigh);
  EXPECT_EQ(a.OtherHomeOf(kLow.base), "");
  EXPECT_EQ(b.OtherHomeOf(kLow.base), "a");
  EXPECT_EQ(b.OtherHomeOf(kLow.end() - 1), "a");
  EXPECT_EQ(b.OtherHomeOf(kLow.end()), "");
  EXPECT_EQ(b.OtherHomeOf(kLow.base - 1), "");
  EXPECT_EQ(a.OtherHomeOf(kHigh.base + 1), "b");
  EXPECT_EQ(a.OtherHomeOf(kHigh.end() + 0x10000), "");
}

TEST(AddressHomeTest, WhatIsReleasedIsNobodys) {
  AddressHome a("a", false), b("b", false);
  a.Reserved(kLow);
  a.Released(kLow);
  EXPECT_EQ(b.OtherHomeOf(kLow.base), "");
}

TEST(AddressHomeTest, AHomeThatGoesTakesItsAddressesAlong) {
  AddressHome b("b", false);
  std::optional<AddressHome> a(std::in_place, "a", false);
  a->Reserved(kLow);
  a->Reserved(kHigh);
  a.reset();
  EXPECT_EQ(b.OtherHomeOf(kLow.base), "");
  EXPECT_EQ(b.OtherHomeOf(kHigh.base), "");
}

TEST(AddressHomeTest, SharedHomesOfOneNameAreOne) {
  AddressHome first("gpu", true), second("gpu", true), other("gpu 1", true), alone("gpu", false);
  first.Reserved(kLow);
  EXPECT_EQ(second.OtherHomeOf(kLow.base), "");
  EXPECT_EQ(other.OtherHomeOf(kLow.base), "gpu");
  EXPECT_EQ(alone.OtherHomeOf(kLow.base), "gpu");
}

}  // namespace
}  // namespace graphtree
