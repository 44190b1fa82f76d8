// CUDA bodies of the model's kernels. Sums follow the order that math.h fixes.
#include <cstdint>

#include "graphs/random/philox.h"
#include "tools/demo_model/kernels/dims.h"
#include "tools/demo_model/kernels/math.h"
#include "tools/demo_model/kernels/symbols.h"

namespace graphtree::demo {
namespace kernels {

constexpr uint32_t kWholeWarp = 0xffffffffu;

__device__ float WarpSum(float value) {
  for (int width = kLanes / 2; width > 0; width /= 2) {
    value = Plus(value, __shfl_xor_sync(kWholeWarp, value, width));
  }
  return value;
}

__device__ float WarpMax(float value) {
  for (int width = kLanes / 2; width > 0; width /= 2) {
    const float other = __shfl_xor_sync(kWholeWarp, value, width);
    value = other > value ? other : value;
  }
  return value;
}

// One thread for each row of tokens; the first one counts, too.
__global__ void Prepare(int* positions, int* owners, int* places, int* live_tokens,
                        int* live_requests, const int* starts, const int* lengths,
                        const int* tables, int tokens, int requests) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row == 0) {
    int live = 0;
    for (int r = 0; r < requests; ++r) live += starts[r + 1] > starts[r];
    *live_tokens = starts[requests];
    *live_requests = live;
  }
  if (row >= tokens || row >= starts[requests]) return;
  int owner = 0;
  while (starts[owner + 1] <= row) ++owner;
  const int position = lengths[owner] - starts[owner + 1] + row;
  positions[row] = position;
  owners[row] = owner;
  places[row] = PlaceOf(tables + owner * kTableBlocks, position);
}

// One block for each row, here and below.
__global__ void Embed(float* x, const float* table, const int* ids, const int* live) {
  const int row = blockIdx.x;
  if (row >= *live) return;
  x[row * kHidden + threadIdx.x] = table[ids[row] * kHidden + threadIdx.x];
}

// One warp for each row.
__global__ void Norm(float* out, const float* x, const float* weight, const int* live) {
  if (blockIdx.x >= *live) return;
  const int row = blockIdx.x * kHidden;
  float sum = 0;
  for (int i = threadIdx.x; i < kHidden; i += kLanes) {
    sum = TimesPlus(x[row + i], x[row + i], sum);
  }
  const float mean = Times(WarpSum(sum), 1.0f / kHidden);
  const float scale = Over(1.0f, Root(Plus(mean, 1e-5f)));
  for (int i = threadIdx.x; i < kHidden; i += kLanes) {
    out[row + i] = Times(Times(x[row + i], scale), weight[i]);
  }
}

// One thread for each output; the row of x lies in shared memory.
__global__ void Matmul(float* out, const float* x, const float* weight, const int* live, int inner,
                       int columns) {
  __shared__ float tile[kFeed];
  const int row = blockIdx.y;
  if (row >= *live) return;
  for (int k = threadIdx.x; k < inner; k += blockDim.x) tile[k] = x[row * inner + k];
  __syncthreads();
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  float sum = 0;
#pragma unroll 16
  for (int k = 0; k < inner; ++k) sum = TimesPlus(tile[k], weight[k * columns + column], sum);
  out[row * columns + column] = sum;
}

// One thread for each pair of a query's or key's elements: [row][query or key][head][pair].
__global__ void Rope(float* qkv, const float* angles, const int* positions, const int* live) {
  const int row = blockIdx.x;
  if (row >= *live) return;
  const int pair = threadIdx.x % (kHeadDim / 2);
  const int head = threadIdx.x / (kHeadDim / 2);  // queries' heads, then keys'
  float* at = qkv + row * 3 * kHidden + head * kHeadDim + pair;
  const float* angle = angles + (positions[row] * (kHeadDim / 2) + pair) * 2;
  const float a = at[0];
  const float b = at[kHeadDim / 2];
  at[0] = Plus(Times(a, angle[0]), -Times(b, angle[1]));
  at[kHeadDim / 2] = Plus(Times(a, angle[1]), Times(b, angle[0]));
}

__global__ void Append(float* cache, const float* qkv, const int* places, const int* live) {
  const int row = blockIdx.x;
  if (row >= *live) return;
  const int place = places[row] * kHidden + threadIdx.x;
  const float* from = qkv + row * 3 * kHidden + threadIdx.x;
  cache[place] = from[kHidden];
  cache[place + kCacheRows * kHidden] = from[2 * kHidden];
}

// One warp for each row and head. Scores go lane by lane over positions, values over dimensions.
__global__ void Attend(float* out, const float* qkv, const float* cache, const int* positions,
                       const int* owners, const int* tables, const int* live) {
  extern __shared__ float score[];
  const int row = blockIdx.x;
  if (row >= *live) return;
  const int head = blockIdx.y;
  const int lane = threadIdx.x;
  const int length = positions[row] + 1;
  const int* table = tables + owners[row] * kTableBlocks;
  const float* query = qkv + row * 3 * kHidden + head * kHeadDim;
  const float* keys = cache + head * kHeadDim;
  const float* values = keys + kCacheRows * kHidden;
  float largest = -3e38f;
  for (int t = lane; t < length; t += kLanes) {
    const float* key = keys + PlaceOf(table, t) * kHidden;
    float dot = 0;
    for (int d = 0; d < kHeadDim; ++d) dot = TimesPlus(query[d], key[d], dot);
    score[t] = Times(dot, 0.17677669f);
    largest = score[t] > largest ? score[t] : largest;
  }
  largest = WarpMax(largest);
  float sum = 0;
  for (int t = lane; t < length; t += kLanes) {
    score[t] = Exp(Plus(score[t], -largest));
    sum = Plus(sum, score[t]);
  }
  sum = WarpSum(sum);
  __syncwarp();
  float mixed = 0;
  for (int t = 0; t < length; ++t) {
    mixed = TimesPlus(score[t], values[PlaceOf(table, t) * kHidden + lane], mixed);
  }
  out[row * kHidden + head * kHeadDim + lane] = Over(mixed, sum);
}

__global__ void Add(float* x, const float* y, const int* live) {
  if (blockIdx.x >= *live) return;
  const int i = blockIdx.x * kHidden + threadIdx.x;
  x[i] = Plus(x[i], y[i]);
}

__global__ void Gate(float* out, const float* gate_up, const int* live) {
  const int row = blockIdx.x;
  if (row >= *live) return;
  const float* from = gate_up + row * 2 * kFeed + threadIdx.x;
  out[row * kFeed + threadIdx.x] = Times(Silu(from[0]), from[kFeed]);
}

__global__ void Gather(float* out, const float* x, const int* starts, const int* live) {
  const int r = blockIdx.x;
  if (r >= *live) return;
  out[r * kHidden + threadIdx.x] = x[(starts[r + 1] - 1) * kHidden + threadIdx.x];
}

// Lanes keep their best; of equal ones the lower token wins, so that order does not matter.
__device__ void PickLargest(int* token, float best, int at) {
  for (int width = kLanes / 2; width > 0; width /= 2) {
    const float other = __shfl_xor_sync(kWholeWarp, best, width);
    const int other_at = __shfl_xor_sync(kWholeWarp, at, width);
    if (other > best || (other == best && other_at < at)) {
      best = other;
      at = other_at;
    }
  }
  if (threadIdx.x == 0) *token = at;
}

__global__ void Sample(int* tokens, const float* logits, const float* temperatures,
                       const int64_t* seeds, const int* lengths, const int* live) {
  const int r = blockIdx.x;
  if (r >= *live) return;
  const float* row = logits + r * kVocabulary;
  const float temperature = temperatures[r];
  const auto seed = static_cast<uint64_t>(seeds[r]);
  const uint64_t start = static_cast<uint64_t>(lengths[r]) * kVocabulary;
  float best = -3e38f;
  int at = kVocabulary;
  for (int i = threadIdx.x; i < kVocabulary; i += kLanes) {
    const float noise = temperature > 0 ? Gumbel(RandomWord(seed, start + i)) : 0.0f;
    const float value = TimesPlus(noise, temperature, row[i]);
    if (value > best) {
      best = value;
      at = i;
    }
  }
  PickLargest(tokens + r, best, at);
}

}  // namespace kernels

ModelSymbols LinkedModelKernels() {
  ModelSymbols symbols;
  symbols.prepare = reinterpret_cast<const void*>(&kernels::Prepare);
  symbols.embed = reinterpret_cast<const void*>(&kernels::Embed);
  symbols.norm = reinterpret_cast<const void*>(&kernels::Norm);
  symbols.matmul = reinterpret_cast<const void*>(&kernels::Matmul);
  symbols.rope = reinterpret_cast<const void*>(&kernels::Rope);
  symbols.append = reinterpret_cast<const void*>(&kernels::Append);
  symbols.attend = reinterpret_cast<const void*>(&kernels::Attend);
  symbols.add = reinterpret_cast<const void*>(&kernels::Add);
  symbols.gate = reinterpret_cast<const void*>(&kernels::Gate);
  symbols.gather = reinterpret_cast<const void*>(&kernels::Gather);
  symbols.sample = reinterpret_cast<const void*>(&kernels::Sample);
  return symbols;
}

}  // namespace graphtree::demo
