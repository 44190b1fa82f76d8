// Prints programs.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/simulation/program.h"

namespace graphtree::simulation {
namespace {

const char* Letter(ParamKind kind) {
  switch (kind) {
    case ParamKind::kStatic: return "s";
    case ParamKind::kManaged: return "m";
    case ParamKind::kAny: return "f";
    case ParamKind::kInteger: return "i";
    case ParamKind::kOpaque: return "o";
  }
  return "?";
}

std::string OpText(const OpSpec& op) {
  switch (op.kind) {
    case OpSpecKind::kAdd: return absl::StrCat("add ", op.a, " ", op.b);
    case OpSpecKind::kFill: return absl::StrCat("fill ", op.immediate);
    case OpSpecKind::kIncrement: return absl::StrCat("increment ", op.a, " by ", op.immediate);
    case OpSpecKind::kSecret:
      return absl::StrCat("secretly increment ", op.a, " by ", op.immediate);
    case OpSpecKind::kDrop: return absl::StrCat("drop ", op.a);
    case OpSpecKind::kFork: return absl::StrCat("add on a fork ", op.a, " ", op.b);
    case OpSpecKind::kForeign: return absl::StrCat("add in foreign memory ", op.a, " ", op.b);
    case OpSpecKind::kLibrary: return absl::StrCat("add in a library ", op.a, " ", op.b);
    case OpSpecKind::kBreak: return absl::StrCat("break and add ", op.a, " ", op.b);
    case OpSpecKind::kStore: return absl::StrCat("store ", op.a, " on ", op.b);
    case OpSpecKind::kLoad:
      return absl::StrCat("take from ", op.a, op.b != 0 ? " if it is good, or fill " : " or fill ",
                          op.immediate);
    case OpSpecKind::kForget: return absl::StrCat("forget ", op.b);
  }
  return "?";
}

const char* ActionName(ActionKind kind) {
  switch (kind) {
    case ActionKind::kCall: return "call";
    case ActionKind::kDrop: return "drop";
    case ActionKind::kStep: return "step";
    case ActionKind::kRewrite: return "rewrite";
    case ActionKind::kRenew: return "renew";
    case ActionKind::kKill: return "kill";
    case ActionKind::kHoard: return "hoard";
    case ActionKind::kClean: return "clean";
    case ActionKind::kRestream: return "other stream";
    case ActionKind::kUnstore: return "forget stored";
  }
  return "?";
}

std::string FunctionText(const FunctionSpec& spec) {
  static constexpr const char* kMovingNames[] = {"patch", "copy", "eager"};
  std::string text = "inputs";
  for (ParamKind kind : spec.params) absl::StrAppend(&text, " ", Letter(kind));
  for (const OpSpec& op : spec.ops) absl::StrAppend(&text, "; ", OpText(op));
  absl::StrAppend(&text, "; outputs ", absl::StrJoin(spec.outputs, " "), "; kept ",
                  absl::StrJoin(spec.kept, " "), "; aligned ", absl::StrJoin(spec.aligned, " "),
                  "; moving: ", kMovingNames[static_cast<int>(spec.moving)]);
  if (spec.asks > 0) absl::StrAppend(&text, "; asks for warm-ups: 0x", absl::Hex(spec.asks));
  return text;
}

}  // namespace

std::string ToString(const Program& program) {
  std::string text = absl::StrCat(
      "seed ", program.seed, ", ", program.elements, " elements",
      program.restless ? ", restless" : "", program.patches_all ? ", patches all" : "",
      program.checked ? ", checked mode" : "", program.watched ? ", watched" : "", "\n");
  for (size_t f = 0; f < program.functions.size(); ++f) {
    absl::StrAppend(&text, "function ", f, ": ", FunctionText(program.functions[f]), "\n");
  }
  for (const Action& action : program.actions) {
    absl::StrAppend(&text, ActionName(action.kind));
    if (action.kind == ActionKind::kCall) {
      absl::StrAppend(&text, " ", action.function, " keep ", action.keep);
      if (action.fail_at != 0) absl::StrAppend(&text, ", device call ", action.fail_at, " fails,");
    }
    if (!action.picks.empty()) absl::StrAppend(&text, " picks ", absl::StrJoin(action.picks, " "));
    if (!action.look) absl::StrAppend(&text, "; nobody looks");
    if (!action.turns.empty()) {
      absl::StrAppend(&text, "; turns ", absl::StrJoin(action.turns, " "));
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace graphtree::simulation
