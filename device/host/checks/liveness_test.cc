// Dead bytes and red zones are named; bytes that no allocator spoke of may be used freely.
#include "device/host/checks/liveness.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree::host {
namespace {

using testing::HasSubstr;

TEST(LivenessTest, UnknownBytesMayBeUsed) {
  Liveness liveness;
  EXPECT_EQ(liveness.Check({0x1000, 64}), "");
}

TEST(LivenessTest, ALiveBlockMayBeUsedInPart) {
  Liveness liveness;
  liveness.SetLive({0x1000, 64}, "hidden");
  EXPECT_EQ(liveness.Check({0x1000, 64}), "");
  EXPECT_EQ(liveness.Check({0x1010, 8}), "");
  EXPECT_EQ(liveness.Check({0x2000, 8}), "");
}

TEST(LivenessTest, GoingBeyondALiveBlockIsNamed) {
  Liveness liveness;
  liveness.SetLive({0x1000, 64}, "hidden");
  EXPECT_THAT(liveness.Check({0x1030, 32}), HasSubstr("goes 16 bytes beyond the live block"));
  EXPECT_THAT(liveness.Check({0x1030, 32}), HasSubstr("(hidden)"));
  EXPECT_THAT(liveness.Check({0xff0, 32}), HasSubstr("begins 16 bytes before the live block"));
}

TEST(LivenessTest, TwoNeighboursAreTwoBlocks) {
  Liveness liveness;
  liveness.SetLive({0x1000, 64}, "one");
  liveness.SetLive({0x1040, 64}, "two");
  EXPECT_THAT(liveness.Check({0x1000, 128}), HasSubstr("beyond"));
}

TEST(LivenessTest, DeadBytesAreNamedWithTheReason) {
  Liveness liveness;
  liveness.SetLive({0x1000, 64}, "hidden");
  liveness.SetDead({0x1000, 64}, "freed hidden");
  EXPECT_THAT(liveness.Check({0x1020, 4}),
              HasSubstr("touches dead bytes at 0x1020 (freed hidden)"));
  EXPECT_THAT(liveness.Check({0xf00, 0x200}), HasSubstr("dead bytes at 0x1000"));
  liveness.SetLive({0x1000, 64}, "again");
  EXPECT_EQ(liveness.Check({0x1020, 4}), "");
}

TEST(LivenessTest, UsablePartsAreWhatOneOpMayTouch) {
  Liveness liveness;
  liveness.SetLive({0x1000, 64}, "one");
  liveness.SetLive({0x1040, 64}, "two");
  liveness.SetDead({0x1080, 64}, "freed");
  const std::vector<AddressRange> parts = liveness.UsableParts({0x1020, 0x100});
  const std::vector<AddressRange> expected = {{0x1020, 32}, {0x1040, 64}, {0x10c0, 96}};
  EXPECT_EQ(parts, expected);
  for (const AddressRange& part : parts) EXPECT_EQ(liveness.Check(part), "");
  EXPECT_TRUE(liveness.UsableParts({0x1090, 16}).empty());
  EXPECT_EQ(liveness.UsableParts({0x5000, 16}).size(), 1u);
}

TEST(LivenessTest, ABlockInDeadBytesIsLive) {
  Liveness liveness;
  liveness.SetDead({0x1000, 256}, "freed all");
  liveness.SetLive({0x1040, 64}, "part");
  EXPECT_EQ(liveness.Check({0x1040, 64}), "");
  EXPECT_THAT(liveness.Check({0x1000, 4}), HasSubstr("freed all"));
  EXPECT_THAT(liveness.Check({0x1080, 4}), HasSubstr("freed all"));
  liveness.Forget({0x1000, 256});
  EXPECT_EQ(liveness.Check({0x1000, 256}), "");
}

}  // namespace
}  // namespace graphtree::host
