// The kernels that tests launch. Each has a host body and a CUDA body that give the same bytes.
//
// All arithmetic is on unsigned integers, or on floats by powers of two, so that equal bytes can be
// asked for and a wrong order shows: Append is not commutative, Delay keeps a stream busy long
// enough for a missing event to be seen, and BigTable carries more bytes by value than any launch
// path may shortcut. In a build without CUDA the CUDA bodies are empty.
//
// launches.h calls them with their arguments in place.
#ifndef GRAPHTREE_TESTS_KERNELS_KERNELS_H_
#define GRAPHTREE_TESTS_KERNELS_KERNELS_H_

#include <cstdint>
#include <vector>

#include "device/kernel.h"

namespace graphtree {

// Passed by value: 2 KiB.
struct BigTable {
  uint32_t words[512];
};

// A value as it has to be after FillPattern(seed), so that tests can say it without a device.
inline uint32_t PatternWord(uint32_t seed, uint32_t index) {
  uint32_t x = (index + 1) * 0x9E3779B1u ^ seed * 0x85EBCA77u;
  x ^= x >> 15;
  x *= 0x2C1B3C6Du;
  return x ^ (x >> 12);
}

// What Checksum adds for one word.
inline uint64_t MixedWord(uint32_t word, uint32_t index) {
  uint64_t x = (static_cast<uint64_t>(index) << 32 | word) * 0x9E3779B97F4A7C15ull;
  return x ^ (x >> 29);
}

// What Append makes of the log.
inline uint64_t Appended(uint64_t log, uint64_t id) { return log * 31 + id; }

const Kernel& EmptyKernel();         // ()
const Kernel& FillPatternKernel();   // (uint32_t* out, uint32_t seed, uint32_t count)
const Kernel& AddKernel();           // (uint32_t* out, const uint32_t* a, const uint32_t* b, count)
const Kernel& ScaleKernel();         // (float* data, float factor, uint32_t count)
const Kernel& IncrementKernel();     // (uint32_t* data, uint32_t by, uint32_t count)
const Kernel& StridedCopyKernel();   // (uint32_t* out, const uint32_t* in, stride, count)
const Kernel& ChecksumKernel();      // (uint64_t* out, const uint32_t* in, uint32_t count)
const Kernel& AppendKernel();        // (uint64_t* log, uint64_t id)
const Kernel& DelayKernel();         // (uint32_t microseconds)
const Kernel& BigTableKernel();      // (uint32_t* out, BigTable table)

// All of the above.
const std::vector<const Kernel*>& TestKernels();

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_KERNELS_KERNELS_H_
