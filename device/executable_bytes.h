// Estimates how much of the device's memory an executable takes, from its number of ops.
//
// An estimate is better than measuring here: the driver cuts executables out of larger pieces, so
// the free bytes drop by nothing for most and by megabytes for some; it keeps what destroyed ones
// have left, for the next; others allocate at the same time; and asking for the free bytes can cost
// more than instantiating.
//
// The table is what 256 executables of one chain of kernels took each on an H100, each size in a
// process of its own. It is the same for kernels of one, four and 64 pointers, and grows before
// the first launch. Between two sizes a line is drawn. A driver of another version may take less:
// 216 and 1504 KiB for 100 and 1000 kernels were measured on an H200. Where a graph forks, each
// branch takes about as much as a graph of its own, some 112 KiB more, which a number of ops does
// not tell.
#ifndef GRAPHTREE_DEVICE_EXECUTABLE_BYTES_H_
#define GRAPHTREE_DEVICE_EXECUTABLE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace graphtree {

struct MeasuredExecutable {
  uint64_t ops;
  uint64_t kib;
};

inline constexpr MeasuredExecutable kMeasuredExecutables[] = {
    {0, 112},    {2, 112},    {5, 120},    {9, 128},     {20, 152},    {40, 192},   {60, 240},
    {64, 256},   {80, 296},   {100, 344},  {128, 400},   {150, 464},   {200, 616},  {256, 744},
    {300, 936},  {385, 1000}, {500, 1376}, {600, 2192},  {700, 2496},  {1000, 2648}, {1500, 4952},
    {2000, 5208}};

constexpr uint64_t ExecutableBytes(uint64_t ops) {
  constexpr uint64_t kKib = 1024;
  constexpr size_t kCount = std::size(kMeasuredExecutables);
  size_t above = 1;
  while (above < kCount && kMeasuredExecutables[above].ops < ops) ++above;
  if (above == kCount) {
    const MeasuredExecutable& last = kMeasuredExecutables[kCount - 1];
    return last.kib * kKib * ops / last.ops;
  }
  const MeasuredExecutable& low = kMeasuredExecutables[above - 1];
  const MeasuredExecutable& high = kMeasuredExecutables[above];
  return low.kib * kKib + (high.kib - low.kib) * kKib * (ops - low.ops) / (high.ops - low.ops);
}

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_EXECUTABLE_BYTES_H_
