// Draws programs from a seed.
#include "tests/simulation/program.h"

#include <algorithm>
#include <random>

namespace graphtree::simulation {
namespace {

constexpr uint32_t kPlaces = 2;  // of the shelf

class Drawer {
 public:
  // `checked`: there are secrets and dead memory. `foreign`: there is foreign code. `breaks`: there
  // are parts that run eagerly. `stores`: bodies keep tensors for themselves.
  Drawer(uint32_t seed, bool checked, bool foreign, bool breaks, bool stores)
      : random_(seed), checked_(checked), foreign_(foreign), breaks_(breaks), stores_(stores) {}

  uint32_t Below(uint32_t n) { return random_() % n; }
  bool OneIn(uint32_t n) { return Below(n) == 0; }

  FunctionSpec Function() {
    taken_.clear();
    FunctionSpec spec;
    const uint32_t params = 1 + Below(4);
    for (uint32_t i = 0; i < params; ++i) {
      static constexpr ParamKind kKinds[] = {ParamKind::kStatic,  ParamKind::kManaged,
                                             ParamKind::kAny,     ParamKind::kAny,
                                             ParamKind::kAny,     ParamKind::kAny,
                                             ParamKind::kInteger, ParamKind::kOpaque};
      spec.params.push_back(kKinds[Below(8)]);
    }
    std::vector<int> readable;
    for (uint32_t i = 0; i < params; ++i) {
      if (spec.params[i] == ParamKind::kInteger || spec.params[i] == ParamKind::kOpaque) continue;
      readable.push_back(static_cast<int>(i));
      if (OneIn(5)) spec.aligned.push_back(i);
    }
    int next = static_cast<int>(params);
    for (uint32_t ops = Below(7); ops > 0; --ops) {
      if (stores_ && OneIn(3)) {
        AddShelfOp(&spec, &readable, &next);
      } else {
        AddOp(&spec, &readable, &next);
      }
    }
    for (uint32_t outputs = Below(4); outputs > 0; --outputs) {
      spec.outputs.push_back(OneIn(6) || readable.empty() ? kNoRegister
                                                            : readable[Below(readable.size())]);
    }
    for (uint32_t i = 0; i < spec.outputs.size(); ++i) {
      if (spec.outputs[i] < static_cast<int>(params)) continue;
      if (OneIn(4) && !IsTaken(spec.outputs[i])) spec.kept.push_back(i);
    }
    static constexpr Moving kMovings[] = {Moving::kPatch, Moving::kPatch, Moving::kPatch,
                                          Moving::kCopy, Moving::kEager};
    spec.moving = kMovings[Below(5)];
    if (OneIn(6)) spec.asks = OneIn(3) ? ~uint32_t{0} : Below(1 << 12);
    return spec;
  }

  Action NextAction(const std::vector<FunctionSpec>& functions) {
    Action action{ActionKind::kCall, 0, {}, 0};
    switch (Below(18)) {
      case 0:
      case 1: action.kind = ActionKind::kStep; break;
      case 2:
      case 3: action.kind = ActionKind::kDrop; break;
      case 4: action.kind = ActionKind::kRewrite; break;
      case 5: action.kind = OneIn(3) ? ActionKind::kRestream : ActionKind::kDrop; break;
      case 6: action.kind = OneIn(3) ? ActionKind::kRenew : ActionKind::kDrop; break;
      case 7:
        if (stores_) {
          action.kind = ActionKind::kUnstore;
        } else if (checked_) {
          action.kind = ActionKind::kKill;
        }
        break;
      case 8:
        if (foreign_) action.kind = OneIn(4) ? ActionKind::kClean : ActionKind::kHoard;
        break;
      default: break;
    }
    action.function = Below(functions.size());
    action.keep = OneIn(3) ? Below(16) : 0;
    action.fail_at = OneIn(20) ? 1 + Below(24) : 0;
    action.look = !OneIn(4);
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
                                              OpSpecKind::kFork, OpSpecKind::kForeign,
                                              OpSpecKind::kLibrary};
      op.kind = kKinds[Below(foreign_ ? 9 : 7)];
      if (checked_ && op.kind == OpSpecKind::kIncrement && OneIn(2)) op.kind = OpSpecKind::kSecret;
      if (breaks_ && op.kind == OpSpecKind::kAdd && OneIn(3)) op.kind = OpSpecKind::kBreak;
      op.a = (*readable)[Below(readable->size())];
      op.b = (*readable)[Below(readable->size())];
    }
    // What was taken may be an input as well, and then it is declared what happens to it.
    const bool tells = op.kind == OpSpecKind::kSecret && IsTaken(op.a);
    if (tells) op.kind = OpSpecKind::kIncrement;
    if (op.kind == OpSpecKind::kDrop) {
      std::vector<int> rest;
      for (int r : *readable) {
        if (r != op.a) rest.push_back(r);
      }
      *readable = rest;
    } else if (op.kind != OpSpecKind::kIncrement && op.kind != OpSpecKind::kSecret) {
      readable->push_back((*next)++);
    }
    spec->ops.push_back(op);
  }

  void AddShelfOp(FunctionSpec* spec, std::vector<int>* readable, int* next) {
    static constexpr OpSpecKind kKinds[] = {OpSpecKind::kStore, OpSpecKind::kStore,
                                            OpSpecKind::kStore, OpSpecKind::kLoad,
                                            OpSpecKind::kLoad,  OpSpecKind::kForget};
    const bool can_store = !readable->empty();
    OpSpec op{kKinds[can_store ? Below(6) : 3 + Below(3)]};
    op.a = Below(kPlaces);
    op.b = Below(kPlaces);
    op.immediate = Below(1000);
    if (op.kind == OpSpecKind::kStore) op.a = (*readable)[Below(readable->size())];
    if (op.kind == OpSpecKind::kLoad) {
      op.b = OneIn(4) ? 0 : 1;
      taken_.push_back(*next);
      readable->push_back((*next)++);
    }
    spec->ops.push_back(op);
  }
  // From the shelf, in the function that is drawn now.
  bool IsTaken(int number) const {
    return std::find(taken_.begin(), taken_.end(), number) != taken_.end();
  }

  std::mt19937 random_;
  const bool checked_;
  const bool foreign_;
  const bool breaks_;
  const bool stores_;
  std::vector<int> taken_;
};

// A caller that clings to its arguments in a loop's last round only: what died in the calls that
// were recorded is alive when they are to be replayed. Which seeds do takes no draw, so that other
// seeds' programs do not depend on it.
bool ClingsIn(uint32_t seed) { return seed % 8 == 0; }
constexpr uint32_t kRoundsToCling = 4;
constexpr uint32_t kStoresIn = 7;  // seeds

}  // namespace

bool FunctionSpec::Has(OpSpecKind kind) const {
  return std::any_of(ops.begin(), ops.end(), [kind](const OpSpec& op) { return op.kind == kind; });
}

bool Program::Has(OpSpecKind kind) const {
  return std::any_of(functions.begin(), functions.end(),
                     [kind](const FunctionSpec& spec) { return spec.Has(kind); });
}

bool FunctionSpec::Writes(uint32_t param) const {
  return std::any_of(ops.begin(), ops.end(), [param](const OpSpec& op) {
    const bool writes = op.kind == OpSpecKind::kIncrement || op.kind == OpSpecKind::kSecret;
    return writes && op.a == static_cast<int>(param);
  });
}

bool FunctionSpec::UsesBehind(size_t op, int number) const {
  for (size_t i = op + 1; i < ops.size(); ++i) {
    switch (ops[i].kind) {
      case OpSpecKind::kFill:
      case OpSpecKind::kDrop:
      case OpSpecKind::kStore:
      case OpSpecKind::kLoad:
      case OpSpecKind::kForget: continue;
      case OpSpecKind::kIncrement:
      case OpSpecKind::kSecret:
        if (ops[i].a == number) return true;
        continue;
      default:
        if (ops[i].a == number || ops[i].b == number) return true;
    }
  }
  return std::find(outputs.begin(), outputs.end(), number) != outputs.end();
}

Program MakeProgram(uint32_t seed, uint32_t actions, bool may_store) {
  Program program;
  program.seed = seed;
  program.checked = seed % 4 == 3;
  const bool clings = ClingsIn(seed);
  const bool stores = may_store && seed % kStoresIn == 0;
  Drawer drawer(seed, program.checked, seed % 5 < 2, seed % 5 == 4, stores);
  static constexpr uint32_t kElements[] = {1, 30, 128, 700};
  program.elements = kElements[drawer.Below(4)];
  program.restless = drawer.OneIn(2);
  program.patches_all = !drawer.OneIn(3);
  program.watched = drawer.OneIn(4);
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
    // In half of them one argument of each call comes from two places in turn, as of two buffers.
    const bool alternates = drawer.OneIn(2);
    const uint32_t argument = drawer.Below(4);
    uint32_t rounds = 1 + drawer.Below(alternates ? 10 : 6);
    if (clings) rounds = std::max(rounds, kRoundsToCling);
    for (; rounds > 0; --rounds) {
      if (clings) {
        for (Action& action : loop) action.keep = rounds == 1 ? ~uint32_t{0} : 0;
      }
      if (!drawer.OneIn(4)) program.actions.push_back(Action{ActionKind::kStep, 0, {}, 0});
      program.actions.insert(program.actions.end(), loop.begin(), loop.end());
      for (Action& action : loop) action.picks[argument] ^= alternates ? 1 : 0;
    }
  }
  return program;
}

}  // namespace graphtree::simulation
