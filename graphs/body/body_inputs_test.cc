// Inputs by number, and the errors where there is none.
#include "graphs/body/body_inputs.h"

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(BodyInputsTest, ATensorAndAnIntegerAreFound) {
  const Tensor tensor = Tensor::Foreign(0x1000, Layout::Of(DType::kU8, {4}));
  const Values values = {tensor, Value::Integer(7)};
  const BodyInputs inputs(values);
  EXPECT_EQ(inputs.TensorAt(0)->word(), 0x1000u);
  EXPECT_EQ(*inputs.IntegerAt(1), 7);
  EXPECT_NE(inputs.TensorAt(1).status().message().find("as a tensor, and it is "),
            absl::string_view::npos);
  EXPECT_NE(inputs.IntegerAt(0).status().message().find("as an integer, and it is "),
            absl::string_view::npos);
}

TEST(BodyInputsTest, WhatIsNotThereIsAnErrorThatSaysWhy) {
  const auto why = [](const BodyInputs& inputs, size_t index) {
    return std::string(inputs.TensorAt(index).status().message());
  };
  EXPECT_EQ(why(BodyInputs(), 0), "the body takes input 0 as a tensor, and whoever runs it has "
                                  "given the launcher none");
  EXPECT_EQ(why(BodyInputs::OfPart(), 0), "the body takes input 0 as a tensor, and an eager part "
                                          "has none: pass it to Launcher::Break");
  Values values = {Value(), Value::Integer(1)};
  const BodyInputs inputs(values);
  EXPECT_EQ(why(inputs, 2), "the body takes input 2 as a tensor, and the call brought 2 inputs, "
                            "counted from 0");
  EXPECT_NE(why(inputs, 0).find("there is nothing"), std::string::npos);
  values.pop_back();
  EXPECT_NE(why(inputs, 1).find("taken it out of its inputs before"), std::string::npos);
}

}  // namespace
}  // namespace graphtree
