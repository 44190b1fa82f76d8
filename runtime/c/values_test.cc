// Layouts and values through C.
#include <string>

#include "runtime/c/test_world.h"

namespace graphtree::c {
namespace {

class ValuesTest : public CTest {
 protected:
  std::string Described(const gt_value& value) {
    gt_text text = nullptr;
    EXPECT_FINE(gt_value_describe(&value, &text));
    return WordsOf(text);
  }
};

TEST_F(ValuesTest, EqualLayoutsAreOneHandle) {
  const gt_layout a = LayoutOf(GT_F32, {4, 256});
  EXPECT_EQ(a, LayoutOf(GT_F32, {4, 256}));
  EXPECT_NE(a, LayoutOf(GT_F32, {256, 4}));
  gt_layout_info info = GT_INIT(gt_layout_info);
  EXPECT_FINE(gt_layout_look(a, &info));
  EXPECT_EQ(info.dtype, GT_F32);
  ASSERT_EQ(info.rank, 2u);
  EXPECT_EQ(info.sizes[1], 256);
  EXPECT_EQ(info.strides[0], 256);
  EXPECT_EQ(info.extent_bytes, 4096u);
  EXPECT_EQ(info.is_dense, 1);
  // A layout is for ever.
  EXPECT_FINE(gt_release(a));
  EXPECT_FINE(gt_layout_look(a, &info));
}

TEST_F(ValuesTest, LayoutsWithStridesAndWithoutDimensions) {
  const int64_t sizes[] = {4, 128}, strides[] = {256, 2};
  gt_layout layout = nullptr;
  gt_layout_info info = GT_INIT(gt_layout_info);
  EXPECT_FINE(gt_layout_new(GT_F32, 2, sizes, strides, &layout));
  EXPECT_FINE(gt_layout_look(layout, &info));
  EXPECT_EQ(info.is_dense, 0);
  EXPECT_FINE(gt_layout_new(GT_I64, 0, nullptr, nullptr, &layout));
  EXPECT_FINE(gt_layout_look(layout, &info));
  EXPECT_EQ(info.elements, 1);
}

TEST_F(ValuesTest, LayoutsThatNoTensorHas) {
  gt_layout layout = words();
  const int64_t negative[] = {-1}, huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_FAILS(gt_layout_new(GT_U8, 1, negative, nullptr, &layout), GT_INVALID_ARGUMENT,
               "negative size");
  EXPECT_EQ(layout, nullptr);
  EXPECT_NE(TextOf(gt_layout_new(GT_U8, 2, huge, nullptr, &layout)), "");
  EXPECT_FAILS(gt_layout_new(8, 0, nullptr, nullptr, &layout), GT_INVALID_ARGUMENT, "dtype 8");
  EXPECT_FAILS(gt_layout_new(GT_U8, 65, huge, nullptr, &layout), GT_INVALID_ARGUMENT, "65");
  EXPECT_FAILS(gt_layout_new(GT_U8, 1, nullptr, nullptr, &layout), GT_INVALID_ARGUMENT, "sizes");
  EXPECT_FAILS(gt_layout_look(reinterpret_cast<gt_layout>(stream()), nullptr), GT_BAD_HANDLE,
               "layout is a stream");
}

TEST_F(ValuesTest, PlainValues) {
  EXPECT_EQ(Described(gt_nothing()), "nothing");
  EXPECT_EQ(Described(gt_integer(-7)), "the integer -7");
  EXPECT_NE(Described(gt_tensor(64, words())).find("i32[256]"), std::string::npos);
  gt_value wrong = gt_integer(1);
  wrong.kind = 42;
  gt_text text = nullptr;
  EXPECT_FAILS(gt_value_describe(&wrong, &text), GT_INVALID_ARGUMENT, "of kind 42");
  wrong = gt_tensor(64, nullptr);
  EXPECT_FAILS(gt_value_describe(&wrong, &text), GT_BAD_HANDLE, "the layout of value is null");
  EXPECT_FAILS(gt_value_describe(nullptr, &text), GT_INVALID_ARGUMENT, "value is null");
}

TEST_F(ValuesTest, ViewsOfMemoryOfTheCallers) {
  const gt_value x = Words(3);
  gt_value view = gt_nothing();
  EXPECT_FINE(gt_value_view(&x, LayoutOf(GT_I32, {4}), 16, &view));
  EXPECT_EQ(view.word, x.word + 16);
  EXPECT_EQ(view.storage, nullptr);
  EXPECT_FINE(gt_value_check(&view));
  EXPECT_FAILS(gt_value_view(&x, words(), ~uint64_t{0}, &view), GT_INVALID_ARGUMENT, "beyond");
  const gt_value number = gt_integer(1);
  EXPECT_FAILS(gt_value_view(&number, words(), 0, &view), GT_INVALID_ARGUMENT, "no tensor");
}

TEST_F(ValuesTest, OpaqueObjectsLiveAsLongAsTheirLastValue) {
  int ended = 0;
  gt_value plan = gt_nothing(), copy = gt_nothing();
  const uint64_t version = 5;
  EXPECT_FINE(gt_opaque_new(&ended, [](void* count) { ++*static_cast<int*>(count); }, &version,
                            &plan));
  EXPECT_EQ(plan.kind, GT_VERSIONED_OPAQUE);
  EXPECT_EQ(plan.word, 5u);
  EXPECT_FINE(gt_value_copy(&plan, &copy));
  void* object = nullptr;
  EXPECT_FINE(gt_release(plan.storage));
  EXPECT_FINE(gt_opaque_object(&copy, &object));
  EXPECT_EQ(object, &ended);
  EXPECT_EQ(ended, 0);
  EXPECT_FAILS(gt_opaque_object(&plan, &object), GT_BAD_HANDLE, "the storage of value is the");
  EXPECT_FINE(gt_release(copy.storage));
  EXPECT_EQ(ended, 1);
  const gt_value number = gt_integer(1);
  EXPECT_FAILS(gt_opaque_object(&number, &object), GT_INVALID_ARGUMENT, "the integer 1");
}

}  // namespace
}  // namespace graphtree::c
