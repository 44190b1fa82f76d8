// Builds the rows of bits, and reads them.
#include "runtime/shapes/cover_index.h"

#include <algorithm>
#include <bit>

#include "device/base/check.h"

namespace graphtree {
namespace {

constexpr size_t kNumbersBegin = static_cast<size_t>(KeyField::kRequests);  // after tokens

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
  for (size_t i = 0; i < kKeyNumberCount; ++i) {
    const auto field = static_cast<KeyField>(i);
    const FieldRule& rule = RuleOf(rules_, field);
    if (rule.is_limited()) limited_fields_.push_back({field, rule});
  }
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
  BuildLooks();
}

void CoverIndex::BuildLooks() {
  for (uint32_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    looks_.push_back({&column.ranks, Row(column.include, 0),
                      column.has_any ? kNobody : column.count, i, column.field,
                      column.rule.covers});
    if (!column.is_fixed) varying_.push_back(looks_.back());
    if (column.rule.is_limited()) limited_columns_.push_back(i);
  }
}

size_t CoverIndex::NewRows(size_t count) {
  const size_t first = rows_.size();
  rows_.resize(first + count * words_);
  return first;
}

void CoverIndex::BuildTokens(absl::Span<const Key> keys) {
  tokens_ = NumbersIn(keys, KeyField::kTokens);
  token_ranks_ = NumberRanks(tokens_);
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
  column.count = static_cast<uint32_t>(count);
  column.ranks = NumberRanks(column.numbers);
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
  column.count = static_cast<uint32_t>(count);
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
  for (const Column& column : columns_) {
    if (!column.is_fixed) continue;
    if (column.field == KeyField::kExtra) {
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
  KeyWords::ForEach([&](size_t i) {
    differs |= (words.words[i] ^ fixed_.words[i]) & fixed_mask_.words[i];
  });
  return differs == 0;
}

void CoverIndex::NarrowByTokens(int32_t call, Narrowed* narrowed) const {
  const auto wanted = static_cast<uint32_t>(LeastCovering(rules_.tokens, call));
  if (rules_.tokens.covers == Covers::kAtMost) {
    narrowed->begin = token_begins_[token_ranks_.FirstAtLeast(wanted)];
    narrowed->end = any_tokens_;
    return;
  }
  const uint32_t rank = token_ranks_.PlaceOf(wanted);
  narrowed->begin = token_begins_[rank];
  narrowed->end = token_begins_[std::min(rank + 1, token_ranks_.size())];
}

inline uint32_t CoverIndex::RankIn(const Look& look, const Key& call) const {
  if (look.field == KeyField::kExtra) {
    const std::vector<uint64_t>& extras = columns_[look.column].extras;
    const auto at = std::lower_bound(extras.begin(), extras.end(), call.extra);
    const bool is_there = at != extras.end() && *at == call.extra;
    return static_cast<uint32_t>((is_there ? at : extras.end()) - extras.begin());
  }
  auto wanted = static_cast<uint32_t>(NumberOf(call, look.field));
  if (look.covers == Covers::kAtMost) return look.ranks->FirstAtLeast(wanted);
  if (look.covers == Covers::kPowerOfTwo && wanted != 0) wanted = std::bit_ceil(wanted);
  return look.ranks->PlaceOf(wanted);
}

bool CoverIndex::AddRows(const Key& call, absl::Span<const Look> looks, Narrowed* narrowed) const {
  const size_t words = words_;
  uint32_t rows = 0;
  for (const Look& look : looks) {
    const uint32_t rank = RankIn(look, call);
    if (rank == look.none) {
      narrowed->count = rows;
      narrowed->against = look.column;
      return false;
    }
    narrowed->columns[rows] = static_cast<uint8_t>(look.column);
    narrowed->rows[rows++] = look.include + rank * words;
  }
  narrowed->count = rows;
  return true;
}

bool CoverIndex::NarrowBy(const Key& call, Narrowed* narrowed) const {
  NarrowByTokens(call.tokens, narrowed);
  if (narrowed->begin == size_) {
    narrowed->against = kTokensAlone;
    AddRows(call, absl::MakeSpan(looks_).first(tokens_place_), narrowed);
    return false;
  }
  narrowed->against = kNobody;
  return AddRows(call, IsFixedAlike(call) ? varying_ : looks_, narrowed);
}

uint32_t CoverIndex::FirstOf(const Narrowed& narrowed) const {
  const auto first_of = [&narrowed](uint32_t begin, uint32_t end) {
    uint64_t bits = ~uint64_t{0} << begin % 64;
    for (uint32_t first = begin - begin % 64; first < end; first += 64, bits = ~uint64_t{0}) {
      for (uint32_t i = 0; i < narrowed.count; ++i) bits &= narrowed.rows[i][first / 64];
      if (bits == 0) continue;
      const uint32_t index = first + static_cast<uint32_t>(std::countr_zero(bits));
      return index < end ? index : kNobody;
    }
    return kNobody;
  };
  // Where tokens are at most the shape's, those with any follow at once.
  if (narrowed.end == any_tokens_) return first_of(narrowed.begin, size_);
  const uint32_t index = first_of(narrowed.begin, narrowed.end);
  return index != kNobody ? index : first_of(any_tokens_, size_);
}

bool CoverIndex::IsAlwaysTooMuch(KeyField field, const Key& call) const {
  for (const uint32_t index : limited_columns_) {
    const Column& column = columns_[index];
    if (column.field != field) continue;
    if (column.has_any || column.rule.covers != Covers::kAtMost) return false;
    const int32_t number = NumberOf(call, field);
    const uint32_t rank = column.ranks.FirstAtLeast(static_cast<uint32_t>(number));
    return rank == column.count || column.numbers[rank] > MostCovering(column.rule, number);
  }
  return false;
}

void CoverIndex::LimitBy(const Key& call, const Narrowed& narrowed, Limits* limits) const {
  // The rank of the first number that is more than `most`.
  const auto past = [](const NumberRanks& ranks, int64_t most) {
    const auto last = static_cast<uint32_t>(std::min<int64_t>(most, NumberRanks::kGreatest - 1));
    return ranks.FirstAtLeast(last + 1);
  };
  limits->end = narrowed.end;
  limits->count = 0;
  if (rules_.tokens.is_limited()) {
    const int64_t most = MostCovering(rules_.tokens, call.tokens);
    const uint32_t end = token_begins_[past(token_ranks_, most)];
    limits->end = std::max(narrowed.begin, std::min(narrowed.end, end));
  }
  for (const uint32_t index : limited_columns_) {
    const Column& column = columns_[index];
    const int32_t number = NumberOf(call, column.field);
    const int64_t most = MostCovering(column.rule, number);
    if (column.rule.covers == Covers::kAtMost) {
      limits->rows[limits->count++] = Row(column.exclude, past(column.ranks, most));
    } else if (LeastCovering(column.rule, number) > most) {
      limits->rows[limits->count++] = Row(column.exclude, 0);
    }
  }
}

uint64_t CoverIndex::TokensWord(const Narrowed& narrowed, size_t word) const {
  const uint64_t values = BitsFrom(narrowed.begin, word) & ~BitsFrom(narrowed.end, word);
  return (values | BitsFrom(any_tokens_, word)) & ~BitsFrom(size_, word);
}

uint32_t CoverIndex::Depth(const Narrowed& narrowed, uint32_t tokens_at, size_t word) const {
  uint64_t bits = ~uint64_t{0};
  uint32_t depth = 0;
  for (uint32_t i = 0; i <= narrowed.count; ++i) {
    if (i == tokens_at) {
      bits &= TokensWord(narrowed, word);
      if (bits == 0) return depth;
      ++depth;
    }
    if (i == narrowed.count) break;
    bits &= narrowed.rows[i][word];
    if (bits == 0) return depth;
    ++depth;
  }
  return depth;
}

CoverIndex::Missed CoverIndex::WhyNothingIsLeft(const Key& call, const Narrowed& narrowed) const {
  // Tokens count as a field unless one before them leaves none.
  uint32_t tokens_at = 0;
  while (tokens_at < narrowed.count && narrowed.columns[tokens_at] < tokens_place_) ++tokens_at;
  const bool has_tokens = narrowed.against == kNobody ||
                          (narrowed.against != kTokensAlone && narrowed.against >= tokens_place_);
  if (!has_tokens) tokens_at = kNobody;
  const uint32_t all = narrowed.count + (has_tokens ? 1 : 0);
  uint32_t deepest = 0;
  // Those from the first with enough tokens on get deepest, as a rule.
  const size_t start = narrowed.begin / 64;
  for (size_t i = 0; i < words_ && deepest < all; ++i) {
    const size_t word = i + start < words_ ? i + start : i + start - words_;
    deepest = std::max(deepest, Depth(narrowed, tokens_at, word));
  }
  if (deepest == all) {
    const bool is_tokens = narrowed.against == kTokensAlone || narrowed.against == kNobody;
    return WhyLeavesNone(is_tokens ? KeyField::kTokens : columns_[narrowed.against].field, call);
  }
  if (deepest == tokens_at) return WhyLeavesNone(KeyField::kTokens, call);
  const uint32_t row = deepest - (deepest > tokens_at ? 1 : 0);
  return WhyLeavesNone(columns_[narrowed.columns[row]].field, call);
}

CoverIndex::Missed CoverIndex::WhyLeavesNone(KeyField field, const Key& call) const {
  if (field == KeyField::kExtra) return {false, field};
  const FieldRule& rule = RuleOf(rules_, field);
  const absl::Span<const int32_t> numbers = NumbersOf(field);
  const bool is_above = rule.covers == Covers::kAtMost ||
                        (rule.covers == Covers::kPowerOfTwo &&
                         LeastCovering(rule, NumberOf(call, field)) > numbers.back());
  return {is_above, field};
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
