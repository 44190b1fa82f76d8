// How torch's tensors are said to the library: a type of the same size, sizes and strides.
//
//   int8, float8, bool   u8      int16   f16      complex64   f64
//   complex128           f64 with one dimension more, of two elements
//
// A recording moves bytes and compares layouts, so the size of an element is what counts.
//
// Threads: any. Cost: a lock and a hash in the library; whoever calls often keeps the layout.
#ifndef GRAPHTREE_RUNTIME_TORCH_LAYOUTS_H_
#define GRAPHTREE_RUNTIME_TORCH_LAYOUTS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include <c10/core/Device.h>
#include <c10/core/TensorImpl.h>

#include "runtime/c/graphtree.h"

namespace graphtree::torch_adaptor {

gt_layout LayoutOf(const c10::TensorImpl& tensor);
gt_layout LayoutOfBytes(size_t bytes);
inline void* AddressOf(uint64_t word) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(word));
}
inline uint64_t WordOf(const void* address) {
  return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(address));
}
// "1234 bytes allocated, 5678 reserved", of torch's own allocator.
std::string TorchMemoryText(c10::DeviceIndex device);

}  // namespace graphtree::torch_adaptor

#endif  // GRAPHTREE_RUNTIME_TORCH_LAYOUTS_H_
