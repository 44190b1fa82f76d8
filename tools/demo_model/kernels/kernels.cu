// CUDA bodies of the model's kernels. Sums follow the order that math.h fixes.
#include <cstdint>

#include "graphs/random/philox.h"
#include "graphs/random/random_state.h"
#include "tools/demo_model/kernels/dims.h"
#include "tools/demo_model/kernels/math.h"
#include "tools/demo_model/kernels/symbols.h"

namespace graphtree::demo {
namespace {

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

// One block for each row.
__global__ void Embed(float* x, const float* table, const int* tokens, int rows) {
  const int row = blockIdx.x;
  x[row * kHidden + threadIdx.x] = table[tokens[row] * kHidden + threadIdx.x];
}

// One warp for each row.
__global__ void Norm(float* out, const float* x, const float* weight, int rows) {
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
__global__ void Matmul(float* out, const float* x, const float* weight, int rows, int inner,
                       int columns) {
  __shared__ float tile[kFeed];
  const int row = blockIdx.y;
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
__global__ void Rope(float* qkv, const float* angles, const int* positions, int rows) {
  const int row = blockIdx.x;
  const int pair = threadIdx.x % (kHeadDim / 2);
  const int head = threadIdx.x / (kHeadDim / 2);  // queries' heads, then keys'
  float* at = qkv + row * 3 * kHidden + head * kHeadDim + pair;
  const float* angle = angles + (positions[row] * (kHeadDim / 2) + pair) * 2;
  const float a = at[0];
  const float b = at[kHeadDim / 2];
  at[0] = Plus(Times(a, angle[0]), -Times(b, angle[1]));
  at[kHeadDim / 2] = Plus(Times(a, angle[1]), Times(b, angle[0]));
}

__global__ void Append(float* cache, const float* qkv, const int* positions, const int* slots,
                       int rows) {
  const int row = blockIdx.x;
  const int place = (slots[row] * kPositions + positions[row]) * kHidden + threadIdx.x;
  const float* from = qkv + row * 3 * kHidden + threadIdx.x;
  cache[place] = from[kHidden];
  cache[place + kSlots * kPositions * kHidden] = from[2 * kHidden];
}

// One warp for each row and head. Scores go lane by lane over positions, values over dimensions.
__global__ void Attend(float* out, const float* qkv, const float* cache, const int* positions,
                       const int* slots, int rows) {
  __shared__ float score[kPositions];
  const int row = blockIdx.x;
  const int head = blockIdx.y;
  const int lane = threadIdx.x;
  const int length = positions[row] + 1;
  const float* query = qkv + row * 3 * kHidden + head * kHeadDim;
  const float* keys = cache + slots[row] * kPositions * kHidden + head * kHeadDim;
  const float* values = keys + kSlots * kPositions * kHidden;
  float largest = -3e38f;
  for (int t = lane; t < length; t += kLanes) {
    float dot = 0;
    for (int d = 0; d < kHeadDim; ++d) dot = TimesPlus(query[d], keys[t * kHidden + d], dot);
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
  for (int t = 0; t < length; ++t) mixed = TimesPlus(score[t], values[t * kHidden + lane], mixed);
  out[row * kHidden + head * kHeadDim + lane] = Over(mixed, sum);
}

__global__ void Add(float* x, const float* y, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) x[i] = Plus(x[i], y[i]);
}

__global__ void Gate(float* out, const float* gate_up, int rows) {
  const int row = blockIdx.x;
  const float* from = gate_up + row * 2 * kFeed + threadIdx.x;
  out[row * kFeed + threadIdx.x] = Times(Silu(from[0]), from[kFeed]);
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

__global__ void Greedy(int* tokens, const float* logits, int rows) {
  const float* row = logits + blockIdx.x * kVocabulary;
  int at = threadIdx.x;
  for (int i = at; i < kVocabulary; i += kLanes) {
    if (row[i] > row[at]) at = i;
  }
  PickLargest(tokens + blockIdx.x, row[at], at);
}

__global__ void Sample(int* tokens, const float* logits, const float* temperatures, int rows,
                       RandomState state) {
  const RandomStart start = Resolve(state);
  const float* row = logits + blockIdx.x * kVocabulary;
  const float temperature = temperatures[blockIdx.x];
  float best = -3e38f;
  int at = kVocabulary;
  for (int i = threadIdx.x; i < kVocabulary; i += kLanes) {
    const uint64_t position = start.position + blockIdx.x * kVocabulary + i;
    const float noise = temperature > 0 ? Gumbel(RandomWord(start.seed, position)) : 0.0f;
    const float value = TimesPlus(noise, temperature, row[i]);
    if (value > best) {
      best = value;
      at = i;
    }
  }
  PickLargest(tokens + blockIdx.x, best, at);
}

}  // namespace

ModelSymbols LinkedModelKernels() {
  ModelSymbols symbols;
  symbols.embed = reinterpret_cast<const void*>(&Embed);
  symbols.norm = reinterpret_cast<const void*>(&Norm);
  symbols.matmul = reinterpret_cast<const void*>(&Matmul);
  symbols.rope = reinterpret_cast<const void*>(&Rope);
  symbols.append = reinterpret_cast<const void*>(&Append);
  symbols.attend = reinterpret_cast<const void*>(&Attend);
  symbols.add = reinterpret_cast<const void*>(&Add);
  symbols.gate = reinterpret_cast<const void*>(&Gate);
  symbols.greedy = reinterpret_cast<const void*>(&Greedy);
  symbols.sample = reinterpret_cast<const void*>(&Sample);
  return symbols;
}

}  // namespace graphtree::demo
