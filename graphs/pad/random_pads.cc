// Draws pads, and pads naively.
#include "graphs/pad/random_pads.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace graphtree {
namespace {

using Sizes = std::vector<int64_t>;

int64_t Below(std::mt19937_64& random, uint64_t limit) {
  return static_cast<int64_t>(random() % limit);
}

// Steps of at least `sizes`, dense or with gaps, in any order of the dimensions.
Sizes RandomStrides(std::mt19937_64& random, const Sizes& sizes) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  if (Below(random, 3) == 0) std::shuffle(order.begin(), order.end(), random);
  const bool has_gaps = Below(random, 2) == 0;
  Sizes strides(sizes.size());
  int64_t reach = Below(random, 8) == 0 ? 2 : 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = reach;
    reach *= std::max<int64_t>(sizes[order[i]], 1);
    if (has_gaps) reach += Below(random, 5);
  }
  return strides;
}

// Bytes from the first element to each element, in row-major order of `sizes`.
std::vector<uint64_t> Offsets(const Layout& layout, absl::Span<const int64_t> sizes) {
  int64_t elements = 1;
  for (const int64_t size : sizes) elements *= size;
  const Sizes strides(layout.strides().begin(), layout.strides().end());
  std::vector<uint64_t> offsets;
  offsets.reserve(elements);
  for (int64_t n = 0; n < elements; ++n) {
    int64_t rest = n;
    uint64_t offset = 0;
    for (size_t d = sizes.size(); d-- > 0;) {
      offset += rest % sizes[d] * strides[d];
      rest /= sizes[d];
    }
    offsets.push_back(offset * BytesOf(layout.type()));
  }
  return offsets;
}

}  // namespace

RandomPad RandomPad::Draw(std::mt19937_64& random) {
  RandomPad pad;
  const DType type = static_cast<DType>(Below(random, 8));
  const size_t dims = 1 + Below(random, 5);
  Sizes from(dims), to(dims);
  int64_t elements = 1;
  for (size_t i = 0; i < dims; ++i) {
    from[i] = Below(random, elements > 300 ? 3 : 12);
    const bool grows = i == 0 || Below(random, 2) == 0;
    to[i] = std::max<int64_t>(from[i] + (grows ? Below(random, 5) : 0), 1);
    if (Below(random, 4) == 0) from[i] = to[i] = 16;
    elements *= to[i];
  }
  if (from == to) ++to[0];
  pad.copies = Below(random, 2) == 0;
  const Sizes strides = RandomStrides(random, to);
  pad.to = Layout::Strided(type, to, strides);
  pad.from = Layout::Strided(type, from, pad.copies ? RandomStrides(random, from) : strides);
  if (pad.copies && Below(random, 8) == 0) {  // expanded
    Sizes repeated = RandomStrides(random, from);
    repeated[0] = 0;
    pad.from = Layout::Strided(type, from, repeated);
  }
  pad.bits = random();
  if (BytesOf(type) < 8) pad.bits &= (uint64_t{1} << (8 * BytesOf(type))) - 1;
  const uint64_t alignment = Below(random, 4) == 0 ? BytesOf(type) : 16;
  pad.target = alignment * (1 + Below(random, 8));
  pad.source = pad.target + pad.to->extent_bytes() + 16;
  pad.source = (pad.source + alignment - 1) / alignment * alignment;
  return pad;
}

std::vector<uint8_t> RandomPad::Arena(std::mt19937_64& random) const {
  std::vector<uint64_t> words((source + from->extent_bytes() + 64) / 8 + 1);
  for (uint64_t& word : words) word = random();
  std::vector<uint8_t> bytes(words.size() * 8);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

std::string RandomPad::Mistake(const std::vector<uint8_t>& before,
                               const std::vector<uint8_t>& after) const {
  const uint64_t element = BytesOf(to->type());
  std::vector<uint8_t> expected = before;
  for (const uint64_t offset : Offsets(*to, to->sizes())) {
    std::memcpy(&expected[target + offset], &bits, element);
  }
  const std::vector<uint64_t> reads = Offsets(*from, from->sizes());
  const std::vector<uint64_t> writes = Offsets(*to, from->sizes());
  for (size_t i = 0; i < reads.size(); ++i) {
    const uint64_t read = (copies ? source : target) + reads[i];
    std::memcpy(&expected[target + writes[i]], &before[read], element);
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == after[i]) continue;
    return absl::StrCat("byte ", i, " is ", after[i], ", not ", expected[i]);
  }
  return "";
}

std::string RandomPad::ToString() const {
  return absl::StrCat(from->ToString(), " to ", to->ToString(), copies ? ", a copy" : ", in place",
                      " at ", target);
}

}  // namespace graphtree
