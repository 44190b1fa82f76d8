// The handle that CUDA has for one of our objects, after a check that it is a CUDA device's.
#ifndef GRAPHTREE_DEVICE_CUDA_NATIVE_HANDLE_H_
#define GRAPHTREE_DEVICE_CUDA_NATIVE_HANDLE_H_

#include <typeinfo>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/error.h"

namespace graphtree {

// `what` the object is: "a stream".
template <typename Ours, typename Interface>
auto NativeHandle(const Interface& object, const char* what)
    -> absl::StatusOr<decltype(static_cast<const Ours&>(object).native())> {
  if (typeid(object) == typeid(Ours)) return static_cast<const Ours&>(object).native();
  return DeviceError(ErrorCode::kInvalidHandle,
                     absl::StrCat("asking for the native handle of ", what,
                                  " that is not of a CUDA device"));
}

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_NATIVE_HANDLE_H_
