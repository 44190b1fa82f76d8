// What is wrong with a launch or a fill before CUDA is asked: CUDA's own answer does not name the
// number that is off, and for a patch it is another code than for a launch.
//
// Pure. Cost where all is well: a few multiplications.
#ifndef GRAPHTREE_DEVICE_CUDA_LAUNCH_CHECKS_H_
#define GRAPHTREE_DEVICE_CUDA_LAUNCH_CHECKS_H_

#include <cstdint>
#include <string>

#include "device/graph.h"
#include "device/kernel.h"

namespace graphtree {

// Of every GPU that this program accepts.
constexpr uint64_t kMostThreads = 1024;
constexpr Dim3 kLargestBlock = {1024, 1024, 64};
constexpr Dim3 kLargestGrid = {0x7fffffff, 65535, 65535};

// Is every size at least 1 and at most the limit's? Then its product cannot come round to nothing.
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
