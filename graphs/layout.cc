// The table of layouts, and what follows from sizes and strides.
#include "graphs/layout.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/known_enum.h"

namespace graphtree {
namespace {

// Type, number of dimensions, sizes, strides: equal words mean equal layouts.
// Most have four dimensions at most, and need no heap.
using Words = absl::InlinedVector<int64_t, 10>;
using Strides = absl::InlinedVector<int64_t, 4>;

struct Table {
  std::mutex mutex;
  absl::flat_hash_map<Words, const Layout*> layouts;  // guarded by mutex
};

Table& TheTable() {
  static Table* table = new Table;
  return *table;
}

Words KeyOf(DType type, absl::Span<const int64_t> sizes, absl::Span<const int64_t> strides) {
  Words words = {static_cast<int64_t>(type), static_cast<int64_t>(sizes.size())};
  words.insert(words.end(), sizes.begin(), sizes.end());
  words.insert(words.end(), strides.begin(), strides.end());
  return words;
}

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// The product of two numbers that are not negative, or kMost where the product is larger.
int64_t Times(int64_t a, int64_t b) { return b != 0 && a > kMost / b ? kMost : a * b; }

Strides RowMajor(absl::Span<const int64_t> sizes) {
  Strides strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step = Times(step, std::max<int64_t>(sizes[i], 1));
  }
  return strides;
}

struct Extent {
  int64_t elements = 1;
  uint64_t bytes = 0;
};

// The extent, or why no tensor can have it. A size of 0 does not make up for another one that is
// too large.
absl::StatusOr<Extent> ExtentOf(DType type, absl::Span<const int64_t> sizes,
                                absl::Span<const int64_t> strides) {
  if (!IsKnown(type, DType::kF64)) {
    return absl::InvalidArgumentError(NotKnown("has element type", type));
  }
  if (sizes.size() != strides.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", sizes.size(), " sizes and ", strides.size(), " strides"));
  }
  Extent extent;
  int64_t most_elements = 1;
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0) return absl::InvalidArgumentError("has a negative size");
    if (strides[i] < 0) return absl::InvalidArgumentError("has a negative stride");
    extent.elements = Times(extent.elements, sizes[i]);
    most_elements = Times(most_elements, std::max<int64_t>(sizes[i], 1));
    const int64_t reach = Times(strides[i], std::max<int64_t>(sizes[i], 1) - 1);
    last = reach > kMost - last ? kMost : last + reach;
  }
  if (last >= kMost / BytesOf(type)) {
    return absl::InvalidArgumentError("has more bytes than there are addresses");
  }
  if (most_elements == kMost) {
    return absl::InvalidArgumentError("has more elements than can be counted");
  }
  if (extent.elements > 0) extent.bytes = static_cast<uint64_t>(last + 1) * BytesOf(type);
  return extent;
}

// Sorted by stride, each dimension must step over all that the smaller ones reach.
bool OverlapsItself(absl::Span<const int64_t> sizes, absl::Span<const int64_t> strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1) dims.push_back({strides[i], sizes[i]});
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 1;
  for (const auto& [stride, size] : dims) {
    if (stride < reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

}  // namespace

uint32_t BytesOf(DType type) {
  switch (type) {
    case DType::kU8:
    case DType::kBool: return 1;
    case DType::kF16:
    case DType::kBF16: return 2;
    case DType::kI32:
    case DType::kF32: return 4;
    case DType::kI64:
    case DType::kF64: return 8;
  }
  return 1;
}

const char* DTypeName(DType type) {
  switch (type) {
    case DType::kU8: return "u8";
    case DType::kBool: return "bool";
    case DType::kI32: return "i32";
    case DType::kI64: return "i64";
    case DType::kF16: return "f16";
    case DType::kBF16: return "bf16";
    case DType::kF32: return "f32";
    case DType::kF64: return "f64";
  }
  return "?";
}

absl::Status CheckSizes(DType type, absl::Span<const int64_t> sizes) {
  return Layout::Of(type, sizes)->Check();
}

Layout::Layout(DType type, absl::Span<const int64_t> sizes, absl::Span<const int64_t> strides,
               ValueKind kind)
    : kind_(kind),
      type_(type),
      sizes_(sizes.begin(), sizes.end()),
      strides_(strides.begin(), strides.end()) {
  const absl::StatusOr<Extent> extent = ExtentOf(type, sizes, strides);
  const Strides row_major = RowMajor(sizes);
  dense_ = sizes.size() == strides.size();
  for (size_t i = 0; i < sizes.size() && dense_; ++i) {
    dense_ = sizes[i] <= 1 || strides[i] == row_major[i] || (extent.ok() && extent->elements == 0);
  }
  if (!extent.ok()) {
    problem_ = absl::StrCat("a tensor of ", ToString(), " ", extent.status().message());
    return;
  }
  elements_ = extent->elements;
  extent_bytes_ = extent->bytes;
  overlaps_itself_ = elements_ > 0 && OverlapsItself(sizes, strides);
}

absl::Status Layout::Check() const {
  return possible() ? absl::OkStatus() : absl::InvalidArgumentError(problem_);
}

const Layout* Layout::Of(DType type, absl::Span<const int64_t> sizes) {
  return Strided(type, sizes, RowMajor(sizes));
}

const Layout* Layout::Strided(DType type, absl::Span<const int64_t> sizes,
                              absl::Span<const int64_t> strides) {
  Table& table = TheTable();
  std::lock_guard<std::mutex> lock(table.mutex);
  const Layout*& slot = table.layouts[KeyOf(type, sizes, strides)];
  if (slot == nullptr) slot = new Layout(type, sizes, strides);
  return slot;
}

// Of no bytes, and in no table.
const Layout* Layout::OfKind(ValueKind kind) {
  static const Layout* const integer = new Layout(DType::kI64, {0}, {1}, ValueKind::kInteger);
  static const Layout* const opaque = new Layout(DType::kU8, {0}, {1}, ValueKind::kOpaque);
  static const Layout* const versioned =
      new Layout(DType::kU8, {0}, {1}, ValueKind::kVersionedOpaque);
  switch (kind) {
    case ValueKind::kInteger: return integer;
    case ValueKind::kOpaque: return opaque;
    default: return versioned;
  }
}

std::string Layout::ToString() const {
  std::string text = absl::StrCat(DTypeName(type_), "[", absl::StrJoin(sizes_, ","), "]");
  if (!dense_) absl::StrAppend(&text, " strides ", absl::StrJoin(strides_, ","));
  return text;
}

}  // namespace graphtree
