// A Layout is the shape, strides and element type of a tensor, interned: equal layouts are the same
// object, so two of them are compared by pointer and a Tensor stays 24 bytes.
//
//   const Layout* row_major = Layout::Of(DType::kF32, {4, 256});
//   const Layout* every_other = Layout::Strided(DType::kF32, {4, 128}, {256, 2});
//
// Sizes that no tensor can have (a negative one, more bytes than there are addresses), and a number
// that is no element type, make a layout all the same. It has no bytes and is marked as impossible:
// a launcher or a call of a tree that is given one returns an error that says what is wrong with
// it.
//
// Layouts are never freed: a program has as many as it has distinct shapes. Looking one up takes a
// lock and a hash; a replayed call looks none up.
#ifndef GRAPHTREE_GRAPHS_LAYOUT_H_
#define GRAPHTREE_GRAPHS_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace graphtree {

enum class DType : uint8_t { kU8, kBool, kI32, kI64, kF16, kBF16, kF32, kF64 };

uint32_t BytesOf(DType type);
const char* DTypeName(DType type);

// What is wrong with sizes that no dense tensor can have, as Layout::Check says it.
absl::Status CheckSizes(DType type, absl::Span<const int64_t> sizes);

// What a value is (tensor.h). The kind is kept in the layout, so that comparing layouts also
// compares kinds. Values that are no tensors share one layout for each kind.
enum class ValueKind : uint8_t {
  kNothing,
  kConsumed,  // a mark in the place of a tensor that a call has taken
  kTensor,
  kInteger,
  kOpaque,
  kVersionedOpaque,
};

class Layout {
 public:
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  // Dense, last dimension fastest.
  static const Layout* Of(DType type, absl::Span<const int64_t> sizes);
  // Any strides that are not negative, one for each size, in elements; 0 repeats one element
  // ("expanded").
  static const Layout* Strided(DType type, absl::Span<const int64_t> sizes,
                               absl::Span<const int64_t> strides);

  // The one that all values of a kind have. REQUIRES: integers, or opaque values.
  static const Layout* OfKind(ValueKind kind);

  ValueKind kind() const { return kind_; }
  bool possible() const { return problem_.empty(); }
  // OK, or why the layout is impossible: "a tensor of u8[-1] has a negative size".
  absl::Status Check() const;

  DType type() const { return type_; }
  absl::Span<const int64_t> sizes() const { return sizes_; }
  absl::Span<const int64_t> strides() const { return strides_; }
  int64_t elements() const { return elements_; }
  // The bytes from the first to the last one that an element occupies; 0 for a layout without
  // elements, and for an impossible one.
  uint64_t extent_bytes() const { return extent_bytes_; }
  // The elements fill the extent, each byte once, in row-major order.
  bool dense() const { return dense_; }
  // Two indices reach the same element (stride 0 on a dimension larger than 1 counts).
  bool overlaps_itself() const { return overlaps_itself_; }

  std::string ToString() const;  // "f32[4,256]", with strides where they are not row-major

 private:
  Layout(DType type, absl::Span<const int64_t> sizes, absl::Span<const int64_t> strides,
         ValueKind kind = ValueKind::kTensor);

  const ValueKind kind_;
  const DType type_;
  const std::vector<int64_t> sizes_;
  const std::vector<int64_t> strides_;
  std::string problem_;  // why it is impossible; else empty
  int64_t elements_ = 0;
  uint64_t extent_bytes_ = 0;
  bool dense_ = false;
  bool overlaps_itself_ = false;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_LAYOUT_H_
