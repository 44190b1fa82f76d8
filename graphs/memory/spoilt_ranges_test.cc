// The body's own bytes are never told, all others once.
#include "graphs/memory/spoilt_ranges.h"

#include <random>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SpoiltRangesTest, WhatIsElsewhereIsTold) {
  SpoiltRanges spoilt({100, 100});
  EXPECT_THAT(spoilt.Written({10, 20}), ElementsAre(AddressRange{10, 20}));
  EXPECT_THAT(spoilt.Written({15, 10}), IsEmpty());
  EXPECT_THAT(spoilt.Written({5, 40}), ElementsAre(AddressRange{5, 5}, AddressRange{30, 15}));
}

TEST(SpoiltRangesTest, OfItsOwnRegionOnlyWhatIsShown) {
  SpoiltRanges spoilt({100, 100});
  spoilt.Show({120, 20});
  spoilt.Show({130, 20});
  EXPECT_THAT(spoilt.Written({100, 20}), IsEmpty());
  EXPECT_THAT(spoilt.Written({110, 80}),
              ElementsAre(AddressRange{120, 20}, AddressRange{140, 10}));
  EXPECT_THAT(spoilt.Written({125, 5}), IsEmpty());
}

TEST(SpoiltRangesTest, NothingOfNothing) {
  SpoiltRanges spoilt({100, 100});
  EXPECT_THAT(spoilt.Written({10, 0}), IsEmpty());
  EXPECT_THAT(spoilt.Written({110, 0}), IsEmpty());
}

// Every byte is told exactly when it is written for the first time and is not the body's own.
TEST(SpoiltRangesTest, AgainstASetOfBytes) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    SpoiltRanges spoilt({64, 64});
    std::set<Address> others, told;
    for (Address byte = 0; byte < 64; ++byte) others.insert(byte);
    for (int i = 0; i < 3; ++i) {
      const AddressRange shown = {64 + random() % 50, random() % 14};
      spoilt.Show(shown);
      for (Address byte = shown.base; byte < shown.end(); ++byte) others.insert(byte);
    }
    for (int i = 0; i < 12; ++i) {
      const bool own = random() % 2 == 0;
      const AddressRange written = {(own ? 64 : 0) + random() % 40, random() % 24};
      std::set<Address> expected, found;
      for (Address byte = written.base; byte < written.end(); ++byte) {
        if (others.count(byte) > 0 && told.insert(byte).second) expected.insert(byte);
      }
      for (const AddressRange part : spoilt.Written(written)) {
        for (Address byte = part.base; byte < part.end(); ++byte) {
          EXPECT_TRUE(found.insert(byte).second) << "told twice";
        }
      }
      EXPECT_EQ(found, expected);
    }
  }
}

}  // namespace
}  // namespace graphtree
