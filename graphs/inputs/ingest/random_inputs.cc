// Draws layouts, and checks a copy byte by byte.
#include "graphs/inputs/ingest/random_inputs.h"

#include <algorithm>
#include <numeric>

namespace graphtree {
namespace {

uint64_t Below(std::mt19937_64& random, uint64_t limit) { return random() % limit; }

// Whether bytes between elements may be copied along: only where elements overlap, or where there
// are more dims than a table takes.
bool MayCopyExtent(const Layout& layout) {
  std::vector<int64_t> sizes, strides;
  for (size_t i = 0; i < layout.sizes().size(); ++i) {
    if (layout.strides()[i] == 0) continue;
    sizes.push_back(layout.sizes()[i]);
    strides.push_back(layout.strides()[i]);
  }
  return sizes.size() > 8 || Layout::Strided(layout.type(), sizes, strides)->overlaps_itself();
}

// Marks the bytes of every element, visiting each index.
ByteVector ElementBytes(const Layout& layout) {
  ByteVector mask(layout.extent_bytes());
  const uint64_t element = BytesOf(layout.type());
  const size_t dims = layout.sizes().size();
  std::vector<int64_t> index(dims);
  for (int64_t n = 0; n < layout.elements(); ++n) {
    int64_t rest = n;
    uint64_t offset = 0;
    for (size_t d = dims; d-- > 0;) {
      offset += rest % layout.sizes()[d] * layout.strides()[d];
      rest /= layout.sizes()[d];
    }
    std::fill_n(mask.begin() + offset * element, element, 1);
  }
  return mask;
}

}  // namespace

const Layout* RandomLayout(std::mt19937_64& random) {
  constexpr DType kTypes[] = {DType::kU8, DType::kBF16, DType::kF32, DType::kF64};
  const DType type = kTypes[Below(random, 4)];
  if (Below(random, 10) == 0) {
    return Layout::Of(type, {static_cast<int64_t>(Below(random, 40000))});
  }
  const size_t dims = Below(random, 10);
  std::vector<int64_t> sizes(dims), strides(dims);
  int64_t elements = 1;
  for (int64_t& size : sizes) {
    size = 1 + Below(random, elements > 500 ? 2 : 8);
    if (Below(random, 40) == 0) size = 0;
    elements *= std::max<int64_t>(size, 1);
  }
  std::vector<size_t> order(dims);
  std::iota(order.begin(), order.end(), 0);
  if (Below(random, 2) == 0) std::shuffle(order.begin(), order.end(), random);
  const bool padded = Below(random, 2) == 0;
  const bool wild = Below(random, 6) == 0;
  int64_t reach = 1;
  for (size_t i = dims; i-- > 0;) {
    const size_t d = order[i];
    if (padded && Below(random, 3) == 0) reach += Below(random, 4);
    strides[d] = wild ? Below(random, 9) : reach;
    if (Below(random, 6) == 0) strides[d] = 0;
    if (sizes[d] == 1) strides[d] = Below(random, 100);
    if (strides[d] != 0 && sizes[d] > 1) reach = std::max(reach, strides[d] * sizes[d]);
  }
  return Layout::Strided(type, sizes, strides);
}

RandomInputs::RandomInputs(uint64_t seed) {
  std::mt19937_64 random(seed);
  const uint64_t count = 1 + Below(random, Below(random, 12) == 0 ? 200 : 12);
  for (uint64_t i = 0; i < count; ++i) {
    const Layout* layout = RandomLayout(random);
    uint64_t alignment = BytesOf(layout->type());
    if (Below(random, 3) != 0) alignment = 16;
    if (Below(random, 8) == 0) alignment = 1;
    source_bytes_ += Below(random, 40);
    source_bytes_ = (source_bytes_ + alignment - 1) / alignment * alignment;
    target_bytes_ = (target_bytes_ + 15) / 16 * 16;
    inputs_.push_back({layout, source_bytes_, target_bytes_});
    source_bytes_ += layout->extent_bytes();
    target_bytes_ += layout->extent_bytes() + Below(random, 40);
  }
}

std::vector<IngestCopy> RandomInputs::CopiesAt(Address target, Address source) const {
  std::vector<IngestCopy> copies;
  for (const Input& input : inputs_) {
    copies.push_back({target + input.target, source + input.source, input.layout});
  }
  return copies;
}

std::string RandomInputs::ToString() const {
  std::string text;
  for (const Input& input : inputs_) {
    text += input.layout->ToString() + " from +" + std::to_string(input.source) + " to +" +
            std::to_string(input.target) + "\n";
  }
  return text;
}

std::string RandomInputs::Mistake(const ByteVector& source, const ByteVector& before,
                                  const ByteVector& after) const {
  ByteVector expected = before;
  ByteVector free_choice(before.size());
  for (const Input& input : inputs_) {
    const ByteVector mask = ElementBytes(*input.layout);
    const bool extent = MayCopyExtent(*input.layout);
    for (size_t i = 0; i < mask.size(); ++i) {
      if (mask[i]) expected[input.target + i] = source[input.source + i];
      if (!mask[i] && extent) free_choice[input.target + i] = 1;
    }
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!free_choice[i] && expected[i] != after[i]) {
      return "target byte " + std::to_string(i) + " is " + std::to_string(after[i]) + ", not " +
             std::to_string(expected[i]) + "; inputs:\n" + ToString();
    }
  }
  return "";
}

}  // namespace graphtree
