// The messages about a wrong launch or fill.
#include "device/cuda/launch_checks.h"

#include "absl/strings/str_cat.h"

namespace graphtree {

namespace {

bool IsEmpty(const Dim3& size) { return size.x == 0 || size.y == 0 || size.z == 0; }

std::string ToString(const Dim3& size) { return absl::StrCat(size.x, "x", size.y, "x", size.z); }

}  // namespace

std::string ShapeFlaw(const LaunchShape& shape) {
  if (IsEmpty(shape.grid) || IsEmpty(shape.block)) return "its grid or block is empty";
  if (!Within(shape.grid, kLargestGrid)) {
    return absl::StrCat("a grid of ", ToString(shape.grid), " is too large, the most is ",
                        ToString(kLargestGrid));
  }
  return absl::StrCat("a block of ", ToString(shape.block), " is too large, the most is ",
                      kMostThreads, " threads or ", ToString(kLargestBlock));
}

std::string FillFlaw(const FillParams& fill) {
  if (fill.width != 1 && fill.width != 2 && fill.width != 4) {
    return absl::StrCat("width ", fill.width, " is none of 1, 2 and 4");
  }
  if (fill.target % fill.width != 0) return "the address must be aligned to the width";
  if (fill.count > UINT64_MAX / fill.width) return "there are not so many addresses";
  return "";
}

}  // namespace graphtree
