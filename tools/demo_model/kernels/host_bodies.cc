// What the CUDA bodies compute, row by row, in the same order of additions.
#include "tools/demo_model/kernels/host_bodies.h"

#include <algorithm>
#include <cstdint>

#include "graphs/random/philox.h"
#include "tools/demo_model/kernels/dims.h"
#include "tools/demo_model/kernels/math.h"

namespace graphtree::demo {
namespace {

void AttendRow(float* out, const float* query, const float* keys, const float* values,
               const int* table, int length) {
  float score[kPositions];
  float largest = -3e38f;
  for (int t = 0; t < length; ++t) {
    const float* key = keys + PlaceOf(table, t) * kHidden;
    float dot = 0;
    for (int d = 0; d < kHeadDim; ++d) dot = TimesPlus(query[d], key[d], dot);
    score[t] = Times(dot, 0.17677669f);
    largest = std::max(largest, score[t]);
  }
  float partial[kLanes] = {};
  for (int t = 0; t < length; ++t) {
    score[t] = Exp(Plus(score[t], -largest));
    partial[t % kLanes] = Plus(partial[t % kLanes], score[t]);
  }
  const float sum = Folded(partial);
  float mixed[kHeadDim] = {};
  for (int t = 0; t < length; ++t) {
    const float* value = values + PlaceOf(table, t) * kHidden;
    for (int d = 0; d < kHeadDim; ++d) mixed[d] = TimesPlus(score[t], value[d], mixed[d]);
  }
  for (int d = 0; d < kHeadDim; ++d) out[d] = Over(mixed[d], sum);
}

// So many columns of one row at a time, whose sums stay in registers; each adds in the order of k.
template <int kColumns>
void MultiplyRow(float* out, const float* x, const float* weight, int inner, int columns) {
  float sums[kColumns] = {};
  for (int k = 0; k < inner; ++k, weight += columns) {
    const float factor = x[k];
    for (int n = 0; n < kColumns; ++n) sums[n] = TimesPlus(factor, weight[n], sums[n]);
  }
  std::copy_n(sums, kColumns, out);
}

}  // namespace

void PrepareOnHost(const HostCall& call) {
  auto* positions = call.Get<int*>(0);
  auto* owners = call.Get<int*>(1);
  auto* places = call.Get<int*>(2);
  const auto* starts = call.Get<const int*>(5);
  const auto* lengths = call.Get<const int*>(6);
  const auto* tables = call.Get<const int*>(7);
  const int requests = call.Get<int>(9);
  int live_requests = 0;
  for (int r = 0; r < requests; ++r) {
    live_requests += starts[r + 1] > starts[r];
    for (int row = starts[r]; row < starts[r + 1]; ++row) {
      positions[row] = lengths[r] - starts[r + 1] + row;
      owners[row] = r;
      places[row] = PlaceOf(tables + r * kTableBlocks, positions[row]);
    }
  }
  *call.Get<int*>(3) = starts[requests];
  *call.Get<int*>(4) = live_requests;
}

void EmbedOnHost(const HostCall& call) {
  auto* x = call.Get<float*>(0);
  const auto* table = call.Get<const float*>(1);
  const auto* ids = call.Get<const int*>(2);
  for (int row = 0; row < *call.Get<const int*>(3); ++row) {
    std::copy_n(table + ids[row] * kHidden, kHidden, x + row * kHidden);
  }
}

void NormOnHost(const HostCall& call) {
  auto* out = call.Get<float*>(0);
  const auto* x = call.Get<const float*>(1);
  const auto* weight = call.Get<const float*>(2);
  const int live = *call.Get<const int*>(3);
  for (int row = 0; row < live; ++row, out += kHidden, x += kHidden) {
    float partial[kLanes] = {};
    for (int i = 0; i < kHidden; ++i) {
      partial[i % kLanes] = TimesPlus(x[i], x[i], partial[i % kLanes]);
    }
    const float mean = Times(Folded(partial), 1.0f / kHidden);
    const float scale = Over(1.0f, Root(Plus(mean, 1e-5f)));
    for (int i = 0; i < kHidden; ++i) out[i] = Times(Times(x[i], scale), weight[i]);
  }
}

void MatmulOnHost(const HostCall& call) {
  auto* out = call.Get<float*>(0);
  const auto* x = call.Get<const float*>(1);
  const auto* weight = call.Get<const float*>(2);
  const int rows = *call.Get<const int*>(3);
  const int inner = call.Get<int>(4);
  const int columns = call.Get<int>(5);
  constexpr int kWide = 32;
  for (int row = 0; row < rows; ++row, out += columns, x += inner) {
    int n = 0;
    for (; n + kWide <= columns; n += kWide) {
      MultiplyRow<kWide>(out + n, x, weight + n, inner, columns);
    }
    for (; n < columns; ++n) MultiplyRow<1>(out + n, x, weight + n, inner, columns);
  }
}

void RopeOnHost(const HostCall& call) {
  auto* qkv = call.Get<float*>(0);
  const auto* angles = call.Get<const float*>(1);
  const auto* positions = call.Get<const int*>(2);
  constexpr int kPairs = kHeadDim / 2;
  for (int row = 0; row < *call.Get<const int*>(3); ++row) {
    for (int head = 0; head < 2 * kHeads; ++head) {  // queries' heads, then keys'
      float* at = qkv + row * 3 * kHidden + head * kHeadDim;
      const float* angle = angles + positions[row] * kPairs * 2;
      for (int pair = 0; pair < kPairs; ++pair, ++at, angle += 2) {
        const float a = at[0];
        const float b = at[kPairs];
        at[0] = Plus(Times(a, angle[0]), -Times(b, angle[1]));
        at[kPairs] = Plus(Times(a, angle[1]), Times(b, angle[0]));
      }
    }
  }
}

void AppendOnHost(const HostCall& call) {
  auto* cache = call.Get<float*>(0);
  const auto* qkv = call.Get<const float*>(1);
  const auto* places = call.Get<const int*>(2);
  for (int row = 0; row < *call.Get<const int*>(3); ++row) {
    float* place = cache + places[row] * kHidden;
    const float* from = qkv + row * 3 * kHidden;
    std::copy_n(from + kHidden, kHidden, place);
    std::copy_n(from + 2 * kHidden, kHidden, place + kCacheRows * kHidden);
  }
}

void AttendOnHost(const HostCall& call) {
  auto* out = call.Get<float*>(0);
  const auto* qkv = call.Get<const float*>(1);
  const auto* cache = call.Get<const float*>(2);
  const auto* positions = call.Get<const int*>(3);
  const auto* owners = call.Get<const int*>(4);
  const auto* tables = call.Get<const int*>(5);
  for (int row = 0; row < *call.Get<const int*>(6); ++row) {
    const int* table = tables + owners[row] * kTableBlocks;
    for (int head = 0; head < kHeads; ++head) {
      const int within = head * kHeadDim;
      const float* keys = cache + within;
      AttendRow(out + row * kHidden + within, qkv + row * 3 * kHidden + within, keys,
                keys + kCacheRows * kHidden, table, positions[row] + 1);
    }
  }
}

void AddOnHost(const HostCall& call) {
  auto* x = call.Get<float*>(0);
  const auto* y = call.Get<const float*>(1);
  const int count = *call.Get<const int*>(2) * kHidden;
  for (int i = 0; i < count; ++i) x[i] = Plus(x[i], y[i]);
}

void GateOnHost(const HostCall& call) {
  auto* out = call.Get<float*>(0);
  const auto* gate_up = call.Get<const float*>(1);
  const int live = *call.Get<const int*>(2);
  for (int row = 0; row < live; ++row, out += kFeed, gate_up += 2 * kFeed) {
    for (int i = 0; i < kFeed; ++i) out[i] = Times(Silu(gate_up[i]), gate_up[kFeed + i]);
  }
}

void GatherOnHost(const HostCall& call) {
  auto* out = call.Get<float*>(0);
  const auto* x = call.Get<const float*>(1);
  const auto* starts = call.Get<const int*>(2);
  for (int r = 0; r < *call.Get<const int*>(3); ++r) {
    std::copy_n(x + (starts[r + 1] - 1) * kHidden, kHidden, out + r * kHidden);
  }
}

void SampleOnHost(const HostCall& call) {
  auto* tokens = call.Get<int*>(0);
  const auto* logits = call.Get<const float*>(1);
  const auto* temperatures = call.Get<const float*>(2);
  const auto* seeds = call.Get<const int64_t*>(3);
  const auto* lengths = call.Get<const int*>(4);
  const int live = *call.Get<const int*>(5);
  for (int r = 0; r < live; ++r, logits += kVocabulary) {
    const float temperature = temperatures[r];
    const auto seed = static_cast<uint64_t>(seeds[r]);
    const uint64_t start = static_cast<uint64_t>(lengths[r]) * kVocabulary;
    float best = -3e38f;
    for (int i = 0; i < kVocabulary; ++i) {
      const float noise = temperature > 0 ? Gumbel(RandomWord(seed, start + i)) : 0.0f;
      const float value = TimesPlus(noise, temperature, logits[i]);
      if (value > best) {
        best = value;
        tokens[r] = i;
      }
    }
  }
}

}  // namespace graphtree::demo
