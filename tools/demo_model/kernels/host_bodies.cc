// What the CUDA bodies compute, row by row, in the same order of additions.
#include "tools/demo_model/kernels/host_bodies.h"

#include <algorithm>
#include <cstdint>

#include "graphs/random/philox.h"
#include "graphs/random/random_state.h"
#include "tools/demo_model/kernels/dims.h"
#include "tools/demo_model/kernels/math.h"

namespace graphtree::demo {
namespace {

void AttendRow(float* out, const float* query, const float* keys, const float* values, int length) {
  float score[kPositions];
  float largest = -3e38f;
  for (int t = 0; t < length; ++t) {
    float dot = 0;
    for (int d = 0; d < kHeadDim; ++d) dot = TimesPlus(query[d], keys[t * kHidden + d], dot);
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
    for (int d = 0; d < kHeadDim; ++d) {
      mixed[d] = TimesPlus(score[t], values[t * kHidden + d], mixed[d]);
    }
  }
  for (int d = 0; d < kHeadDim; ++d) out[d] = Over(mixed[d], sum);
}

}  // namespace

void EmbedOnHost(const HostCall& call) {
  auto* x = call.Get<float*>(0);
  const auto* table = call.Get<const float*>(1);
  const auto* tokens = call.Get<const int*>(2);
  for (int row = 0; row < call.Get<int>(3); ++row) {
    std::copy_n(table + tokens[row] * kHidden, kHidden, x + row * kHidden);
  }
}

void NormOnHost(const HostCall& call) {
  auto* out = call.Get<float*>(0);
  const auto* x = call.Get<const float*>(1);
  const auto* weight = call.Get<const float*>(2);
  for (int row = 0; row < call.Get<int>(3); ++row, out += kHidden, x += kHidden) {
    float partial[kLanes] = {};
    for (int i = 0; i < kHidden; ++i) {
      partial[i % kLanes] = TimesPlus(x[i], x[i], partial[i % kLanes]);
    }
    const float mean = Times(Folded(partial), 1.0f / kHidden);
    const float scale = Over(1.0f, Root(Plus(mean, 1e-5f)));
    for (int i = 0; i < kHidden; ++i) out[i] = Times(Times(x[i], scale), weight[i]);
  }
}

// The outer loop goes over `inner`, so that a row of weights is read in one go; each output still
// adds in the order of k.
void MatmulOnHost(const HostCall& call) {
  auto* __restrict out = call.Get<float*>(0);
  const auto* __restrict x = call.Get<const float*>(1);
  const auto* __restrict weight = call.Get<const float*>(2);
  const int rows = call.Get<int>(3);
  const int inner = call.Get<int>(4);
  const int columns = call.Get<int>(5);
  std::fill_n(out, rows * columns, 0.0f);
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k < inner; ++k) {
      const float factor = x[row * inner + k];
      for (int n = 0; n < columns; ++n) {
        out[row * columns + n] =
            TimesPlus(factor, weight[k * columns + n], out[row * columns + n]);
      }
    }
  }
}

void RopeOnHost(const HostCall& call) {
  auto* qkv = call.Get<float*>(0);
  const auto* angles = call.Get<const float*>(1);
  const auto* positions = call.Get<const int*>(2);
  constexpr int kPairs = kHeadDim / 2;
  for (int row = 0; row < call.Get<int>(3); ++row) {
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
  const auto* positions = call.Get<const int*>(2);
  const auto* slots = call.Get<const int*>(3);
  for (int row = 0; row < call.Get<int>(4); ++row) {
    float* place = cache + (slots[row] * kPositions + positions[row]) * kHidden;
    const float* from = qkv + row * 3 * kHidden;
    std::copy_n(from + kHidden, kHidden, place);
    std::copy_n(from + 2 * kHidden, kHidden, place + kSlots * kPositions * kHidden);
  }
}

void AttendOnHost(const HostCall& call) {
  auto* out = call.Get<float*>(0);
  const auto* qkv = call.Get<const float*>(1);
  const auto* cache = call.Get<const float*>(2);
  const auto* positions = call.Get<const int*>(3);
  const auto* slots = call.Get<const int*>(4);
  for (int row = 0; row < call.Get<int>(5); ++row) {
    for (int head = 0; head < kHeads; ++head) {
      const int within = head * kHeadDim;
      const float* keys = cache + slots[row] * kPositions * kHidden + within;
      AttendRow(out + row * kHidden + within, qkv + row * 3 * kHidden + within, keys,
                keys + kSlots * kPositions * kHidden, positions[row] + 1);
    }
  }
}

void AddOnHost(const HostCall& call) {
  auto* x = call.Get<float*>(0);
  const auto* y = call.Get<const float*>(1);
  for (int i = 0; i < call.Get<int>(2); ++i) x[i] = Plus(x[i], y[i]);
}

void GateOnHost(const HostCall& call) {
  auto* out = call.Get<float*>(0);
  const auto* gate_up = call.Get<const float*>(1);
  for (int row = 0; row < call.Get<int>(2); ++row, out += kFeed, gate_up += 2 * kFeed) {
    for (int i = 0; i < kFeed; ++i) out[i] = Times(Silu(gate_up[i]), gate_up[kFeed + i]);
  }
}

void GreedyOnHost(const HostCall& call) {
  auto* tokens = call.Get<int*>(0);
  const auto* logits = call.Get<const float*>(1);
  for (int row = 0; row < call.Get<int>(2); ++row, logits += kVocabulary) {
    tokens[row] = static_cast<int>(std::max_element(logits, logits + kVocabulary) - logits);
  }
}

void SampleOnHost(const HostCall& call) {
  auto* tokens = call.Get<int*>(0);
  const auto* logits = call.Get<const float*>(1);
  const auto* temperatures = call.Get<const float*>(2);
  const RandomStart start = Resolve(call.Get<RandomState>(4));
  for (int row = 0; row < call.Get<int>(3); ++row, logits += kVocabulary) {
    float best = -3e38f;
    for (int i = 0; i < kVocabulary; ++i) {
      const float temperature = temperatures[row];
      const uint64_t position = start.position + row * kVocabulary + i;
      const float noise = temperature > 0 ? Gumbel(RandomWord(start.seed, position)) : 0.0f;
      const float value = TimesPlus(noise, temperature, logits[i]);
      if (value > best) {
        best = value;
        tokens[row] = i;
      }
    }
  }
}

}  // namespace graphtree::demo
