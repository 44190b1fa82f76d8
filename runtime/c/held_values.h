// What is held of a device's memory when its trees have gone: an output outlives its tree, and a
// device is not closed before it.
//
//   gt_value's storage     a slot of the table, which is searched
//   gt_dlpack_new's struct   an ExportedTensor, which is in a list while it lives
//
// Threads: any. Cost: a search of all handles, for whoever closes a device; a lock for each struct
// that is made or ends.
#ifndef GRAPHTREE_RUNTIME_C_HELD_VALUES_H_
#define GRAPHTREE_RUNTIME_C_HELD_VALUES_H_

#include <string>

#include "device/device.h"
#include "graphs/tensor.h"

namespace graphtree::c {

// A tensor that another framework holds.
class ExportedTensor {
 public:
  explicit ExportedTensor(Tensor tensor);
  ~ExportedTensor();
  ExportedTensor(const ExportedTensor&) = delete;
  ExportedTensor& operator=(const ExportedTensor&) = delete;
  const Tensor& tensor() const { return tensor_; }

 private:
  friend std::string HeldOn(Device& device);

  const Tensor tensor_;
  // In the list of all.
  ExportedTensor* before_ = nullptr;
  ExportedTensor* after_ = nullptr;
};

// "2 values of its trees and 1 tensor of gt_dlpack_new"; empty if nothing is held that trees have
// made on the device. Devices of one GPU count as one.
std::string HeldOn(Device& device);

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_HELD_VALUES_H_
