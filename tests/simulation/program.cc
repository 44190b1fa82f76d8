// Draws programs from a seed, and prints them.
#include "tests/simulation/program.h"

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace graphtree::simulation {
namespace {

class Drawer {
 public:
  explicit Drawer(uint32_t seed) : random_(seed) {}

  uint32_t Below(uint32_t n) { return random_() % n; }
  bool OneIn(uint32_t n) { return Below(n) == 0; }

  FunctionSpec Function() {
    FunctionSpec spec;
    const uint32_t params = 1 + Below(4);
    for (uint32_t i = 0; i < params; ++i) {
      static constexpr ParamKind kKinds[] = {ParamKind::kStatic, ParamKind::kManaged,
                                             ParamKind::kAny,    ParamKind::kAny,
                                             ParamKind::kAny,    ParamKind::kInteger};
      spec.params.push_back(kKinds[Below(6)]);
    }
    std::vector<int> readable;
    for (uint32_t i = 0; i < params; ++i) {
      if (spec.params[i] != ParamKind::kInteger) readable.push_back(static_cast<int>(i));
    }
    int next = static_cast<int>(params);
    for (uint32_t ops = Below(7); ops > 0; --ops) AddOp(&spec, &readable, &next);
    for (uint32_t outputs = Below(4); outputs > 0; --outputs) {
      spec.outputs.push_back(OneIn(6) || readable.empty() ? kNoRegister
                                                            : readable[Below(readable.size())]);
    }
    for (uint32_t i = 0; i < spec.outputs.size(); ++i) {
      if (spec.outputs[i] >= static_cast<int>(params) && OneIn(4)) spec.kept.push_back(i);
    }
    static constexpr Moving kMovings[] = {Moving::kPatch, Moving::kPatch, Moving::kPatch,
                                          Moving::kCopy, Moving::kEager};
    spec.moving = kMovings[Below(5)];
    return spec;
  }

  Action NextAction(const std::vector<FunctionSpec>& functions) {
    Action action{ActionKind::kCall, 0, {}, 0};
    switch (Below(16)) {
      case 0:
      case 1: action.kind = ActionKind::kStep; break;
      case 2:
      case 3: action.kind = ActionKind::kDrop; break;
      case 4: action.kind = ActionKind::kRewrite; break;
      case 5: action.kind = OneIn(3) ? ActionKind::kRestream : ActionKind::kDrop; break;
      default: break;
    }
    action.function = Below(functions.size());
    action.keep = OneIn(3) ? Below(16) : 0;
    for (uint32_t i = 0; i < 5; ++i) action.picks.push_back(Below(1000));
    return action;
  }

 private:
  void AddOp(FunctionSpec* spec, std::vector<int>* readable, int* next) {
    OpSpec op{OpSpecKind::kFill};
    op.immediate = Below(1000);
    if (!readable->empty()) {
      static constexpr OpSpecKind kKinds[] = {OpSpecKind::kAdd,  OpSpecKind::kAdd,
                                              OpSpecKind::kAdd,  OpSpecKind::kFill,
                                              OpSpecKind::kIncrement, OpSpecKind::kDrop,
                                              OpSpecKind::kFork};
      op.kind = kKinds[Below(7)];
      op.a = (*readable)[Below(readable->size())];
      op.b = (*readable)[Below(readable->size())];
    }
    if (op.kind == OpSpecKind::kDrop) {
      std::vector<int> rest;
      for (int r : *readable) {
        if (r != op.a) rest.push_back(r);
      }
      *readable = rest;
    } else if (op.kind != OpSpecKind::kIncrement) {
      readable->push_back((*next)++);
    }
    spec->ops.push_back(op);
  }

  std::mt19937 random_;
};

const char* Letter(ParamKind kind) {
  switch (kind) {
    case ParamKind::kStatic: return "s";
    case ParamKind::kManaged: return "m";
    case ParamKind::kAny: return "f";
    case ParamKind::kInteger: return "i";
  }
  return "?";
}

std::string OpText(const OpSpec& op) {
  switch (op.kind) {
    case OpSpecKind::kAdd: return absl::StrCat("add ", op.a, " ", op.b);
    case OpSpecKind::kFill: return absl::StrCat("fill ", op.immediate);
    case OpSpecKind::kIncrement: return absl::StrCat("increment ", op.a, " by ", op.immediate);
    case OpSpecKind::kDrop: return absl::StrCat("drop ", op.a);
    case OpSpecKind::kFork: return absl::StrCat("add on a fork ", op.a, " ", op.b);
  }
  return "?";
}

const char* ActionName(ActionKind kind) {
  switch (kind) {
    case ActionKind::kCall: return "call";
    case ActionKind::kDrop: return "drop";
    case ActionKind::kStep: return "step";
    case ActionKind::kRewrite: return "rewrite";
    case ActionKind::kRestream: return "other stream";
  }
  return "?";
}

}  // namespace

Program MakeProgram(uint32_t seed, uint32_t actions) {
  Drawer drawer(seed);
  Program program;
  program.seed = seed;
  static constexpr uint32_t kElements[] = {1, 30, 128, 700};
  program.elements = kElements[drawer.Below(4)];
  program.restless = drawer.OneIn(2);
  program.patches_all = drawer.OneIn(2);
  for (uint32_t n = 2 + drawer.Below(4); n > 0; --n) {
    program.functions.push_back(drawer.Function());
  }
  // Loops: a short sequence of actions that comes again, as a caller's does, so that paths are
  // replayed and not only recorded.
  while (program.actions.size() < actions) {
    std::vector<Action> loop;
    for (uint32_t n = 1 + drawer.Below(8); n > 0; --n) {
      loop.push_back(drawer.NextAction(program.functions));
    }
    for (uint32_t rounds = 1 + drawer.Below(6); rounds > 0; --rounds) {
      if (!drawer.OneIn(4)) program.actions.push_back(Action{ActionKind::kStep, 0, {}, 0});
      program.actions.insert(program.actions.end(), loop.begin(), loop.end());
    }
  }
  return program;
}

std::string ToString(const Program& program) {
  std::string text = absl::StrCat("seed ", program.seed, ", ", program.elements, " elements",
                                  program.restless ? ", restless" : "",
                                  program.patches_all ? ", patches all" : "", "\n");
  for (size_t f = 0; f < program.functions.size(); ++f) {
    const FunctionSpec& spec = program.functions[f];
    absl::StrAppend(&text, "function ", f, ": inputs");
    for (ParamKind kind : spec.params) absl::StrAppend(&text, " ", Letter(kind));
    for (const OpSpec& op : spec.ops) absl::StrAppend(&text, "; ", OpText(op));
    static constexpr const char* kMovingNames[] = {"patch", "copy", "eager"};
    absl::StrAppend(&text, "; outputs ", absl::StrJoin(spec.outputs, " "), "; kept ",
                    absl::StrJoin(spec.kept, " "), "; moving: ",
                    kMovingNames[static_cast<int>(spec.moving)], "\n");
  }
  for (const Action& action : program.actions) {
    absl::StrAppend(&text, ActionName(action.kind));
    if (action.kind == ActionKind::kCall) {
      absl::StrAppend(&text, " ", action.function, " keep ", action.keep);
    }
    if (!action.picks.empty()) absl::StrAppend(&text, " picks ", absl::StrJoin(action.picks, " "));
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace graphtree::simulation
