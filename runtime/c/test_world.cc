// Makes the world and takes it apart.
#include "runtime/c/test_world.h"

namespace graphtree::c {
namespace {

void AddOnHost(void*, const gt_host_call* call) {
  int32_t* const out = *static_cast<int32_t* const*>(call->arguments[0]);
  const int32_t* const in = *static_cast<const int32_t* const*>(call->arguments[1]);
  const int32_t by = *static_cast<const int32_t*>(call->arguments[2]);
  for (uint32_t i = 0; i < kCount; ++i) out[i] = in[i] + by;
}

constexpr char kAddOnCuda[] = R"(
  extern "C" __global__ void add(int* out, const int* in, int by) {
    out[threadIdx.x] = in[threadIdx.x] + by;
  })";

}  // namespace

const gt_launch_shape kShape = {{1, 1, 1}, {kCount, 1, 1}, 0, 0};

std::string TextOf(gt_error error) {
  if (error == nullptr) return "";
  const std::string text = gt_error_look(error)->text;
  gt_release(error);
  return text.empty() ? "an error without words" : text;
}

::testing::AssertionResult Fails(gt_error error, gt_code code, const std::string& text) {
  if (error == nullptr) return ::testing::AssertionFailure() << "it did not fail";
  const gt_error_info info = *gt_error_look(error);
  const std::string said = info.text;
  gt_release(error);
  if (info.code == code && said.find(text) != std::string::npos) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << gt_code_name(info.code) << ": " << said;
}

std::string WordsOf(gt_text text) {
  size_t bytes = 0;
  const char* const chars = gt_text_chars(text, &bytes);
  std::string words(chars, bytes);
  EXPECT_FINE(gt_release(text));
  return words;
}

CTest::CTest() {
  EXPECT_FINE(gt_device_open(kTestDevice, nullptr, &device_));
  EXPECT_FINE(gt_stream_new(device_, &stream_));
  const uint32_t bytes[] = {8, 8, 4};
  const uint8_t writable[] = {1, 0, 0};
  gt_kernel_options options = GT_INIT(gt_kernel_options);
  options.name = "add";
  options.parameter_count = 3;
  options.parameter_bytes = bytes;
  options.parameter_writable = writable;
  options.host = AddOnHost;
  options.cuda_kind = GT_CUDA_SOURCE;
  options.cuda = kAddOnCuda;
  options.entry = "add";
  EXPECT_FINE(gt_kernel_new(&options, &add_));
  words_ = LayoutOf(GT_I32, {kCount});
}

CTest::~CTest() {
  EXPECT_FINE(gt_stream_synchronize(stream_));
  for (size_t i = owned_.size(); i > 0; --i) EXPECT_FINE(gt_release(owned_[i - 1]));
  EXPECT_FINE(gt_release(add_));
  EXPECT_FINE(gt_release(stream_));
  EXPECT_FINE(gt_release(device_));
  EXPECT_EQ(gt_live_handles(), 0u);
}

gt_value CTest::Words(int32_t each) {
  gt_memory memory = nullptr;
  gt_range range = {};
  EXPECT_FINE(gt_memory_new(device_, GT_ON_HOST, kCount * sizeof(int32_t), &memory));
  EXPECT_FINE(gt_memory_range(Own(memory), &range));
  auto* const words = reinterpret_cast<int32_t*>(range.address);
  for (uint32_t i = 0; i < kCount; ++i) words[i] = each;
  return gt_tensor(range.address, words_);
}

std::vector<int32_t> CTest::Read(const gt_value& value) {
  gt_layout_info info = GT_INIT(gt_layout_info);
  EXPECT_FINE(gt_layout_look(value.layout, &info));
  std::vector<int32_t> words(info.extent_bytes / sizeof(int32_t));
  EXPECT_FINE(gt_stream_copy(stream_, reinterpret_cast<uint64_t>(words.data()), value.word,
                             info.extent_bytes));
  EXPECT_FINE(gt_stream_synchronize(stream_));
  return words;
}

gt_layout CTest::LayoutOf(gt_dtype dtype, const std::vector<int64_t>& sizes) {
  gt_layout layout = nullptr;
  EXPECT_FINE(gt_layout_new(dtype, static_cast<uint32_t>(sizes.size()), sizes.data(), nullptr,
                            &layout));
  return layout;
}

}  // namespace graphtree::c
