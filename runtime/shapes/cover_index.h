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
// other field there is a row for each value that occurs, so a call reads one row for each field. A
// row takes one bit for each shape: 1,000 shapes with 100 values in a field take 12.5 KB.
//
// Limits of padding are looked at last. The first shape that covers the call without them is nearly
// always within them, too, and is compared with the call itself. Where it is not, or may not serve
// the call, the fields with limits narrow the shapes by a row more each.
//
// Pure, and constant after it is made.
#ifndef GRAPHTREE_RUNTIME_SHAPES_COVER_INDEX_H_
#define GRAPHTREE_RUNTIME_SHAPES_COVER_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/number_ranks.h"

namespace graphtree {

// The least tokens first, then requests and so on in the order of KeyField. Any stands after every
// value.
bool CostsLess(const Key& a, const Key& b);

class CoverIndex {
 public:
  static constexpr size_t kMostKeys = 4096;
  static constexpr uint32_t kNobody = ~uint32_t{0};

  CoverIndex() = default;
  CoverIndex(CoverIndex&&) = default;  // nothing lies inside that something points to
  CoverIndex& operator=(CoverIndex&&) = default;
  // REQUIRES: at most kMostKeys, sorted by CostsLess; rules and keys that key.h's checks pass.
  CoverIndex(const KeyRules& rules, absl::Span<const Key> keys);

  // What a call leaves of the shapes, however much it were padded: [begin, end) and those with any
  // tokens, narrowed by the rows of the other fields. The rows point into the index. The members
  // have no initial values, as setting them takes as long as NarrowBy itself.
  struct Narrowed {
    uint32_t begin;
    uint32_t end;
    uint32_t count;  // of rows
    // Which field by itself leaves no shape: the index of its column, kTokensAlone for tokens, or
    // kNobody if every field leaves some. NarrowBy looks at no field after that one.
    uint32_t against;
    const uint64_t* rows[kKeyFieldCount - 1];
    uint8_t columns[kKeyFieldCount - 1];  // of the rows
  };
  // False if a field leaves none by itself. REQUIRES: a call that CheckCall passes.
  bool NarrowBy(const Key& call, Narrowed* narrowed) const;

  // The first shape that would cover the call if padding had no limits, or kNobody.
  // REQUIRES: NarrowBy found that no field leaves none.
  uint32_t FirstOf(const Narrowed& narrowed) const;

  // The first field in which a shape has more than the limits allow, or none: the shape covers the
  // call. REQUIRES: it would if padding had no limits.
  std::optional<KeyField> PaddedTooMuch(uint32_t index, const Key& call) const {
    for (const LimitedField& limited : limited_fields_) {
      const int64_t most = MostCovering(limited.rule, NumberOf(call, limited.field));
      if (NumberOf(keys_[index], limited.field) > most) return limited.field;
    }
    return std::nullopt;
  }

  // What the limits of padding leave out: shapes from `end` on, but those with any tokens, and what
  // is in the rows.
  struct Limits {
    uint32_t end;
    uint32_t count;
    const uint64_t* rows[kKeyFieldCount - 1];
  };
  void LimitBy(const Key& call, const Narrowed& narrowed, Limits* limits) const;
  // True: the call alone shows that the field is padded too much in every shape, so the caller need
  // not look at the shapes. False says nothing.
  bool IsAlwaysTooMuch(KeyField field, const Key& call) const;

  // The shapes [64 * word, 64 * word + 64) that cover the call, but for what tokens say.
  static uint64_t CoveringWord(const Narrowed& narrowed, const Limits& limits, size_t word) {
    uint64_t bits = ~uint64_t{0};
    for (uint32_t i = 0; i < narrowed.count; ++i) bits &= narrowed.rows[i][word];
    for (uint32_t i = 0; i < limits.count; ++i) bits &= ~limits.rows[i][word];
    return bits;
  }

  // Why no shape would cover the call, however much the call were padded.
  //
  // Fields narrow the shapes down one after another: first the fields that must be equal or are
  // rounded up to a power of two, then the fields that may be at most the shape's. `field` is the
  // first one after which no shape is left. `is_above`: a larger shape would help, as that field
  // may be at most the shape's, or is rounded up to more than any shape has.
  // REQUIRES: no shape would cover the call, and there are shapes.
  struct Missed {
    bool is_above = false;
    KeyField field = KeyField::kTokens;
  };
  Missed WhyNothingIsLeft(const Key& call, const Narrowed& narrowed) const;

  uint32_t size() const { return size_; }
  uint32_t any_tokens() const { return any_tokens_; }  // the first shape with any tokens, or size()
  // The numbers that occur in a field, ascending, without any. REQUIRES: not kExtra.
  absl::Span<const int32_t> NumbersOf(KeyField field) const;
  // Whether some shape has a value in the field, and not all have any.
  bool Matters(KeyField field) const;

 private:
  static constexpr uint32_t kTokensAlone = kNobody - 1;

  struct LimitedField {
    KeyField field;
    FieldRule rule;
  };

  // A field in which some shape has a value. Offsets are into rows_.
  struct Column {
    KeyField field = KeyField::kTokens;
    FieldRule rule = {};
    bool has_any = false;   // some shape has any
    bool is_fixed = false;  // all shapes have the same value
    uint32_t count = 0;     // of the values that occur
    // The first of count + 1 rows: one for each value that a call may want, by its rank, and one
    // for a value that no shape has. A row has the shapes that cover the value, and those with any.
    size_t include = 0;
    // If padding is limited, the first row of shapes that a limit leaves out. Rule "at most": by
    // the rank of the first value that is too large, the shapes with that value or a greater one;
    // the last row is empty, for a limit beyond all values. Rule "power of two": one row, with all
    // shapes that have a value. Shapes with any are in none of these rows.
    size_t exclude = 0;
    // The values that occur, ascending; `extras` of kExtra.
    NumberRanks ranks = {};
    std::vector<int32_t> numbers = {};
    std::vector<uint64_t> extras = {};
  };

  // What a call reads of a column, in few cache lines. It points into columns_ and rows_.
  struct Look {
    const NumberRanks* ranks;
    const uint64_t* include;
    uint32_t none;    // the rank that leaves none, or kNobody if none does
    uint32_t column;  // the index
    KeyField field;
    Covers covers;
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
  void BuildLooks();
  // The rank of the row; the number of values where no shape has the one that is wanted.
  uint32_t RankIn(const Look& look, const Key& call) const;
  // Adds the rows of the columns in this order. False at the first that leaves none.
  bool AddRows(const Key& call, absl::Span<const Look> looks, Narrowed* narrowed) const;
  // The shapes of the word that tokens leave.
  uint64_t TokensWord(const Narrowed& narrowed, size_t word) const;
  // How many fields, in the order of narrowing down, leave some of the shapes of a word: rows, and
  // tokens before row `tokens_at`.
  uint32_t Depth(const Narrowed& narrowed, uint32_t tokens_at, size_t word) const;
  Missed WhyLeavesNone(KeyField field, const Key& call) const;

  KeyRules rules_;
  std::vector<Key> keys_;
  std::vector<LimitedField> limited_fields_;  // in the order of KeyField
  uint32_t size_ = 0;
  size_t words_ = 0;  // in a row
  // Tokens: the numbers that occur, and for each the first shape with so many, and any_tokens_.
  std::vector<int32_t> tokens_;
  NumberRanks token_ranks_;
  std::vector<uint32_t> token_begins_;
  uint32_t any_tokens_ = 0;
  // The other fields, in the order of narrowing down.
  std::vector<Column> columns_;
  size_t tokens_place_ = 0;        // before which of the columns tokens stand in this order
  std::vector<uint64_t> rows_;
  std::vector<Look> looks_;    // of all columns
  std::vector<Look> varying_;  // of those that are not fixed
  std::vector<uint32_t> limited_columns_;
  // What all shapes have alike, and where.
  KeyWords fixed_ = {};
  KeyWords fixed_mask_ = {};
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SHAPES_COVER_INDEX_H_
