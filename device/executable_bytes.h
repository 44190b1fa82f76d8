// Estimates how much of the device's memory an executable takes, from its number of ops.
//
// An estimate is better than measuring here: the driver cuts executables out of larger pieces, so
// the free bytes drop by nothing for most and by megabytes for some; others allocate at the same
// time; and asking for the free bytes can cost more than instantiating. The line goes through what
// many executables of one size took on an H200: 128, 216 and 1504 KiB for 10, 100 and 1000 kernels.
#ifndef GRAPHTREE_DEVICE_EXECUTABLE_BYTES_H_
#define GRAPHTREE_DEVICE_EXECUTABLE_BYTES_H_

#include <cstdint>

namespace graphtree {

constexpr uint64_t ExecutableBytes(uint64_t ops) { return (uint64_t{112} << 10) + ops * 1424; }

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_EXECUTABLE_BYTES_H_
