// Rights are exact to the byte, joined where they are equal, and host memory is let through.
#include "device/host/checks/access_table.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree::host {
namespace {

using testing::HasSubstr;

TEST(AccessTableTest, MemoryOutsideEveryReservationIsTheHosts) {
  AccessTable table;
  table.Reserved({0x10000, 0x1000});
  EXPECT_EQ(table.Check({0x100, 64}, true), "");
  EXPECT_FALSE(table.IsReserved(0x100));
  EXPECT_TRUE(table.IsReserved(0x10fff));
}

TEST(AccessTableTest, ReservedWithoutRightsIsRefused) {
  AccessTable table;
  table.Reserved({0x10000, 0x1000});
  EXPECT_THAT(table.Check({0x10010, 64}, false), HasSubstr("not accessible from 0x10010 on"));
  EXPECT_THAT(table.Check({0xfff0, 64}, false), HasSubstr("not accessible"));
  table.SetRights({0x10000, 0x100}, MemoryAccess::kReadWrite);
  EXPECT_EQ(table.Check({0x10010, 64}, true), "");
  EXPECT_THAT(table.Check({0x100f0, 64}, false), HasSubstr("not accessible from 0x10100 on"));
}

TEST(AccessTableTest, ARangeThatGoesPastTheLastAddressIsRefused) {
  AccessTable table;
  EXPECT_THAT(table.Check({0x10000, ~uint64_t{0}}, false), HasSubstr("past the last address"));
}

TEST(AccessTableTest, ReadOnlyMayBeReadOnly) {
  AccessTable table;
  table.Reserved({0x10000, 0x1000});
  table.SetRights({0x10000, 0x1000}, MemoryAccess::kReadWrite);
  table.SetRights({0x10100, 0x100}, MemoryAccess::kRead);
  EXPECT_EQ(table.Check({0x10000, 0x1000}, false), "");
  EXPECT_THAT(table.Check({0x10000, 0x1000}, true), HasSubstr("may only be read from 0x10100 on"));
  EXPECT_THAT(table.Writable({0x10000, 0x1000}),
              testing::ElementsAre(AddressRange{0x10000, 0x100}, AddressRange{0x10200, 0xe00}));
}

TEST(AccessTableTest, AgreesWithABookOfEveryByte) {
  constexpr Address kBase = 0x10000;
  constexpr int kBytes = 32;
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    AccessTable table;
    table.Reserved({kBase, kBytes});
    std::vector<MemoryAccess> book(kBytes, MemoryAccess::kNone);
    for (int step = 0; step < 40; ++step) {
      const Address at = random() % kBytes;
      const uint64_t bytes = 1 + random() % (kBytes - at);
      if (random() % 2 == 0) {
        const auto rights = static_cast<MemoryAccess>(random() % 3);
        table.SetRights({kBase + at, bytes}, rights);
        std::fill_n(book.begin() + at, bytes, rights);
        continue;
      }
      const bool write = random() % 2 == 0;
      bool fine = true;
      for (Address i = at; i < at + bytes; ++i) {
        fine = fine && book[i] != MemoryAccess::kNone && !(write && book[i] == MemoryAccess::kRead);
      }
      ASSERT_EQ(table.Check({kBase + at, bytes}, write).empty(), fine) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace graphtree::host
