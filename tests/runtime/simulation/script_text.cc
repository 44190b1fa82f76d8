// Prints scripts.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/runtime/simulation/script.h"

namespace graphtree::runtime_simulation {
namespace {

constexpr const char* kOpNames[] = {"show", "pattern", "dep", "log", "sum", "break", "hog",
                                     "scratch", "pad", "part", "return"};
static_assert(sizeof(kOpNames) / sizeof(kOpNames[0]) == kOpKinds);
constexpr const char* kActionNames[] = {
    "add",  "remove", "shapes of", "exclude in", "record", "step", "pair of steps",
    "vote", "move",   "touch",     "rewrite",    "drop",   "wrong", "capture",
    "commit", "prepare", "take", "in another mode", "park", "lend"};
static_assert(sizeof(kActionNames) / sizeof(kActionNames[0]) == kActionKinds);
constexpr const char* kMistakeNames[] = {
    "none",        "stages twice", "too many rows",  "negative rows",    "other type",
    "no address",  "no slot",      "cannot hold",    "misaligned",       "bad stride",
    "step in step", "changes in step", "bad key",    "forgets a slot",   "no outputs"};
static_assert(sizeof(kMistakeNames) / sizeof(kMistakeNames[0]) == kMistakes);
constexpr const char* kSourceNames[] = {"nothing", "host", "device", "output", "value"};

std::string RuleText(const FieldRule& rule) {
  std::string text = CoversName(rule.covers);
  if (rule.most_ratio != FieldRule::kNoRatio) absl::StrAppend(&text, " ratio ", rule.most_ratio);
  if (rule.most_extra != FieldRule::kNoExtra) absl::StrAppend(&text, " extra ", rule.most_extra);
  return text;
}

std::string ProgramText(const ProgramSpec& spec) {
  std::string text = absl::StrCat("lane ", spec.lane);
  for (size_t i = 0; i < kKeyNumberCount; ++i) {
    const auto field = static_cast<KeyField>(i);
    absl::StrAppend(&text, i == 0 ? "; rules " : ", ", KeyFieldName(field), " ",
                    RuleText(RuleOf(spec.rules, field)));
  }
  for (const SlotSpec& slot : spec.slots) {
    absl::StrAppend(&text, "\n  ", slot.name, " ", DTypeName(slot.type), "[",
                    absl::StrJoin(slot.sizes, ","), "] rows ",
                    slot.rows.has_value() ? KeyFieldName(*slot.rows) : "all", "+", slot.extra_rows,
                    " along ", slot.axis, ", pad ", PadRuleName(slot.pad), " ", slot.pad_value,
                    slot.may_be_left_out ? ", may be left out" : "");
  }
  absl::StrAppend(&text, "\n  deps ", absl::StrJoin(spec.deps, " "), "; ops");
  for (const Op& op : spec.ops) {
    absl::StrAppend(&text, " ", kOpNames[static_cast<int>(op.kind)], " ", op.at, ",");
  }
  if (spec.needs_commit) absl::StrAppend(&text, " needs commits,");
  if (spec.tells_when_free) absl::StrAppend(&text, " tells when free,");
  if (spec.says_when_free) absl::StrAppend(&text, " says when slots are free,");
  if (spec.plans) absl::StrAppend(&text, " plans,");
  absl::StrAppend(&text, spec.prepares ? " prepares;" : ";", " kept ",
                  absl::StrJoin(spec.kept, " "), "; shapes");
  for (const Key& key : spec.shapes) absl::StrAppend(&text, " (", ToString(key), ")");
  return text;
}

std::string StepText(const StepSpec& step) {
  std::string text = absl::StrCat("  of ", step.program, " (", ToString(step.call), ") on ",
                                  step.stream, ", modes ", step.modes);
  for (const Staging& staging : step.staging) {
    absl::StrAppend(&text, ", ", kSourceNames[static_cast<int>(staging.kind)], " ",
                    DTypeName(staging.type), " -", staging.fewer, " gap ", staging.gap, " seed ",
                    staging.seed);
  }
  if (step.is_voted_down) absl::StrAppend(&text, ", voted down");
  if (step.continues) absl::StrAppend(&text, ", continues");
  if (step.is_canceled) absl::StrAppend(&text, ", canceled");
  if (step.body_fails) absl::StrAppend(&text, ", its body fails");
  if (step.moves_dep) absl::StrAppend(&text, ", a dependency moves meanwhile");
  if (step.excludes) absl::StrAppend(&text, ", its shape is excluded meanwhile");
  if (step.mistake != Mistake::kNone) {
    absl::StrAppend(&text, ", ", kMistakeNames[static_cast<int>(step.mistake)]);
  }
  if (step.holds) absl::StrAppend(&text, ", holds");
  if (step.fills != 0) absl::StrAppend(&text, ", fills slots ", step.fills);
  if (step.rewrites) absl::StrAppend(&text, ", rewrites its rows");
  return text;
}

bool HasSteps(ActionKind kind) {
  return kind == ActionKind::kStep || kind == ActionKind::kPair || kind == ActionKind::kVote ||
         kind == ActionKind::kCapture || kind == ActionKind::kPrepare ||
         kind == ActionKind::kTake || kind == ActionKind::kMode ||
         kind == ActionKind::kPark || kind == ActionKind::kLend;
}

}  // namespace

std::string ToString(const Script& script) {
  std::string text = absl::StrCat(
      "seed ", script.seed, script.records_while_serving ? "" : ", records ahead only",
      script.is_small ? ", small budgets" : "", script.is_checked ? ", checked mode" : "",
      script.is_hasty ? ", hasty" : "", "\n");
  for (size_t i = 0; i < script.programs.size(); ++i) {
    absl::StrAppend(&text, "program ", i, " in ", ProgramText(script.programs[i]), "\n");
  }
  for (const Action& action : script.actions) {
    absl::StrAppend(&text, kActionNames[static_cast<int>(action.kind)], " ", action.program,
                    " pick ", action.pick);
    if (action.fail_at != 0) absl::StrAppend(&text, ", device call ", action.fail_at, " fails");
    absl::StrAppend(&text, action.look ? "\n" : "; nobody looks\n");
    if (!HasSteps(action.kind)) continue;
    for (const StepSpec& step : action.steps) absl::StrAppend(&text, StepText(step), "\n");
  }
  return text;
}

}  // namespace graphtree::runtime_simulation
