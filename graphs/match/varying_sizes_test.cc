// What counts as another size, and with which words it is told.
#include "graphs/match/varying_sizes.h"

#include <vector>

#include "graphs/layout.h"
#include "graphs/tensor.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

Value Of(DType type, std::vector<int64_t> sizes, Address address = 0x1000) {
  return Tensor::Foreign(address, Layout::Of(type, sizes));
}

TEST(VaryingSizesTest, TheSameSizesDoNotVary) {
  VaryingSizes sizes;
  for (Address address = 0x1000; address < 0x5000; address += 0x1000) {
    const Values call = {Of(DType::kF32, {8, 64}, address), Value::Integer(3), Value()};
    EXPECT_FALSE(sizes.SeenIn(call));
  }
  const Values other_type = {Of(DType::kU8, {8, 64}), Value::Integer(3), Value()};
  EXPECT_FALSE(sizes.SeenIn(other_type)) << "a type is no size";
  EXPECT_FALSE(sizes.any());
}

TEST(VaryingSizesTest, ADimensionThatVaries) {
  VaryingSizes sizes;
  EXPECT_FALSE(sizes.SeenIn(Values{Value::Integer(3), Of(DType::kF32, {8, 64})}));
  const Values other = {Value::Integer(3), Of(DType::kF32, {9, 64})};
  EXPECT_TRUE(sizes.VaryWith(other));
  EXPECT_FALSE(sizes.any()) << "asking notes nothing";
  EXPECT_TRUE(sizes.SeenIn(other));
  EXPECT_TRUE(sizes.VaryWith(Values{Value::Integer(3), Of(DType::kF32, {8, 64})})) << "for ever";
  EXPECT_EQ(sizes.input(), 1u);
  EXPECT_EQ(sizes.how(), "has sizes [9, 64] after [8, 64]");
  EXPECT_TRUE(sizes.SeenIn(Values{Value::Integer(3), Of(DType::kF32, {8, 64})})) << "for ever";
  EXPECT_EQ(sizes.how(), "has sizes [9, 64] after [8, 64]");
}

TEST(VaryingSizesTest, AnIntegerThatVaries) {
  VaryingSizes sizes;
  EXPECT_FALSE(sizes.SeenIn(Values{Value::Integer(5)}));
  EXPECT_TRUE(sizes.SeenIn(Values{Value::Integer(-7)}));
  EXPECT_EQ(sizes.how(), "is -7 after 5");
}

TEST(VaryingSizesTest, ANumberOfDimensionsThatVaries) {
  VaryingSizes sizes;
  EXPECT_FALSE(sizes.SeenIn(Values{Of(DType::kF32, {64})}));
  EXPECT_TRUE(sizes.SeenIn(Values{Of(DType::kF32, {1, 64})}));
}

}  // namespace
}  // namespace graphtree
