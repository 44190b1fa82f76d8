// What messages name, and what only looks like it.
#include "runtime/c/error_place.h"

#include "gtest/gtest.h"

namespace graphtree::c {
namespace {

TEST(ErrorPlaceTest, AnInput) {
  EXPECT_EQ(PlaceIn("input 2 of 'decode' may not be used: output 0 of 'make'").input, 2);
  EXPECT_EQ(PlaceIn("calling 'f': input 17 overlaps input 3").input, 17);
}

TEST(ErrorPlaceTest, AnOpWithItsName) {
  const ErrorPlace place = PlaceIn("recording 'decode' failed at op 3 of its body ('attend'): no");
  EXPECT_EQ(place.op, 3);
  EXPECT_EQ(place.op_name, "attend");
  EXPECT_EQ(place.input, -1);
}

TEST(ErrorPlaceTest, WordsThatOnlyLookLikeOne) {
  const ErrorPlace place = PlaceIn("an input was given; reinput 4; stop 5 of its body ('x'); op 7");
  EXPECT_EQ(place.input, -1);
  EXPECT_EQ(place.op, -1);
  EXPECT_EQ(place.op_name, "");
}

TEST(ErrorPlaceTest, NothingIsNamed) {
  for (const char* message : {"", "input", "input ", "op ", "op 3 of its body ('"}) {
    const ErrorPlace place = PlaceIn(message);
    EXPECT_EQ(place.input, -1) << message;
    EXPECT_EQ(place.op_name, "") << message;
  }
}

// More digits than there are numbers.
TEST(ErrorPlaceTest, ANumberThatIsTooLarge) {
  EXPECT_EQ(PlaceIn("input 99999999999999999999999 and input 1").input, 1);
}

}  // namespace
}  // namespace graphtree::c
