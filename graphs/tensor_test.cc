// What a value is does not depend on its layout: no sizes and strides make an integer of a tensor.
#include "graphs/tensor.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(ValueTest, EachKindIsItselfAndNoOther) {
  const auto object = std::make_shared<int>(1);
  const std::pair<Value, ValueKind> cases[] = {
      {Value(), ValueKind::kNothing},
      {Value::Consumed(), ValueKind::kConsumed},
      {Value::Integer(7), ValueKind::kInteger},
      {Value::Opaque(object), ValueKind::kOpaque},
      {Value::Opaque(object, 0), ValueKind::kVersionedOpaque},
      {Tensor::Foreign(0, Layout::Of(DType::kI64, {})), ValueKind::kTensor},
  };
  for (const auto& [value, kind] : cases) {
    EXPECT_EQ(value.kind(), kind);
    EXPECT_EQ(value.is_none(), kind == ValueKind::kNothing);
    EXPECT_EQ(value.is_consumed(), kind == ValueKind::kConsumed);
    EXPECT_EQ(value.is_integer(), kind == ValueKind::kInteger);
    EXPECT_EQ(value.is_opaque(), kind == ValueKind::kOpaque || kind == ValueKind::kVersionedOpaque);
    EXPECT_EQ(value.has_version(), kind == ValueKind::kVersionedOpaque);
    EXPECT_EQ(value.is_tensor(), kind == ValueKind::kTensor);
  }
}

TEST(ValueTest, ATensorOfAnyStridesIsATensor) {
  for (int64_t last = 0; last < 16; ++last) {
    const Layout* layout = Layout::Strided(DType::kI64, {0, 0, 0, 0}, {7, 7, 7, last});
    EXPECT_TRUE(Tensor::Foreign(0x1000, layout).is_tensor()) << "stride " << last;
  }
}

// A hit compares layouts, one word each, and with them kinds.
TEST(ValueTest, KindsDifferInTheirLayouts) {
  const auto object = std::make_shared<int>(1);
  EXPECT_EQ(Value::Integer(1).layout(), Value::Integer(2).layout());
  EXPECT_NE(Value::Integer(1).layout(), Value::Opaque(object).layout());
  EXPECT_NE(Value::Opaque(object).layout(), Value::Opaque(object, 1).layout());
  EXPECT_NE(Value::Integer(1).layout(), Layout::Of(DType::kI64, {}));
}

}  // namespace
}  // namespace graphtree
