// What tests of the C interface share: a device with a stream and a kernel, and checks of errors.
// Nothing here knows the C++ interface.
#ifndef GRAPHTREE_RUNTIME_C_TEST_WORLD_H_
#define GRAPHTREE_RUNTIME_C_TEST_WORLD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/c/graphtree.h"
#include "runtime/c/test_device.h"

namespace graphtree::c {

// The error's text; it is released. "" for none.
std::string TextOf(gt_error error);
// The error has this code, and its text mentions this; it is released.
::testing::AssertionResult Fails(gt_error error, gt_code code, const std::string& text);
std::string WordsOf(gt_text text);  // likewise

#define EXPECT_FINE(call) EXPECT_EQ(::graphtree::c::TextOf(call), "")
#define ASSERT_FINE(call) ASSERT_EQ(::graphtree::c::TextOf(call), "")
#define EXPECT_FAILS(call, code, text) EXPECT_TRUE(::graphtree::c::Fails(call, code, text))

// out[i] = in[i] + by, of `count` words.
constexpr uint32_t kCount = 256;
extern const gt_launch_shape kShape;

class CTest : public ::testing::Test {
 protected:
  CTest();
  // Every handle of the test is released by then, and the device closes.
  ~CTest() override;

  gt_device device() const { return device_; }
  gt_stream stream() const { return stream_; }
  gt_kernel add() const { return add_; }
  gt_layout words() const { return words_; }  // i32[kCount]

  // Page-locked words, all the same; released with the test.
  gt_value Words(int32_t each);
  // What lies there once the stream's work is done.
  std::vector<int32_t> Read(const gt_value& value);
  gt_layout LayoutOf(gt_dtype dtype, const std::vector<int64_t>& sizes);
  // Released with the test.
  template <typename Handle>
  Handle Own(Handle handle) {
    owned_.push_back(handle);
    return handle;
  }

 private:
  gt_device device_ = nullptr;
  gt_stream stream_ = nullptr;
  gt_kernel add_ = nullptr;
  gt_layout words_ = nullptr;
  std::vector<void*> owned_;
};

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_TEST_WORLD_H_
