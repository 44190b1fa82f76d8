// Draws the weights on the host and copies them over in one piece.
#include "tools/demo_model/weights.h"

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "device/base/status_macros.h"
#include "graphs/layout.h"
#include "graphs/random/philox.h"

namespace graphtree::demo {
namespace {

constexpr int64_t kAlignment = 64;  // floats: tensors begin at multiples of 256 bytes
constexpr int64_t kCacheFloats = int64_t{2} * kCacheRows * kHidden;

// Tensors one behind the other in a vector, which becomes the block.
class Sheet {
 public:
  explicit Sheet(uint64_t seed) : seed_(seed) {}

  // Uniform with this variance, around `mean`.
  void Random(int64_t rows, int64_t columns, float variance, float mean = 0) {
    const float half = std::sqrt(3 * variance);
    for (float& x : Add(rows, columns)) {
      x = mean + half * (2 * UniformFloat(RandomWord(seed_, drawn_++)) - 1);
    }
  }
  // Cosine and sine of each position's turn, for each pair of dimensions.
  void Angles() {
    size_t at = 0;
    const absl::Span<float> angles = Add(kPositions, kHeadDim);
    for (int position = 0; position < kPositions; ++position) {
      for (int pair = 0; pair < kHeadDim / 2; ++pair) {
        const double angle = position * std::pow(10000.0, -2.0 * pair / kHeadDim);
        angles[at++] = static_cast<float>(std::cos(angle));
        angles[at++] = static_cast<float>(std::sin(angle));
      }
    }
  }

  const std::vector<float>& floats() const { return floats_; }
  Tensor TensorAt(size_t index, Address base) const {
    const auto& [offset, layout] = tensors_[index];
    return Tensor::Foreign(base + offset * sizeof(float), layout);
  }

 private:
  absl::Span<float> Add(int64_t rows, int64_t columns) {
    const size_t offset = (floats_.size() + kAlignment - 1) / kAlignment * kAlignment;
    floats_.resize(offset + rows * columns);
    tensors_.push_back({offset, Layout::Of(DType::kF32, {rows, columns})});
    return absl::MakeSpan(floats_).subspan(offset);
  }

  const uint64_t seed_;
  uint64_t drawn_ = 0;
  std::vector<float> floats_;
  std::vector<std::pair<size_t, const Layout*>> tensors_;
};

Sheet DrawWeights(uint64_t seed) {
  Sheet sheet(seed);
  sheet.Random(kVocabulary, kHidden, 1);
  sheet.Angles();
  for (int layer = 0; layer < kLayers; ++layer) {
    sheet.Random(1, kHidden, 0.01f, 1);
    sheet.Random(kHidden, 3 * kHidden, 1.0f / kHidden);
    sheet.Random(kHidden, kHidden, 1.0f / kHidden);
    sheet.Random(1, kHidden, 0.01f, 1);
    sheet.Random(kHidden, 2 * kFeed, 1.0f / kHidden);
    sheet.Random(kFeed, kHidden, 1.0f / kFeed);
  }
  sheet.Random(1, kHidden, 0.01f, 1);
  sheet.Random(kHidden, kVocabulary, 4.0f / kHidden);
  return sheet;
}

absl::Status Upload(Device& device, Stream& stream, const std::vector<float>& floats,
                    Address target) {
  const uint64_t bytes = floats.size() * sizeof(float);
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<HostBuffer> buffer,
                             device.memory().AllocateHost(bytes));
  std::memcpy(buffer->data(), floats.data(), bytes);
  GRAPHTREE_RETURN_IF_ERROR(stream.Copy(target, buffer->range().base, bytes));
  return stream.Synchronize();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Weights>> Weights::Load(Device& device, Stream& stream,
                                                       uint64_t seed) {
  std::unique_ptr<Weights> weights(new Weights());
  const Sheet sheet = DrawWeights(seed);
  GRAPHTREE_ASSIGN_OR_RETURN(weights->weights_,
                             DeviceBlock::Map(device, sheet.floats().size() * sizeof(float)));
  GRAPHTREE_ASSIGN_OR_RETURN(
      weights->caches_, DeviceBlock::Map(device, kLayers * kCacheFloats * sizeof(float)));
  const Address base = weights->weights_->range().base;
  GRAPHTREE_RETURN_IF_ERROR(Upload(device, stream, sheet.floats(), base));
  GRAPHTREE_RETURN_IF_ERROR(weights->ClearCaches(stream));
  // In the order in which they were drawn.
  ModelWeights& model = weights->model_;
  size_t drawn = 0;
  const auto next = [&] { return sheet.TensorAt(drawn++, base); };
  model.embedding = next();
  model.angles = next();
  const Layout* cache = Layout::Of(DType::kF32, {2, kCacheRows, kHidden});
  Address cache_base = weights->caches_->range().base;
  for (LayerWeights& layer : model.layers) {
    layer.norm1 = next();
    layer.qkv = next();
    layer.project = next();
    layer.norm2 = next();
    layer.gate_up = next();
    layer.down = next();
    layer.cache = Tensor::Foreign(cache_base, cache);
    cache_base += kCacheFloats * sizeof(float);
  }
  model.norm = next();
  model.head = next();
  return weights;
}

absl::Status Weights::ClearCaches(Stream& stream) {
  const uint64_t words = kLayers * kCacheFloats;
  return stream.Fill(caches_->range().base, 0, sizeof(float), words);
}

}  // namespace graphtree::demo
