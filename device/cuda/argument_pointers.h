// The array of pointers to argument bytes that CUDA's launch calls take.
//
// CUDA copies the bytes before the call returns, so the array lives on the stack: a launch
// allocates nothing for up to kInline arguments.
#ifndef GRAPHTREE_DEVICE_CUDA_ARGUMENT_POINTERS_H_
#define GRAPHTREE_DEVICE_CUDA_ARGUMENT_POINTERS_H_

#include <cstddef>
#include <memory>

#include "device/kernel.h"

namespace graphtree {

class ArgumentPointers {
 public:
  explicit ArgumentPointers(Arguments arguments) {
    if (arguments.size() > kInline) many_ = std::make_unique<void*[]>(arguments.size());
    void** pointers = data();
    for (size_t i = 0; i < arguments.size(); ++i) {
      pointers[i] = const_cast<void*>(arguments[i].data());
    }
  }
  ArgumentPointers(const ArgumentPointers&) = delete;
  ArgumentPointers& operator=(const ArgumentPointers&) = delete;

  void** data() { return many_ != nullptr ? many_.get() : few_; }

 private:
  static constexpr size_t kInline = 32;
  void* few_[kInline];
  std::unique_ptr<void*[]> many_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_ARGUMENT_POINTERS_H_
