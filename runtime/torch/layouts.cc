// Maps types by size.
#include "runtime/torch/layouts.h"

#include <vector>

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/util/Exception.h>

#include "runtime/torch/library.h"

namespace graphtree::torch_adaptor {
namespace {

gt_dtype TypeOfSize(size_t bytes) {
  switch (bytes) {
    case 1: return GT_U8;
    case 2: return GT_F16;
    case 4: return GT_F32;
    default: return GT_F64;
  }
}

}  // namespace

gt_layout LayoutOf(const c10::TensorImpl& tensor) {
  const size_t item = tensor.itemsize();
  TORCH_CHECK(item == 1 || item == 2 || item == 4 || item == 8 || item == 16,
              "graphtree: a tensor with elements of ", item, " bytes cannot be recorded");
  std::vector<int64_t> sizes = tensor.sizes().vec(), strides = tensor.strides().vec();
  if (item == 16) {
    for (int64_t& stride : strides) stride *= 2;
    sizes.push_back(2);
    strides.push_back(1);
  }
  gt_layout layout = nullptr;
  Check(Gt().gt_layout_new(TypeOfSize(item), static_cast<uint32_t>(sizes.size()), sizes.data(),
                           strides.data(), &layout));
  return layout;
}

gt_layout LayoutOfBytes(size_t bytes) {
  const int64_t size = static_cast<int64_t>(bytes);
  gt_layout layout = nullptr;
  Check(Gt().gt_layout_new(GT_U8, 1, &size, nullptr, &layout));
  return layout;
}

std::string TorchMemoryText(c10::DeviceIndex device) {
  const auto stats = c10::cuda::CUDACachingAllocator::get()->getDeviceStats(device);
  return std::to_string(stats.allocated_bytes[0].current) + " bytes allocated, " +
         std::to_string(stats.reserved_bytes[0].current) + " reserved";
}

}  // namespace graphtree::torch_adaptor
