// Scopes in scopes, and whom their launches wait for.
#include "allocator/order/launch_waits.h"

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(LaunchWaitsTest, NothingIsNotedOutsideOfScopes) {
  LaunchWaits waits;
  EXPECT_FALSE(waits.is_open());
  EXPECT_FALSE(waits.MustNote(~0u));
  waits.Note(1);
  waits.Enter();
  EXPECT_EQ(waits.awaited(), 0u);
  EXPECT_TRUE(waits.MustNote(1));
}

TEST(LaunchWaitsTest, AnOuterScopeWaitsForWhatAnInnerOneWasGiven) {
  LaunchWaits waits;
  waits.Enter();
  waits.Note(1);
  EXPECT_FALSE(waits.MustNote(1));
  waits.Enter();
  EXPECT_TRUE(waits.MustNote(1)) << "the inner scope does not wait for it yet";
  waits.Note(2);
  EXPECT_EQ(waits.Leave(), 2u);
  EXPECT_EQ(waits.awaited(), 3u);
  EXPECT_FALSE(waits.MustNote(3));
  EXPECT_TRUE(waits.MustNote(4));
  EXPECT_EQ(waits.Leave(), 3u);
  EXPECT_FALSE(waits.is_open());
  EXPECT_FALSE(waits.MustNote(~0u));
}

}  // namespace
}  // namespace graphtree
