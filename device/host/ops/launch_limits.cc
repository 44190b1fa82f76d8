// The limits, and the messages about what goes beyond them.
#include "device/host/ops/launch_limits.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "device/error.h"

namespace graphtree::host {
namespace {

constexpr uint64_t kThreadsPerBlock = 1024;
constexpr Dim3 kLargestBlock = {1024, 1024, 64};
constexpr Dim3 kLargestGrid = {0x7fffffff, 65535, 65535};
constexpr uint32_t kSharedBytes = 227 << 10;
constexpr uint64_t kArgumentBytes = 32764;  // since CUDA 12.1, from compute capability 7.0 on

uint64_t BytesOf(Arguments arguments) {
  uint64_t bytes = 0;
  for (const Argument& argument : arguments) bytes += argument.bytes();
  return bytes;
}

bool Empty(const Dim3& size) { return size.x == 0 || size.y == 0 || size.z == 0; }
bool Exceeds(const Dim3& size, const Dim3& limit) {
  return size.x > limit.x || size.y > limit.y || size.z > limit.z;
}
std::string ToString(const Dim3& size) {
  return absl::StrCat(size.x, "x", size.y, "x", size.z);
}

std::string WrongShape(const LaunchShape& shape) {
  if (Empty(shape.grid) || Empty(shape.block)) return "is empty";
  if (uint64_t{shape.block.x} * shape.block.y * shape.block.z > kThreadsPerBlock ||
      Exceeds(shape.block, kLargestBlock)) {
    return absl::StrCat("has blocks beyond ", kThreadsPerBlock, " threads or ",
                        ToString(kLargestBlock));
  }
  if (Exceeds(shape.grid, kLargestGrid)) {
    return absl::StrCat("has a grid beyond ", ToString(kLargestGrid));
  }
  return "";
}

}  // namespace

absl::Status CheckLaunch(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) {
  if (!kernel.host()) {
    return DeviceError(ErrorCode::kNoBinaryForGpu,
                       absl::StrCat("kernel ", kernel.name(), " has no body for the host device"));
  }
  const std::string mismatch = ArgumentMismatch(kernel, arguments);
  if (!mismatch.empty()) return DeviceError(ErrorCode::kInvalidValue, mismatch);
  if (const uint64_t bytes = BytesOf(arguments); bytes > kArgumentBytes) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("launching ", kernel.name(), " with ", bytes,
                                    " bytes of arguments, beyond ", kArgumentBytes));
  }
  const std::string wrong = WrongShape(shape);
  if (!wrong.empty()) {
    return DeviceError(ErrorCode::kInvalidConfiguration,
                       absl::StrCat("launching ", kernel.name(), " on a grid of ",
                                    ToString(shape.grid), " blocks of ", ToString(shape.block),
                                    ", which ", wrong));
  }
  if (shape.shared_bytes > kSharedBytes) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("launching ", kernel.name(), " with ", shape.shared_bytes,
                                    " bytes of shared memory, beyond ", kSharedBytes));
  }
  return absl::OkStatus();
}

absl::Status CheckFill(const FillParams& fill) {
  if (fill.width != 1 && fill.width != 2 && fill.width != 4) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("filling elements of width ", fill.width,
                                    ": a width is 1, 2 or 4"));
  }
  if (fill.target % fill.width != 0) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("filling at 0x", absl::Hex(fill.target),
                                    ", which is not aligned to the width ", fill.width));
  }
  if (fill.count > UINT64_MAX / fill.width) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("filling ", fill.count, " elements of width ", fill.width,
                                    ": there are not so many addresses"));
  }
  return absl::OkStatus();
}

}  // namespace graphtree::host
