// CUDA bodies of the test kernels. Grid-stride loops: any grid gives the same bytes.
#include <cstdint>

#include "tests/kernels/symbols.h"

namespace graphtree {
namespace {

struct BigTable {
  uint32_t words[512];
};

__device__ uint32_t First() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ uint32_t Step() { return gridDim.x * blockDim.x; }

__global__ void Empty() {}

__global__ void FillPattern(uint32_t* out, uint32_t seed, uint32_t count) {
  for (uint32_t i = First(); i < count; i += Step()) {
    uint32_t x = (i + 1) * 0x9E3779B1u ^ seed * 0x85EBCA77u;
    x ^= x >> 15;
    x *= 0x2C1B3C6Du;
    out[i] = x ^ (x >> 12);
  }
}

__global__ void Add(uint32_t* out, const uint32_t* a, const uint32_t* b, uint32_t count) {
  for (uint32_t i = First(); i < count; i += Step()) out[i] = a[i] + b[i];
}

__global__ void Scale(float* data, float factor, uint32_t count) {
  for (uint32_t i = First(); i < count; i += Step()) data[i] *= factor;
}

__global__ void Increment(uint32_t* data, uint32_t by, uint32_t count) {
  for (uint32_t i = First(); i < count; i += Step()) data[i] += by;
}

__global__ void StridedCopy(uint32_t* out, const uint32_t* in, uint32_t stride, uint32_t count) {
  for (uint32_t i = First(); i < count; i += Step()) out[i] = in[i * stride];
}

// One block: the sum must be complete when the kernel ends.
__global__ void Checksum(unsigned long long* out, const uint32_t* in, uint32_t count) {
  __shared__ unsigned long long total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  unsigned long long sum = 0;
  for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
    unsigned long long x =
        (static_cast<unsigned long long>(i) << 32 | in[i]) * 0x9E3779B97F4A7C15ull;
    sum += x ^ (x >> 29);
  }
  atomicAdd(&total, sum);
  __syncthreads();
  if (threadIdx.x == 0) *out = total;
}

__global__ void Append(unsigned long long* log, unsigned long long id) { *log = *log * 31 + id; }

__device__ unsigned long long GlobalNanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void Delay(uint32_t microseconds) {
  const unsigned long long end = GlobalNanoseconds() + 1000ull * microseconds;
  while (GlobalNanoseconds() < end) __nanosleep(100);
}

__global__ void ReadBigTable(uint32_t* out, BigTable table) {
  for (uint32_t i = First(); i < 512; i += Step()) out[i] = table.words[i] * 3 + i;
}

}  // namespace

TestKernelSymbols LinkedTestKernels() {
  TestKernelSymbols symbols;
  symbols.empty = reinterpret_cast<const void*>(&Empty);
  symbols.fill_pattern = reinterpret_cast<const void*>(&FillPattern);
  symbols.add = reinterpret_cast<const void*>(&Add);
  symbols.scale = reinterpret_cast<const void*>(&Scale);
  symbols.increment = reinterpret_cast<const void*>(&Increment);
  symbols.strided_copy = reinterpret_cast<const void*>(&StridedCopy);
  symbols.checksum = reinterpret_cast<const void*>(&Checksum);
  symbols.append = reinterpret_cast<const void*>(&Append);
  symbols.delay = reinterpret_cast<const void*>(&Delay);
  symbols.big_table = reinterpret_cast<const void*>(&ReadBigTable);
  return symbols;
}

}  // namespace graphtree
