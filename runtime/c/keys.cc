// Copies keys field by field.
#include "runtime/c/keys.h"

#include "absl/strings/str_cat.h"

namespace graphtree::c {
namespace {

static_assert(GT_ANY == kAny);
static_assert(GT_TOKENS == static_cast<int>(KeyField::kTokens) + 1);
static_assert(GT_EXTRA == static_cast<int>(KeyField::kExtra) + 1);
static_assert(GT_ALLOW_ALL == Modes::All().bits());
static_assert(GT_ALLOW_SEGMENTED == Modes::Only(Mode::kSegmented).bits());

absl::Status ReadRule(const char* name, const gt_field_rule& rule, FieldRule* into) {
  if (rule.covers < GT_COVERS_DEFAULT || rule.covers > GT_COVERS_POWER_OF_TWO) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the rule of ", name, " covers by ", rule.covers, ", and there is none with that number"));
  }
  if (rule.covers != GT_COVERS_DEFAULT) into->covers = static_cast<Covers>(rule.covers - 1);
  if (rule.most_extra != 0) into->most_extra = rule.most_extra == -1 ? 0 : rule.most_extra;
  if (rule.most_ratio != 0) into->most_ratio = rule.most_ratio;
  return absl::OkStatus();
}

}  // namespace

Key KeyOf(const gt_key& key) {
  return {.kind = key.kind,
          .tokens = key.tokens,
          .requests = key.requests,
          .query_length = key.query_length,
          .context = key.context,
          .adaptors = key.adaptors,
          .microbatches = key.microbatches,
          .speculation = key.speculation,
          .extra = key.extra,
          .any_extra = key.any_extra != 0};
}

gt_key KeyOf(const Key& key) {
  return {.kind = key.kind,
          .tokens = key.tokens,
          .requests = key.requests,
          .query_length = key.query_length,
          .context = key.context,
          .adaptors = key.adaptors,
          .microbatches = key.microbatches,
          .speculation = key.speculation,
          .extra = key.extra,
          .any_extra = key.any_extra ? 1 : 0,
          .reserved = 0};
}

absl::Status CheckModes(gt_modes modes) {
  if (modes <= GT_ALLOW_ALL) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("modes ", modes, ", and all of them together are ", GT_ALLOW_ALL));
}

absl::Status RulesOf(const gt_key_rules& rules, KeyRules* into) {
  absl::Status status = ReadRule("kind", rules.kind, &into->kind);
  status.Update(ReadRule("tokens", rules.tokens, &into->tokens));
  status.Update(ReadRule("requests", rules.requests, &into->requests));
  status.Update(ReadRule("query_length", rules.query_length, &into->query_length));
  status.Update(ReadRule("context", rules.context, &into->context));
  status.Update(ReadRule("adaptors", rules.adaptors, &into->adaptors));
  status.Update(ReadRule("microbatches", rules.microbatches, &into->microbatches));
  status.Update(ReadRule("speculation", rules.speculation, &into->speculation));
  return status;
}

gt_choice ChoiceOf(const Choice& choice) {
  const auto place = [](uint32_t index) {
    return index == kNoShape ? -1 : static_cast<int32_t>(index);
  };
  return {.size = sizeof(gt_choice),
          .why = static_cast<gt_why>(choice.why),
          .field = choice.field.has_value() ? static_cast<gt_key_field>(*choice.field) + 1
                                            : GT_NO_FIELD,
          .shape = place(choice.index),
          .better = place(choice.better),
          .key = KeyOf(choice.key)};
}

}  // namespace graphtree::c
