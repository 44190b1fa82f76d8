// The layouts that programs use: dense, strided, expanded, empty, odd and large ones.
#include "tests/outsider/model.h"

#include <unordered_map>

namespace graphtree::outsider {
namespace {

bool Covers(const Layout& layout) {
  if (layout.dense() || layout.extent_bytes() == 0) return true;
  std::vector<bool> covered(layout.extent_bytes());
  const size_t rank = layout.sizes().size();
  std::vector<int64_t> index(rank);
  for (int64_t element = 0; element < layout.elements(); ++element) {
    int64_t left = element, at = 0;
    for (size_t i = 0; i < rank; ++i) {
      at += left % layout.sizes()[i] * layout.strides()[i];
      left /= layout.sizes()[i];
    }
    for (uint32_t b = 0; b < BytesOf(layout.type()); ++b) {
      covered[static_cast<size_t>(at) * BytesOf(layout.type()) + b] = true;
    }
  }
  for (const bool is : covered) {
    if (!is) return false;
  }
  return true;
}

}  // namespace

bool HasNoGaps(const Layout* layout) {
  static std::unordered_map<const Layout*, bool> known;
  const auto [at, is_new] = known.try_emplace(layout, false);
  if (is_new) at->second = Covers(*layout);
  return at->second;
}

const Layout* LayoutOf(int code) {
  static const Layout* const layouts[kLayoutCodes] = {
      Layout::Of(DType::kU8, {64}),
      Layout::Of(DType::kU8, {256}),
      Layout::Of(DType::kF32, {16}),
      Layout::Of(DType::kU8, {1000}),
      Layout::Of(DType::kI32, {4, 16}),
      Layout::Of(DType::kU8, {1}),
      Layout::Of(DType::kU8, {0}),
      Layout::Of(DType::kF16, {33}),
      Layout::Of(DType::kI64, {8, 2, 2}),
      Layout::Strided(DType::kF32, {4, 8}, {16, 1}),
      Layout::Strided(DType::kU8, {16}, {3}),
      Layout::Strided(DType::kI32, {4, 4}, {1, 4}),
      Layout::Strided(DType::kBF16, {8, 8}, {0, 1}),
      Layout::Strided(DType::kU8, {5, 64}, {32, 1}),
      Layout::Of(DType::kU8, {513}),
      Layout::Of(DType::kU8, {4096}),
      Layout::Of(DType::kF64, {0, 5}),
      Layout::Of(DType::kBool, {77}),
      Layout::Of(DType::kU8, {}),
      Layout::Of(DType::kF32, {3, 5, 7}),
      Layout::Strided(DType::kF64, {3, 2}, {2, 0}),
      Layout::Of(DType::kU8, {512}),
      Layout::Of(DType::kU8, {2048}),
      Layout::Of(DType::kU8, {128}),
      Layout::Of(DType::kU8, {8000}),
      Layout::Of(DType::kU8, {70000}),
  };
  return layouts[static_cast<uint32_t>(code) % kLayoutCodes];
}

}  // namespace graphtree::outsider
