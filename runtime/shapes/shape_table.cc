// Builds a table, and looks for the first bit that is set in all of its rows.
#include "runtime/shapes/shape_table.h"

#include <algorithm>
#include <bit>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "runtime/shapes/mix.h"

namespace graphtree {
namespace {

bool StandsBefore(const Shape& a, const Shape& b) {
  if (CostsLess(a.key, b.key)) return true;
  if (CostsLess(b.key, a.key)) return false;
  return a.mode > b.mode;
}

std::string NameOf(const Shape& shape) {
  return absl::StrCat("shape ", shape.id, " (", ToString(shape.key), ", ", ModeName(shape.mode),
                      ")");
}

absl::Status CheckShape(const Shape& shape, const KeyRules& rules) {
  if (shape.mode != Mode::kSegmented && shape.mode != Mode::kFull) {
    return absl::InvalidArgumentError(
        absl::StrCat(NameOf(shape), " has no graph: a shape is segmented or full"));
  }
  const absl::Status key = CheckShapeKey(shape.key, rules);
  if (key.ok()) return key;
  return absl::InvalidArgumentError(absl::StrCat(NameOf(shape), ": ", key.message()));
}

uint64_t DigestOf(const KeyRules& rules, absl::Span<const Shape> shapes) {
  uint64_t digest = shapes.size();
  for (size_t i = 0; i < kKeyNumberCount; ++i) {
    const FieldRule& rule = RuleOf(rules, static_cast<KeyField>(i));
    digest = Mix(digest, static_cast<uint64_t>(rule.covers));
    digest = Mix(digest, std::bit_cast<uint64_t>(rule.most_ratio));
    digest = Mix(digest, static_cast<uint32_t>(rule.most_extra));
  }
  for (const Shape& shape : shapes) {
    for (size_t i = 0; i < kKeyNumberCount; ++i) {
      const int32_t number = NumberOf(shape.key, static_cast<KeyField>(i));
      digest = Mix(digest, static_cast<uint32_t>(number));
    }
    digest = Mix(digest, shape.key.extra);
    digest = Mix(digest, static_cast<uint64_t>(shape.mode) << 1 | (shape.key.any_extra ? 1 : 0));
  }
  return digest;
}

// Whether a field is negative or any.
bool IsOpen(const Key& call) {
  const KeyWords all = KeyWords::Of(call);
  const uint64_t signs = all.words[0] | all.words[1] | all.words[2] | all.words[3];
  return (signs & 0x8000'0000'8000'0000) != 0 || call.any_extra;
}

Choice RefusalOf(const Key& call) {
  Choice choice = {.why = Why::kUncovered, .field = KeyField::kExtra, .key = call};
  for (size_t i = kKeyNumberCount; i-- > 0;) {
    if (NumberOf(call, static_cast<KeyField>(i)) < 0) choice.field = static_cast<KeyField>(i);
  }
  return choice;
}

}  // namespace

absl::StatusOr<ShapeTable> ShapeTable::Make(const KeyRules& rules, absl::Span<const Shape> shapes) {
  const absl::Status status = CheckRules(rules);
  if (!status.ok()) return status;
  if (shapes.size() > kMostShapes) {
    return absl::InvalidArgumentError(
        absl::StrCat(shapes.size(), " shapes are too many: at most ", kMostShapes));
  }
  for (const Shape& shape : shapes) {
    const absl::Status fine = CheckShape(shape, rules);
    if (!fine.ok()) return fine;
  }
  ShapeTable table;
  table.rules_ = rules;
  table.shapes_.assign(shapes.begin(), shapes.end());
  std::stable_sort(table.shapes_.begin(), table.shapes_.end(), StandsBefore);
  for (uint32_t i = 0; i < table.shapes_.size(); ++i) {
    const Shape& shape = table.shapes_[i];
    const auto [other, is_new] = table.by_id_.emplace(shape.id, i);
    if (!is_new) {
      return absl::InvalidArgumentError(absl::StrCat(
          NameOf(shape), " and ", NameOf(table.shapes_[other->second]), " have the same id"));
    }
    if (i > 0 && !StandsBefore(table.shapes_[i - 1], shape)) {
      return absl::InvalidArgumentError(
          absl::StrCat(NameOf(table.shapes_[i - 1]), " and ", NameOf(shape), " are the same"));
    }
  }
  table.Build();
  return table;
}

void ShapeTable::Build() {
  std::vector<Key> keys;
  for (const Shape& shape : shapes_) {
    keys.push_back(shape.key);
    Key open;
    for (size_t i = 0; i < kKeyNumberCount; ++i) {
      if (IsAny(shape.key, static_cast<KeyField>(i))) NumberOf(open, static_cast<KeyField>(i)) = -1;
    }
    if (shape.key.any_extra) open.extra = ~uint64_t{0};
    keys_.push_back(KeyWords::Of(shape.key));
    open_.push_back(KeyWords::Of(open));
  }
  index_ = CoverIndex(rules_, keys);
  const size_t words = (shapes_.size() + 63) / 64;
  for (uint8_t bits = 0; bits < 4; ++bits) {
    of_modes_[bits].assign(words, 0);
    for (size_t i = 0; i < shapes_.size(); ++i) {
      if (!Modes::FromBits(bits).Has(shapes_[i].mode)) continue;
      of_modes_[bits][i / 64] |= uint64_t{1} << i % 64;
    }
  }
  usable_.assign(words, 0);
  whys_.assign(shapes_.size(), Why::kNotRecorded);
  digest_ = DigestOf(rules_, shapes_);
}

void ShapeTable::SetUsable(uint32_t index, Why why) {
  GRAPHTREE_CHECK(index < shapes_.size()) << "shape " << index << " of " << shapes_.size();
  const bool is_of_shape =
      why >= Why::kNotRecorded && why <= Why::kEvicted && why != Why::kVotedDown;
  GRAPHTREE_CHECK(why == Why::kHit || is_of_shape)
      << "a shape cannot be set to " << WhyName(why);
  const bool was = whys_[index] == Why::kHit;
  const bool is = why == Why::kHit;
  whys_[index] = why;
  if (was == is) return;
  usable_[index / 64] ^= uint64_t{1} << index % 64;
  usable_digest_ ^= Mix(1, index);
}

uint32_t ShapeTable::IndexOf(uint64_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? kNoShape : found->second;
}

Key ShapeTable::Padded(uint32_t index, const Key& call) const {
  return Served(call, {.chosen = index}).key;
}

Choice ShapeTable::Served(const Key& call, const Found& found) const {
  const KeyWords own = KeyWords::Of(call);
  const KeyWords& shape = keys_[found.chosen];
  const KeyWords& open = open_[found.chosen];
  KeyWords padded;
  uint64_t differs = 0;
  KeyWords::ForEach([&](size_t i) {
    const uint64_t more = (shape.words[i] ^ own.words[i]) & ~open.words[i];
    padded.words[i] = own.words[i] ^ more;
    differs |= more;
  });
  Choice choice;
  choice.why = differs == 0 ? Why::kHit : Why::kCover;
  choice.index = found.chosen;
  choice.better = found.first < found.chosen ? found.first : kNoShape;
  padded.CopyTo(&choice.key);
  return choice;
}

bool ShapeTable::Scan(const CoverIndex::Narrowed& narrowed, const CoverIndex::Limits& limits,
                      uint32_t begin, uint32_t end, Modes allowed, Found* found) const {
  const uint64_t* const of_modes = of_modes_[allowed.bits()].data();
  uint64_t edge = ~uint64_t{0} << begin % 64;
  for (uint32_t first = begin - begin % 64; first < end; first += 64) {
    const size_t word = first / 64;
    uint64_t wanted = edge;
    if (end - first < 64) wanted &= ~(~uint64_t{0} << (end - first));
    edge = ~uint64_t{0};
    // Once the best is known, only what is usable matters.
    if (found->first != kNoShape) wanted &= of_modes[word] & usable_[word];
    if (wanted == 0) continue;
    uint64_t bits = CoverIndex::CoveringWord(narrowed, limits, word) & wanted;
    if (bits == 0) continue;
    found->covers = true;
    bits &= of_modes[word];
    if (bits == 0) continue;
    if (found->first == kNoShape) found->first = first + std::countr_zero(bits);
    bits &= usable_[word];
    if (bits == 0) continue;
    found->chosen = first + std::countr_zero(bits);
    return true;
  }
  return false;
}

Choice ShapeTable::Choose(const Key& call, Modes allowed) const {
  if (IsOpen(call)) return RefusalOf(call);
  CoverIndex::Narrowed narrowed;
  const uint32_t first =
      index_.NarrowBy(call, &narrowed) ? index_.FirstOf(narrowed) : CoverIndex::kNobody;
  if (first == CoverIndex::kNobody) return NothingWould(call, narrowed);
  const std::optional<KeyField> too_much = index_.PaddedTooMuch(first, call);
  const uint64_t serves = of_modes_[allowed.bits()][first / 64] & usable_[first / 64];
  if (!too_much.has_value() && (serves >> first % 64 & 1) != 0) {
    return Served(call, {.first = first, .chosen = first});
  }
  return ChooseFrom(first, call, allowed, narrowed, too_much);
}

Choice ShapeTable::ChooseFrom(uint32_t first, const Key& call, Modes allowed,
                              const CoverIndex::Narrowed& narrowed,
                              std::optional<KeyField> too_much) const {
  Found found;
  if (!too_much.has_value() || !index_.IsAlwaysTooMuch(*too_much, call)) {
    CoverIndex::Limits limits;
    index_.LimitBy(call, narrowed, &limits);
    if (Scan(narrowed, limits, first, limits.end, allowed, &found) ||
        Scan(narrowed, limits, std::max(first, index_.any_tokens()), index_.size(), allowed,
             &found)) {
      return Served(call, found);
    }
  }
  Choice choice = {.better = found.first, .key = call};
  if (found.first != kNoShape) {
    choice.why = whys_[found.first];
  } else if (found.covers) {
    choice.why = Why::kMode;
  } else {
    choice.why = Why::kPadding;
    choice.field = too_much;
  }
  return choice;
}

Choice ShapeTable::NothingWould(const Key& call, const CoverIndex::Narrowed& narrowed) const {
  Choice choice = {.key = call};
  if (shapes_.empty()) return choice;
  const CoverIndex::Missed missed = index_.WhyNothingIsLeft(call, narrowed);
  choice.why = missed.is_above ? Why::kAboveCeiling : Why::kUncovered;
  choice.field = missed.field;
  return choice;
}

std::string ShapeTable::Describe(const Key& call, const Choice& choice) const {
  std::string text = WhyName(choice.why);
  if (choice.index != kNoShape) {
    absl::StrAppend(&text, ", ", ToString(call), " in ", NameOf(shape(choice.index)));
  } else if (choice.field == KeyField::kExtra) {
    absl::StrAppend(&text, ", extra=", call.any_extra ? "any" : absl::StrCat(call.extra));
  } else if (choice.field.has_value()) {
    absl::StrAppend(&text, ", ", KeyFieldName(*choice.field), "=", NumberOf(call, *choice.field));
    const absl::Span<const int32_t> numbers = NumbersOf(*choice.field);
    if (choice.why == Why::kAboveCeiling && !numbers.empty()) {
      absl::StrAppend(&text, " where the largest is ", numbers.back());
    }
  } else if (choice.better != kNoShape) {
    absl::StrAppend(&text, ", ", NameOf(shape(choice.better)));
  } else {
    absl::StrAppend(&text, ", ", ToString(call));
  }
  absl::StrAppend(&text, ": ", WhySentence(choice.why));
  if (choice.index != kNoShape && choice.better != kNoShape) {
    absl::StrAppend(&text, "; ", NameOf(shape(choice.better)), " would cost less, and is ",
                    WhyName(usable(choice.better)));
  }
  return text;
}

}  // namespace graphtree
