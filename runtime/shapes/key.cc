// Names, texts and checks of keys and rules.
#include "runtime/shapes/key.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"

namespace graphtree {
namespace {

constexpr FieldRule KeyRules::*kRules[] = {
    &KeyRules::tokens,   &KeyRules::requests,     &KeyRules::query_length, &KeyRules::context,
    &KeyRules::adaptors, &KeyRules::microbatches, &KeyRules::speculation,  &KeyRules::kind};
static_assert(sizeof(kRules) / sizeof(kRules[0]) == kKeyNumberCount);

KeyField FieldAt(size_t index) { return static_cast<KeyField>(index); }

absl::Status CheckRule(const FieldRule& rule, const char* name) {
  if (rule.covers > Covers::kPowerOfTwo) {
    return absl::InvalidArgumentError(
        absl::StrCat("the rule for ", name, " covers by rule ", static_cast<int>(rule.covers),
                     ", and there is none with that number"));
  }
  // A ratio that is no number fails here, too.
  if (!(rule.most_ratio >= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("the rule for ", name, " allows a ratio of ",
                                                   rule.most_ratio,
                                                   "; padding makes nothing smaller: at least 1"));
  }
  if (rule.most_extra < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the rule for ", name, " allows ", rule.most_extra, " extra units of padding; at least 0"));
  }
  if (rule.covers == Covers::kEqual && rule.is_limited()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the rule for ", name, " limits padding, but wants equal values and never pads"));
  }
  return absl::OkStatus();
}

}  // namespace

const char* KeyFieldName(KeyField field) {
  switch (field) {
    case KeyField::kTokens:
      return "tokens";
    case KeyField::kRequests:
      return "requests";
    case KeyField::kQueryLength:
      return "query_length";
    case KeyField::kContext:
      return "context";
    case KeyField::kAdaptors:
      return "adaptors";
    case KeyField::kMicrobatches:
      return "microbatches";
    case KeyField::kSpeculation:
      return "speculation";
    case KeyField::kKind:
      return "kind";
    case KeyField::kExtra:
      return "extra";
  }
  return "?";
}

const char* CoversName(Covers covers) {
  switch (covers) {
    case Covers::kEqual:
      return "equal";
    case Covers::kAtMost:
      return "at most";
    case Covers::kPowerOfTwo:
      return "power of two";
  }
  return "?";
}

std::string ToString(const Key& key) {
  std::string text;
  const auto add = [&text](KeyField field, const std::string& value) {
    absl::StrAppend(&text, text.empty() ? "" : " ", KeyFieldName(field), "=", value);
  };
  for (size_t i = 0; i < kKeyNumberCount; ++i) {
    const int32_t number = NumberOf(key, FieldAt(i));
    if (number != 0) add(FieldAt(i), number == kAny ? "any" : absl::StrCat(number));
  }
  if (key.any_extra) {
    add(KeyField::kExtra, "any");
  } else if (key.extra != 0) {
    add(KeyField::kExtra, absl::StrCat(key.extra));
  }
  return text.empty() ? "empty" : text;
}

const FieldRule& RuleOf(const KeyRules& rules, KeyField field) {
  GRAPHTREE_CHECK(field != KeyField::kExtra) << "extra has no rule";
  return rules.*kRules[static_cast<size_t>(field)];
}

absl::Status CheckCall(const Key& call) {
  for (size_t i = 0; i < kKeyNumberCount; ++i) {
    const int32_t number = NumberOf(call, FieldAt(i));
    if (number >= 0) continue;
    const char* const hint = number == kAny ? ", which is any: only a shape may leave a field open"
                                            : "; numbers of a key are 0 or more";
    return absl::InvalidArgumentError(
        absl::StrCat("the call's ", KeyFieldName(FieldAt(i)), " is ", number, hint));
  }
  if (call.any_extra) {
    return absl::InvalidArgumentError("the call's extra is any: only a shape may leave it open");
  }
  return absl::OkStatus();
}

absl::Status CheckShapeKey(const Key& shape, const KeyRules& rules) {
  for (size_t i = 0; i < kKeyNumberCount; ++i) {
    const int32_t number = NumberOf(shape, FieldAt(i));
    if (number == kAny || number == 0) continue;
    if (number < 0) {
      return absl::InvalidArgumentError(absl::StrCat("the shape's ", KeyFieldName(FieldAt(i)),
                                                     " is ", number,
                                                     "; numbers of a key are 0 or more, or kAny"));
    }
    if (RuleOf(rules, FieldAt(i)).covers == Covers::kPowerOfTwo &&
        !std::has_single_bit(static_cast<uint32_t>(number))) {
      return absl::InvalidArgumentError(
          absl::StrCat("the shape's ", KeyFieldName(FieldAt(i)), " is ", number,
                       "; its rule wants 0, a power of two, or kAny: no call ever comes to this"));
    }
  }
  if (shape.any_extra && shape.extra != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the shape's extra is ", shape.extra, " and any at once"));
  }
  return absl::OkStatus();
}

absl::Status CheckRules(const KeyRules& rules) {
  for (size_t i = 0; i < kKeyNumberCount; ++i) {
    const absl::Status status = CheckRule(RuleOf(rules, FieldAt(i)), KeyFieldName(FieldAt(i)));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace graphtree
