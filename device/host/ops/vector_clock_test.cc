// Clocks: what they know after joining, and of launches of which a part is done.
#include "device/host/ops/vector_clock.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree::host {
namespace {

VectorClock::Chains Done(std::vector<uint32_t> ops) {
  return std::make_shared<const std::vector<uint32_t>>(std::move(ops));
}

TEST(VectorClock, JoinsWhatEitherKnows) {
  VectorClock a, b;
  a.Raise({0, 5});
  b.Raise({2, 7});
  EXPECT_TRUE(a.Join(b));
  EXPECT_EQ(a.At(0), 5u);
  EXPECT_EQ(a.At(1), 0u);
  EXPECT_EQ(a.At(2), 7u);
  EXPECT_FALSE(a.Join(b));
}

TEST(VectorClock, KnowsAPartOfALaunchUntilTheLaunchIsDone) {
  VectorClock clock;
  EXPECT_TRUE(clock.AddPart({1, 4}, Done({2, 0})));
  EXPECT_TRUE(clock.HasPart({1, 4}, 0, 1));
  EXPECT_FALSE(clock.HasPart({1, 4}, 0, 2));
  EXPECT_FALSE(clock.HasPart({1, 4}, 1, 0));
  clock.Raise({1, 4});
  EXPECT_FALSE(clock.AddPart({1, 4}, Done({2, 0}))) << "the launch is done whole";
}

TEST(VectorClock, JoiningAPartOfALaunchThatIsDoneIsNoNews) {
  VectorClock a, b;
  b.AddPart({1, 4}, Done({2}));
  a.Raise({1, 4});
  EXPECT_FALSE(a.Join(b));
  EXPECT_FALSE(a.HasPart({1, 4}, 0, 0));
}

TEST(VectorClock, JoiningTheLaunchAndAPartOfItKeepsTheLaunchAlone) {
  VectorClock a, b;
  b.AddPart({1, 4}, Done({2}));
  b.Raise({1, 4});
  EXPECT_TRUE(a.Join(b));
  EXPECT_EQ(a.At(1), 4u);
  EXPECT_FALSE(a.HasPart({1, 4}, 0, 0));
}

TEST(VectorClock, ACopyForgetsThePartsThatWereThere) {
  VectorClock part, plain;
  part.AddPart({1, 4}, Done({2}));
  VectorClock copy = part;
  EXPECT_TRUE(copy.HasPart({1, 4}, 0, 0));
  copy = plain;
  EXPECT_FALSE(copy.HasPart({1, 4}, 0, 0));
  copy = part;
  EXPECT_TRUE(copy.HasPart({1, 4}, 0, 0));
}

}  // namespace
}  // namespace graphtree::host
