// Finds what is wrong with a launch or a fill before CUDA is asked: CUDA's own answer does not name
// the wrong number, and has another code for a patch than for a launch.
//
// Pure. Cost where all is well: a few multiplications.
#ifndef GRAPHTREE_DEVICE_CUDA_LAUNCH_CHECKS_H_
#define GRAPHTREE_DEVICE_CUDA_LAUNCH_CHECKS_H_

#include <cstdint>
#include <string>

#include "device/graph.h"
#include "device/kernel.h"

namespace graphtree {

// The limits of every GPU that this program accepts.
constexpr uint64_t kMostThreads = 1024;
constexpr Dim3 kLargestBlock = {1024, 1024, 64};
constexpr Dim3 kLargestGrid = {0x7fffffff, 65535, 65535};

// Whether every size is at least 1 and at most the limit's (0 - 1 wraps to a large number). The
// product of such sizes does not overflow.
inline bool Within(const Dim3& size, const Dim3& limit) {
  return size.x - 1 < limit.x && size.y - 1 < limit.y && size.z - 1 < limit.z;
}

inline bool ShapeFits(const LaunchShape& shape) {
  const Dim3& block = shape.block;
  return Within(shape.grid, kLargestGrid) && Within(block, kLargestBlock) &&
         uint64_t{block.x} * block.y * block.z <= kMostThreads;
}

// "its grid or block is empty"; for a shape that does not fit.
std::string ShapeFlaw(const LaunchShape& shape);

// Empty if the fill is fine.
std::string FillFlaw(const FillParams& fill);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_LAUNCH_CHECKS_H_
