// Float arithmetic that gives the same bytes in host bodies and CUDA bodies: every operation is
// rounded by itself (a fused multiply-add would round once), functions are made of such operations,
// and long sums have one fixed order.
//
// The order of a sum: element i goes to partial sum i % 32, in the order of i, and the 32 partial
// sums are folded: s[i] += s[i + 16], then 8, 4, 2, 1. That is what a warp does by itself, a lane
// for each partial sum.
//
// Host files that include this are compiled with -ffp-contract=off.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_MATH_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_MATH_H_

#include <cmath>
#include <cstdint>
#include <cstring>

#include "device/base/host_device.h"

namespace graphtree::demo {

#ifdef __CUDA_ARCH__
__device__ inline float Times(float a, float b) { return __fmul_rn(a, b); }
__device__ inline float Plus(float a, float b) { return __fadd_rn(a, b); }
__device__ inline float Over(float a, float b) { return __fdiv_rn(a, b); }
__device__ inline float Root(float a) { return __fsqrt_rn(a); }
__device__ inline float FloatOfBits(uint32_t bits) { return __uint_as_float(bits); }
__device__ inline uint32_t BitsOf(float value) { return __float_as_uint(value); }
#else
inline float Times(float a, float b) { return a * b; }
inline float Plus(float a, float b) { return a + b; }
inline float Over(float a, float b) { return a / b; }
inline float Root(float a) { return std::sqrt(a); }
inline float FloatOfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
inline uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
#endif

GRAPHTREE_HOST_DEVICE inline float TimesPlus(float a, float b, float c) {
  return Plus(Times(a, b), c);
}

// e^x to about 2e-7 relative; 0 below -87, and x is taken as at most 88.
GRAPHTREE_HOST_DEVICE inline float Exp(float x) {
  if (x < -87.0f) return 0.0f;
  if (x > 88.0f) x = 88.0f;
  const float scaled = Plus(Times(x, 1.44269504f), x < 0 ? -0.5f : 0.5f);
  const int32_t power = static_cast<int32_t>(scaled);
  const float n = static_cast<float>(power);
  // ln 2 in two parts; the first has few bits, so that n times it is exact.
  const float r = TimesPlus(n, 2.12194440e-4f, TimesPlus(n, -0.693359375f, x));
  float sum = 1.0f / 5040;
  sum = TimesPlus(sum, r, 1.0f / 720);
  sum = TimesPlus(sum, r, 1.0f / 120);
  sum = TimesPlus(sum, r, 1.0f / 24);
  sum = TimesPlus(sum, r, 1.0f / 6);
  sum = TimesPlus(sum, r, 0.5f);
  sum = TimesPlus(sum, r, 1.0f);
  sum = TimesPlus(sum, r, 1.0f);
  return Times(sum, FloatOfBits(static_cast<uint32_t>(power + 127) << 23));
}

// ln x to about 2e-7, relative but for x near 1. REQUIRES: x is positive and not subnormal.
GRAPHTREE_HOST_DEVICE inline float Log(float x) {
  const uint32_t bits = BitsOf(x);
  int32_t power = static_cast<int32_t>(bits >> 23) - 127;
  float m = FloatOfBits((bits & 0x7fffffu) | 0x3f800000u);
  if (m > 1.41421356f) {
    m = Times(m, 0.5f);
    ++power;
  }
  // ln m = 2 artanh(t), t = (m - 1) / (m + 1), |t| < 0.172.
  const float t = Over(Plus(m, -1.0f), Plus(m, 1.0f));
  const float t2 = Times(t, t);
  float sum = 2.0f / 9;
  sum = TimesPlus(sum, t2, 2.0f / 7);
  sum = TimesPlus(sum, t2, 2.0f / 5);
  sum = TimesPlus(sum, t2, 2.0f / 3);
  sum = TimesPlus(sum, t2, 2.0f);
  const float n = static_cast<float>(power);
  return Plus(Times(n, 0.693359375f), TimesPlus(n, -2.12194440e-4f, Times(sum, t)));
}

GRAPHTREE_HOST_DEVICE inline float Silu(float x) { return Over(x, Plus(1.0f, Exp(-x))); }

// Strictly between 0 and 1, so that its logarithm is finite and not 0.
GRAPHTREE_HOST_DEVICE inline float OpenUniform(uint32_t word) {
  return Times(Plus(static_cast<float>(word >> 9), 0.5f), 1.0f / 8388608.0f);
}

// Adding it to log-probabilities makes the largest one a draw from them.
GRAPHTREE_HOST_DEVICE inline float Gumbel(uint32_t word) { return -Log(-Log(OpenUniform(word))); }

inline constexpr int kLanes = 32;

// The host's side of a folded sum; a warp folds with shuffles.
inline float Folded(float partial[kLanes]) {
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) partial[i] = Plus(partial[i], partial[i + width]);
  }
  return partial[0];
}

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_MATH_H_
