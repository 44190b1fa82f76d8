// Which of many shapes cover a call, as rows of bits: a few words are read, whatever the number of
// shapes.
//
// The shapes stand in the order of their cost (`CostsLess`), so that the first bit of the answer is
// the cheapest shape.
//
//   index                     0    1    2    3    4    5    6    7
//   tokens                    8    8   16   16   16   32   32  any    a call of 12 tokens:
//                                       [--------------)         [-   from the first with 16
//                                                                     to the padding's limit
//   context                  1k   4k   1k   4k  any   1k   4k   4k    a call with a context of 3k:
//     rows:  1k and more      1    1    1    1    1    1    1    1
//            4k and more      .    1    .    1    1    .    1    1    <- this row: of the next
//            any alone        .    .    .    .    1    .    .    .       value that occurs
//                           ---------------------------------------
//   covers                    .    .    .    1    1    .    .    1    the AND, 64 shapes in a word
//
// Tokens need no rows: shapes are sorted by them, so two indices cut them out. A field in which all
// shapes are alike is compared with all such fields at once, as a few words under a mask. For every
// other field there is a row for each value that occurs, so a call reads one row for each field,
// two where padding is limited. A row takes one bit for each shape: 1,000 shapes with 100 values in
// a field take 12.5 KB.
//
// Pure, and constant after it is made.
#ifndef GRAPHTREE_RUNTIME_SHAPES_COVER_INDEX_H_
#define GRAPHTREE_RUNTIME_SHAPES_COVER_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/shapes/key.h"

namespace graphtree {

// The least tokens first, then requests and so on in the order of KeyField. Any stands after every
// value.
bool CostsLess(const Key& a, const Key& b);

class CoverIndex {
 private:
  struct Column;
  static constexpr uint32_t kNobody = ~uint32_t{0};

 public:
  static constexpr size_t kMostKeys = 4096;

  CoverIndex() = default;
  // REQUIRES: at most kMostKeys, sorted by CostsLess; rules and keys that key.h's checks pass.
  CoverIndex(const KeyRules& rules, absl::Span<const Key> keys);

  // What one field leaves of the shapes: those in `include` that are not in `exclude`, which holds
  // what is padded too much.
  struct Narrow {
    const Column* column;
    const uint64_t* include;
    const uint64_t* exclude;
    bool leaves_none;  // no shape has the value, or any
    bool covers_none;  // the same, or all that have it are padded too much
  };
  // What a call leaves of the shapes: [begin, end) and those with any tokens, narrowed by the rows
  // of the other fields. It refers to the index. Nothing is set before NarrowBy: clearing the
  // columns would take as long as that.
  struct Narrowed {
    uint32_t begin;
    uint32_t end;
    uint32_t reach;  // `end`, if tokens might be padded without limits
    uint32_t count;
    bool covers_none;  // one field alone says that no shape covers the call
    bool leaves_none;  // tokens do, or the last column does: no further fields were looked at
    Narrow columns[kKeyFieldCount - 1];
  };
  // REQUIRES: a call that CheckCall passes.
  void NarrowBy(const Key& call, Narrowed* narrowed) const;

  // The shapes [64 * word, 64 * word + 64) that cover the call, but for what tokens say.
  static uint64_t CoveringWord(const Narrowed& narrowed, size_t word) {
    uint64_t bits = ~uint64_t{0};
    for (uint32_t i = 0; i < narrowed.count; ++i) {
      bits &= narrowed.columns[i].include[word] & ~narrowed.columns[i].exclude[word];
    }
    return bits;
  }

  // Why no shape covers the call that `narrowed` was made for. The first of these that holds:
  //   kPadding  some shape would but for the limits of padding. The field is the first in which the
  //             first such shape is padded too much.
  //   kNone     the shapes are narrowed down field by field, those with a rule of equal values or
  //   kAbove    powers of two before those with at most: the field that leaves none. It is above
  //             the shapes if its rule is at most, or if it is a power of two larger than any.
  // REQUIRES: no shape covers it, and there are shapes.
  enum class Miss : uint8_t { kPadding, kAbove, kNone };
  struct Missed {
    Miss miss = Miss::kNone;
    KeyField field = KeyField::kTokens;
  };
  Missed WhyNothingCovers(const Key& call, const Narrowed& narrowed) const;

  uint32_t size() const { return size_; }
  uint32_t any_tokens() const { return any_tokens_; }  // the first shape with any tokens, or size()
  // The numbers that occur in a field, ascending, without any. REQUIRES: not kExtra.
  absl::Span<const int32_t> NumbersOf(KeyField field) const;
  // Whether some shape has a value in the field, and not all have any.
  bool Matters(KeyField field) const;

 private:
  // A field in which some shape has a value. Offsets are into rows_.
  struct Column {
    KeyField field = KeyField::kTokens;
    FieldRule rule = {};
    bool has_any = false;   // some shape has any
    bool is_fixed = false;  // all shapes have the same value
    // The values that occur, ascending; `extras` of kExtra.
    std::vector<int32_t> numbers = {};
    std::vector<uint64_t> extras = {};
    // By the rank of the value that is wanted, and one more for a value that no shape has: the
    // shapes that cover it, with those with any.
    size_t include = 0;
    // Where padding is limited. At most: by the rank of the first value that is too large, the
    // shapes with that or more, without those with any. Power of two: one row, of all with a value.
    size_t exclude = 0;
  };

  void BuildTokens(absl::Span<const Key> keys);
  void BuildColumn(KeyField field, absl::Span<const Key> keys);
  void BuildExtra(absl::Span<const Key> keys);
  void BuildFixed(const Key& first);
  size_t NewRows(size_t count);  // of zeros
  void SetBit(size_t row, uint32_t index) { rows_[row + index / 64] |= uint64_t{1} << index % 64; }
  const uint64_t* Row(size_t first, size_t rank) const { return &rows_[first + rank * words_]; }

  bool IsFixedAlike(const Key& call) const;
  void NarrowByTokens(int32_t call, Narrowed* narrowed) const;
  Narrow NarrowByColumn(const Column& column, const Key& call) const;
  // Clears the bits of the shapes that tokens leave out, without limits on padding. False if none
  // is left.
  bool KeepByTokens(int32_t call, uint32_t begin, uint64_t* bits) const;
  // The first of the shapes [begin, end) that would cover the call if padding had no limits, or
  // kNobody.
  static uint32_t FirstWithoutLimits(const Narrowed& narrowed, uint32_t begin, uint32_t end);
  // REQUIRES: but for the limits of padding the shape would cover the call.
  KeyField PaddedTooMuch(uint32_t index, const Narrowed& narrowed) const;
  // REQUIRES: no shape would cover the call, however much it were padded.
  Missed WhyNothingIsLeft(const Key& call, const Narrowed& narrowed) const;
  Missed WhyLeavesNone(KeyField field, const Key& call) const;

  KeyRules rules_;
  std::vector<Key> keys_;
  uint32_t size_ = 0;
  size_t words_ = 0;  // in a row
  // Tokens: the numbers that occur, and for each the first shape with so many, and any_tokens_.
  std::vector<int32_t> tokens_;
  std::vector<uint32_t> token_begins_;
  uint32_t any_tokens_ = 0;
  bool tokens_limited_ = false;
  // The other fields, in the order of narrowing down.
  std::vector<Column> columns_;
  size_t tokens_place_ = 0;        // before which of the columns tokens stand in this order
  std::vector<uint32_t> varying_;  // those that are not fixed
  std::vector<uint64_t> rows_;     // the first is of zeros
  // What all shapes have alike, and where.
  KeyWords fixed_ = {};
  KeyWords fixed_mask_ = {};
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SHAPES_COVER_INDEX_H_
