// Builds the rows of bits, and reads them.
#include "runtime/shapes/cover_index.h"

#include <algorithm>
#include <bit>

#include "device/base/check.h"

namespace graphtree {
namespace {

constexpr size_t kNumbersBegin = static_cast<size_t>(KeyField::kRequests);  // after tokens

// The place of the first value that is at least `wanted`, or their number. Without a branch on what
// is compared: what a call brings is nothing that a processor could foresee.
template <typename Value, typename Wanted>
inline size_t FirstAtLeast(const std::vector<Value>& values, Wanted wanted) {
  const Value* base = values.data();
  size_t count = values.size();
  while (count > 1) {
    const size_t half = count / 2;
    base += base[half - 1] < wanted ? half : 0;
    count -= half;
  }
  return base - values.data() + (count == 1 && *base < wanted ? 1 : 0);
}

template <typename Value>
void SortOut(std::vector<Value>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

// The bits of a word that stand for shapes from `begin` on.
uint64_t BitsFrom(uint32_t begin, size_t word) {
  const size_t first = word * 64;
  if (begin <= first) return ~uint64_t{0};
  return begin - first >= 64 ? 0 : ~uint64_t{0} << (begin - first);
}

std::vector<int32_t> NumbersIn(absl::Span<const Key> keys, KeyField field) {
  std::vector<int32_t> numbers;
  for (const Key& key : keys) {
    if (NumberOf(key, field) != kAny) numbers.push_back(NumberOf(key, field));
  }
  SortOut(&numbers);
  return numbers;
}

}  // namespace

bool CostsLess(const Key& a, const Key& b) {
  for (size_t i = 0; i < kKeyNumberCount; ++i) {
    // As a number without a sign, any is the largest.
    const auto left = static_cast<uint32_t>(NumberOf(a, static_cast<KeyField>(i)));
    const auto right = static_cast<uint32_t>(NumberOf(b, static_cast<KeyField>(i)));
    if (left != right) return left < right;
  }
  if (a.any_extra != b.any_extra) return b.any_extra;
  return a.extra < b.extra;
}

CoverIndex::CoverIndex(const KeyRules& rules, absl::Span<const Key> keys)
    : rules_(rules),
      keys_(keys.begin(), keys.end()),
      size_(static_cast<uint32_t>(keys.size())),
      words_((keys.size() + 63) / 64) {
  NewRows(1);
  BuildTokens(keys);
  const auto is_at_most = [this](KeyField field) {
    return RuleOf(rules_, field).covers == Covers::kAtMost;
  };
  for (size_t i = kNumbersBegin; i < kKeyNumberCount; ++i) {
    if (!is_at_most(static_cast<KeyField>(i))) BuildColumn(static_cast<KeyField>(i), keys);
  }
  BuildExtra(keys);
  // Tokens are the first field of all, so they come first among their kind.
  tokens_place_ = is_at_most(KeyField::kTokens) ? columns_.size() : 0;
  for (size_t i = kNumbersBegin; i < kKeyNumberCount; ++i) {
    if (is_at_most(static_cast<KeyField>(i))) BuildColumn(static_cast<KeyField>(i), keys);
  }
  if (!keys.empty()) BuildFixed(keys.front());
}

size_t CoverIndex::NewRows(size_t count) {
  const size_t first = rows_.size();
  rows_.resize(first + count * words_);
  return first;
}

void CoverIndex::BuildTokens(absl::Span<const Key> keys) {
  tokens_ = NumbersIn(keys, KeyField::kTokens);
  tokens_limited_ = rules_.tokens.is_limited();
  const auto begin_of = [&](int32_t number) {
    const auto at = std::find_if(keys.begin(), keys.end(),
                                 [number](const Key& key) { return key.tokens == number; });
    return static_cast<uint32_t>(at - keys.begin());
  };
  for (const int32_t number : tokens_) token_begins_.push_back(begin_of(number));
  any_tokens_ = begin_of(kAny);
  token_begins_.push_back(any_tokens_);
}

void CoverIndex::BuildColumn(KeyField field, absl::Span<const Key> keys) {
  Column column = {.field = field, .rule = RuleOf(rules_, field)};
  column.numbers = NumbersIn(keys, field);
  const size_t count = column.numbers.size();
  if (count == 0) return;
  const bool is_at_most = column.rule.covers == Covers::kAtMost;
  const bool is_limited = column.rule.is_limited();
  column.include = NewRows(count + 1);
  if (is_limited) column.exclude = NewRows(is_at_most ? count + 1 : 1);
  for (uint32_t index = 0; index < size_; ++index) {
    const int32_t number = NumberOf(keys[index], field);
    column.has_any |= number == kAny;
    if (is_limited && !is_at_most && number != kAny) SetBit(column.exclude, index);
    for (size_t rank = 0; rank <= count; ++rank) {
      const bool has_less = rank == count || number < column.numbers[rank];
      const bool covers = is_at_most ? !has_less : !has_less && number == column.numbers[rank];
      if (number == kAny || covers) SetBit(column.include + rank * words_, index);
      if (is_limited && is_at_most && number != kAny && covers) {
        SetBit(column.exclude + rank * words_, index);
      }
    }
  }
  column.is_fixed = count == 1 && !column.has_any;
  columns_.push_back(std::move(column));
}

void CoverIndex::BuildExtra(absl::Span<const Key> keys) {
  Column column = {.field = KeyField::kExtra};
  for (const Key& key : keys) {
    column.has_any |= key.any_extra;
    if (!key.any_extra) column.extras.push_back(key.extra);
  }
  SortOut(&column.extras);
  const size_t count = column.extras.size();
  if (count == 0) return;
  column.include = NewRows(count + 1);
  for (uint32_t index = 0; index < size_; ++index) {
    for (size_t rank = 0; rank <= count; ++rank) {
      const bool is_equal = rank < count && keys[index].extra == column.extras[rank];
      if (keys[index].any_extra || is_equal) SetBit(column.include + rank * words_, index);
    }
  }
  column.is_fixed = count == 1 && !column.has_any;
  columns_.push_back(std::move(column));
}

void CoverIndex::BuildFixed(const Key& first) {
  Key mask;
  for (uint32_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    if (!column.is_fixed) {
      varying_.push_back(i);
    } else if (column.field == KeyField::kExtra) {
      mask.extra = ~uint64_t{0};
    } else {
      NumberOf(mask, column.field) = -1;
    }
  }
  fixed_ = KeyWords::Of(first);
  fixed_mask_ = KeyWords::Of(mask);
}

bool CoverIndex::IsFixedAlike(const Key& call) const {
  const KeyWords words = KeyWords::Of(call);
  uint64_t differs = 0;
  for (size_t i = 0; i < KeyWords::kCount; ++i) {
    differs |= (words.words[i] ^ fixed_.words[i]) & fixed_mask_.words[i];
  }
  return differs == 0;
}

void CoverIndex::NarrowByTokens(int32_t call, Narrowed* narrowed) const {
  const FieldRule& rule = rules_.tokens;
  const int64_t wanted = LeastCovering(rule, call);
  size_t rank = FirstAtLeast(tokens_, wanted);
  if (rule.covers == Covers::kAtMost) {
    narrowed->begin = token_begins_[rank];
    narrowed->reach = any_tokens_;
    narrowed->end = tokens_limited_
                        ? token_begins_[FirstAtLeast(tokens_, MostCovering(rule, call) + 1)]
                        : any_tokens_;
    return;
  }
  if (rank < tokens_.size() && tokens_[rank] != wanted) rank = tokens_.size();
  const size_t past = std::min(rank + 1, tokens_.size());
  narrowed->begin = token_begins_[rank];
  narrowed->reach = token_begins_[past];
  narrowed->end = wanted <= MostCovering(rule, call) ? narrowed->reach : narrowed->begin;
}

CoverIndex::Narrow CoverIndex::NarrowByColumn(const Column& column, const Key& call) const {
  Narrow narrow = {&column, nullptr, rows_.data(), false, false};
  if (column.field == KeyField::kExtra) {
    size_t rank = FirstAtLeast(column.extras, call.extra);
    const size_t count = column.extras.size();
    if (rank < count && column.extras[rank] != call.extra) rank = count;
    narrow.include = Row(column.include, rank);
    narrow.covers_none = narrow.leaves_none = rank == count && !column.has_any;
    return narrow;
  }
  const int32_t number = NumberOf(call, column.field);
  const int64_t wanted = LeastCovering(column.rule, number);
  const size_t count = column.numbers.size();
  size_t rank = FirstAtLeast(column.numbers, wanted);
  if (column.rule.covers == Covers::kAtMost) {
    if (column.exclude != 0) {
      const int64_t most = MostCovering(column.rule, number);
      const size_t past = FirstAtLeast(column.numbers, most + 1);
      narrow.exclude = Row(column.exclude, past);
      narrow.covers_none = rank == past && !column.has_any;
    }
  } else {
    if (rank < count && column.numbers[rank] != wanted) rank = count;
    if (column.exclude != 0 && wanted > MostCovering(column.rule, number)) {
      narrow.exclude = Row(column.exclude, 0);
    }
  }
  narrow.include = Row(column.include, rank);
  narrow.leaves_none = rank == count && !column.has_any;
  narrow.covers_none |= narrow.leaves_none;
  return narrow;
}

void CoverIndex::NarrowBy(const Key& call, Narrowed* narrowed) const {
  NarrowByTokens(call.tokens, narrowed);
  narrowed->count = 0;
  narrowed->leaves_none = narrowed->begin == size_;
  narrowed->covers_none = narrowed->leaves_none;
  // Where a field leaves none, those after it in the order of narrowing down do not matter.
  const size_t end = narrowed->leaves_none ? tokens_place_ : columns_.size();
  const auto add = [&](const Column& column) {
    const Narrow narrow = NarrowByColumn(column, call);
    narrowed->columns[narrowed->count++] = narrow;
    narrowed->leaves_none |= narrow.leaves_none;
    narrowed->covers_none |= narrow.covers_none;
    return !narrow.leaves_none;
  };
  if (IsFixedAlike(call)) {
    for (const uint32_t i : varying_) {
      if (i >= end || !add(columns_[i])) return;
    }
  } else {
    for (size_t i = 0; i < end; ++i) {
      if (!add(columns_[i])) return;
    }
  }
}

bool CoverIndex::KeepByTokens(int32_t call, uint32_t begin, uint64_t* bits) const {
  if (begin == size_) return false;
  // At most: all from the first with enough, as those with any come last. Else those of one number,
  // which stand from `begin` on unless they are none, and those with any.
  std::fill(bits, bits + begin / 64, 0);
  bits[begin / 64] &= BitsFrom(begin, begin / 64);
  if (rules_.tokens.covers != Covers::kAtMost && begin != any_tokens_) {
    const size_t rank = FirstAtLeast(tokens_, LeastCovering(rules_.tokens, call));
    const uint32_t end = token_begins_[rank + 1];
    for (size_t word = begin / 64; word < words_; ++word) {
      bits[word] &= ~(BitsFrom(end, word) & ~BitsFrom(any_tokens_, word));
    }
  }
  uint64_t left = 0;
  for (size_t word = begin / 64; word < words_; ++word) left |= bits[word];
  return left != 0;
}

uint32_t CoverIndex::FirstWithoutLimits(const Narrowed& narrowed, uint32_t begin, uint32_t end) {
  for (size_t word = begin / 64; word * 64 < end; ++word) {
    uint64_t bits = BitsFrom(begin, word) & ~BitsFrom(end, word);
    for (uint32_t i = 0; i < narrowed.count; ++i) bits &= narrowed.columns[i].include[word];
    if (bits != 0) return static_cast<uint32_t>(word * 64 + std::countr_zero(bits));
  }
  return kNobody;
}

CoverIndex::Missed CoverIndex::WhyNothingCovers(const Key& call, const Narrowed& narrowed) const {
  if (!narrowed.leaves_none) {
    uint32_t index = FirstWithoutLimits(narrowed, narrowed.begin, narrowed.reach);
    if (index == kNobody) index = FirstWithoutLimits(narrowed, any_tokens_, size_);
    if (index != kNobody) return {Miss::kPadding, PaddedTooMuch(index, narrowed)};
  }
  return WhyNothingIsLeft(call, narrowed);
}

CoverIndex::Missed CoverIndex::WhyNothingIsLeft(const Key& call, const Narrowed& narrowed) const {
  uint64_t bits[kMostKeys / 64];
  std::fill(bits, bits + words_, ~uint64_t{0});
  bits[words_ - 1] = ~BitsFrom(size_, words_ - 1);
  const auto narrow_by_tokens = [&] { return KeepByTokens(call.tokens, narrowed.begin, bits); };
  bool tokens_are_done = false;
  for (uint32_t i = 0; i < narrowed.count; ++i) {
    const Narrow& narrow = narrowed.columns[i];
    if (!tokens_are_done && narrow.column >= columns_.data() + tokens_place_) {
      tokens_are_done = true;
      if (!narrow_by_tokens()) return WhyLeavesNone(KeyField::kTokens, call);
    }
    if (narrow.leaves_none) return WhyLeavesNone(narrow.column->field, call);
    uint64_t left = 0;
    for (size_t word = 0; word < words_; ++word) left |= bits[word] &= narrow.include[word];
    if (left == 0) return WhyLeavesNone(narrow.column->field, call);
  }
  return WhyLeavesNone(KeyField::kTokens, call);
}

KeyField CoverIndex::PaddedTooMuch(uint32_t index, const Narrowed& narrowed) const {
  if (index >= narrowed.end && index < any_tokens_) return KeyField::kTokens;
  KeyField first = KeyField::kExtra;
  for (uint32_t i = 0; i < narrowed.count; ++i) {
    const Narrow& narrow = narrowed.columns[i];
    const bool is_too_much = (narrow.exclude[index / 64] >> index % 64 & 1) != 0;
    if (is_too_much) first = std::min(first, narrow.column->field);
  }
  GRAPHTREE_CHECK(first != KeyField::kExtra) << ToString(keys_[index]) << " is not padded too much";
  return first;
}

CoverIndex::Missed CoverIndex::WhyLeavesNone(KeyField field, const Key& call) const {
  if (field == KeyField::kExtra) return {Miss::kNone, field};
  const FieldRule& rule = RuleOf(rules_, field);
  const absl::Span<const int32_t> numbers = NumbersOf(field);
  const bool is_above = rule.covers == Covers::kAtMost ||
                        (rule.covers == Covers::kPowerOfTwo &&
                         LeastCovering(rule, NumberOf(call, field)) > numbers.back());
  return {is_above ? Miss::kAbove : Miss::kNone, field};
}

absl::Span<const int32_t> CoverIndex::NumbersOf(KeyField field) const {
  if (field == KeyField::kTokens) return tokens_;
  for (const Column& column : columns_) {
    if (column.field == field) return column.numbers;
  }
  return {};
}

bool CoverIndex::Matters(KeyField field) const {
  if (field == KeyField::kTokens) return !tokens_.empty();
  return std::any_of(columns_.begin(), columns_.end(),
                     [field](const Column& column) { return column.field == field; });
}

}  // namespace graphtree
