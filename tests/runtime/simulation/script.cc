// Draws scripts from a seed.
#include "tests/runtime/simulation/script.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "runtime/slots/element.h"

namespace graphtree::runtime_simulation {
namespace {

constexpr int64_t kMostRows = 26;

class Drawer {
 public:
  explicit Drawer(uint32_t seed) : random_(seed) {}

  uint32_t Below(uint32_t end) { return random_() % end; }
  bool OneIn(uint32_t count) { return Below(count) == 0; }
  template <typename T>
  T Of(std::initializer_list<T> choices) {
    return choices.begin()[Below(choices.size())];
  }

  ProgramSpec Program() {
    ProgramSpec spec;
    spec.lane = Of<uint32_t>({0, 0, 1});
    spec.rules = Rules();
    for (uint32_t slots = OneIn(12) ? 0 : 1 + Below(3); slots > 0; --slots) {
      spec.slots.push_back(Slot(spec.slots.size()));
    }
    for (uint32_t dep = 0; dep < kAllDeps; ++dep) {
      if (OneIn(3)) spec.deps.push_back(dep);
    }
    for (uint32_t slot = 0; slot < spec.slots.size(); ++slot) {
      if (!OneIn(4)) spec.ops.push_back({OpKind::kShow, slot});
    }
    for (uint32_t ops = 1 + Below(4); ops > 0; --ops) {
      spec.ops.push_back({Of({OpKind::kShow, OpKind::kPattern, OpKind::kDep, OpKind::kDep,
                              OpKind::kLog, OpKind::kLog, OpKind::kSum, OpKind::kBreak,
                              OpKind::kScratch, OpKind::kScratch, OpKind::kPad, OpKind::kPad,
                              OpKind::kPart, OpKind::kHog}),
                          Below(64)});
      // No draw of its own: half of what is shown is returned instead.
      Op& op = spec.ops.back();
      if (op.kind == OpKind::kShow && op.at >= 32) op.kind = OpKind::kReturn;
    }
    spec.prepares = OneIn(3);
    spec.tells_when_free = OneIn(2);
    spec.says_when_free = OneIn(2);
    for (uint32_t i = 0; i < spec.outputs(); ++i) {
      if (OneIn(4)) spec.kept.push_back(i);
    }
    for (uint32_t shapes = 2 + Below(4); shapes > 0; --shapes) {
      spec.shapes.push_back(Shape(spec.rules));
    }
    return spec;
  }

  Action NextAction(const Script& script) {
    Action action = {Of({ActionKind::kShapes, ActionKind::kExclude, ActionKind::kRecord,
                         ActionKind::kPair, ActionKind::kPair, ActionKind::kVote, ActionKind::kMove,
                         ActionKind::kTouch, ActionKind::kRewrite, ActionKind::kDrop,
                         ActionKind::kWrong, ActionKind::kPrepare, ActionKind::kTake,
                         ActionKind::kStep, ActionKind::kStep,
                         ActionKind::kStep, ActionKind::kStep, ActionKind::kStep,
                         ActionKind::kStep, ActionKind::kStep, ActionKind::kStep,
                         ActionKind::kStep, ActionKind::kStep})};
    // Takes no draw, so that other scripts stay as they are.
    const bool commits = script.programs[0].needs_commit;
    if (commits && action.kind == ActionKind::kRewrite) action.kind = ActionKind::kCommit;
    if (OneIn(40)) action.kind = Of({ActionKind::kAdd, ActionKind::kRemove, ActionKind::kCapture});
    return Filled(action, script);
  }
  // What was prepared is often wanted at once, before anybody has waited for it.
  bool IsWantedNow(const Action& last) { return last.kind == ActionKind::kPrepare && !OneIn(3); }
  Action TakeOf(const Action& prepared, const Script& script) {
    Action action = Filled({ActionKind::kTake}, script);
    action.program = prepared.program;
    action.steps[0] = Step(script, prepared.program);
    return action;
  }
  Action Filled(Action action, const Script& script) {
    // Programs are used for a while each, so that their shapes are hit.
    if (OneIn(8)) favorite_ = Below(script.programs.size());
    action.program = OneIn(3) ? Below(script.programs.size()) : favorite_;
    action.pick = random_();
    const bool is_ahead =
        action.kind == ActionKind::kPrepare || action.kind == ActionKind::kTake;
    if (is_ahead) action.program = Planner(script, action.program);
    action.steps.push_back(Step(script, action.program));
    if (action.kind == ActionKind::kTake) action.steps.push_back(Step(script, Below(64)));
    if (action.kind == ActionKind::kPair || action.kind == ActionKind::kVote) {
      const bool is_vote = action.kind == ActionKind::kVote;
      action.steps.push_back(Step(script, is_vote ? action.program : Below(64)));
    }
    // Takes no draw, so that other scripts stay as they are.
    if (action.kind == ActionKind::kStep && action.pick % 8 == 3) action.kind = ActionKind::kMode;
    if (action.kind == ActionKind::kStep && action.pick % 16 == 5) action.kind = ActionKind::kPark;
    if (action.kind == ActionKind::kStep && action.pick % 16 == 13) action.kind = ActionKind::kLend;
    action.fail_at = script.has_faults && OneIn(12) ? 1 + Below(30) : 0;
    // Waking comes late among the calls of its action.
    const bool may_not_wake = action.kind == ActionKind::kPark && action.pick / 64 % 2 == 0;
    if (script.has_faults && may_not_wake) action.fail_at = 1 + action.pick / 128 % 90;
    action.look = script.is_hasty ? OneIn(16) : !OneIn(3);
    return action;
  }

 private:
  // The next program that plans; else this one.
  static uint32_t Planner(const Script& script, uint32_t program) {
    for (uint32_t i = 0; i < script.programs.size(); ++i) {
      const uint32_t next = (program + i) % script.programs.size();
      if (script.programs[next].plans) return next;
    }
    return program;
  }

  FieldRule Rule() {
    FieldRule rule = {Of({Covers::kEqual, Covers::kAtMost, Covers::kAtMost, Covers::kPowerOfTwo})};
    if (rule.covers == Covers::kEqual) return rule;
    if (OneIn(4)) rule.most_ratio = 1.0 + Below(9) / 4.0;
    if (OneIn(6)) rule.most_extra = static_cast<int32_t>(Below(12));
    return rule;
  }
  KeyRules Rules() {
    KeyRules rules;
    if (OneIn(3)) rules.tokens = Rule();
    for (FieldRule* rule : {&rules.kind, &rules.requests, &rules.query_length, &rules.context,
                            &rules.adaptors, &rules.microbatches, &rules.speculation}) {
      if (OneIn(6)) *rule = Rule();
    }
    return rules;
  }

  SlotSpec Slot(size_t number) {
    SlotSpec slot;
    slot.name = absl::StrCat("slot", number);
    slot.type = static_cast<DType>(Below(8));
    const uint32_t axes = Of<uint32_t>({1, 1, 1, 2, 2, 3, 0});
    slot.axis = axes == 0 ? 0 : Below(axes);
    for (uint32_t i = 0; i < axes; ++i) {
      slot.sizes.push_back(i == slot.axis ? kMostRows : 1 + Below(3));
    }
    if (axes > 0 && !OneIn(6)) slot.rows = OneIn(4) ? KeyField::kRequests : KeyField::kTokens;
    if (!slot.rows.has_value()) slot.axis = 0;
    if (slot.rows.has_value() && OneIn(4)) slot.extra_rows = 1;
    slot.pad = static_cast<PadRule>(Below(5));
    slot.pad_value = slot.type == DType::kBool ? Below(2) : Of({0.0, 1.0, 7.0});
    slot.may_be_left_out = OneIn(3);
    return slot;
  }

  int32_t Number(KeyField field) {
    if (field == KeyField::kTokens) return Of({1, 2, 4, 8, 8, 12, 16, 24, 25});
    if (field == KeyField::kRequests) return OneIn(2) ? 0 : Of({1, 2, 4, 8});
    return OneIn(8) ? Of({1, 2, 4}) : 0;
  }
  Key Shape(const KeyRules& rules) {
    Key key;
    for (size_t i = 0; i < kKeyNumberCount; ++i) {
      const auto field = static_cast<KeyField>(i);
      NumberOf(key, field) = OneIn(field <= KeyField::kRequests ? 60 : 10) ? kAny : Number(field);
    }
    if (OneIn(10)) {
      key.any_extra = true;
    } else if (OneIn(10)) {
      key.extra = 1 + Below(2);
    }
    return key;
  }
  // One that the shape covers, or nearly.
  Key CallNear(const Key& shape) {
    Key call;
    for (size_t i = 0; i < kKeyNumberCount; ++i) {
      const auto field = static_cast<KeyField>(i);
      int32_t number = NumberOf(shape, field);
      if (number == kAny) number = Number(field);
      if (number > 0 && field <= KeyField::kContext && OneIn(2)) number -= Below(number + 1) / 2;
      if (OneIn(25)) number = Number(field) + Below(2);
      NumberOf(call, field) = number;
    }
    call.extra = shape.any_extra ? Below(3) : shape.extra;
    if (OneIn(30)) call.extra = Below(3);
    return call;
  }

  Staging StagingOf(const SlotSpec& slot) {
    Staging staging;
    staging.kind = Of({SourceKind::kHost, SourceKind::kHost, SourceKind::kHost,
                       SourceKind::kDevice, SourceKind::kOutput, SourceKind::kValue});
    if (slot.may_be_left_out && OneIn(2)) staging.kind = SourceKind::kNothing;
    do {
      staging.type = OneIn(2) ? slot.type : static_cast<DType>(Below(8));
    } while (!unpack::Converts(static_cast<uint8_t>(staging.type),
                               static_cast<uint8_t>(slot.type)));
    staging.fewer = OneIn(4) ? Below(30) : 0;
    staging.gap = OneIn(5) ? Below(4) : 0;
    staging.seed = random_();
    return staging;
  }

  StepSpec Step(const Script& script, uint32_t program) {
    StepSpec step;
    step.program = program % script.programs.size();
    const ProgramSpec& spec = script.programs[step.program];
    step.call = CallNear(spec.shapes[Below(spec.shapes.size())]);
    for (const SlotSpec& slot : spec.slots) step.staging.push_back(StagingOf(slot));
    step.stream = OneIn(3) ? Below(kStreams) : 0;
    step.modes = OneIn(10) ? Below(4) : 3;
    step.is_voted_down = OneIn(25);
    step.continues = OneIn(6);
    step.is_canceled = OneIn(25);
    step.body_fails = OneIn(25);
    step.moves_dep = OneIn(15);
    step.excludes = OneIn(30);
    step.mistake = OneIn(6) ? static_cast<Mistake>(Below(kMistakes)) : Mistake::kNone;
    step.holds = OneIn(3);
    step.fills = OneIn(2) ? Below(16) : 0;
    step.rewrites = OneIn(4);
    return step;
  }

  std::mt19937 random_;
  uint32_t favorite_ = 0;
};

// A step with such a slot takes a segment of the staging ring for itself.
SlotSpec Wide() {
  return {.name = "wide", .type = DType::kI32, .sizes = {kMostRows, 800}, .may_be_left_out = true};
}

// What breaks cannot be recorded without being launched.
void NeedCommits(ProgramSpec* program) {
  program->needs_commit = true;
  for (Op& op : program->ops) {
    if (op.kind == OpKind::kBreak) op.kind = OpKind::kPattern;
    if (op.kind == OpKind::kPart) op.kind = OpKind::kShow;
  }
}

// Ahead wants all outputs to be kept, and a lane where nobody else is.
void Plan(ProgramSpec* program) {
  program->plans = true;
  program->lane = kLanes - 1;
  program->kept.resize(program->outputs());
  std::iota(program->kept.begin(), program->kept.end(), 0);
}

}  // namespace

size_t ProgramSpec::outputs() const {
  return (prepares ? 1 : 0) + std::count_if(ops.begin(), ops.end(), [](const Op& op) {
           return op.kind != OpKind::kLog && op.kind != OpKind::kSum && op.kind != OpKind::kHog;
         });
}

// What is special about a script takes no draw, so that kinds of scripts come evenly.
Script MakeScript(uint32_t seed, uint32_t actions) {
  Script script;
  script.seed = seed;
  script.is_small = seed % 3 == 0;
  script.has_faults = seed % 4 == 0;
  script.is_checked = seed % 10 == 7;
  script.records_while_serving = seed % 5 != 0;
  script.is_hasty = seed % 7 == 2;
  Drawer drawer(seed);
  for (uint32_t programs = 2 + drawer.Below(kMostPrograms - 1); programs > 0; --programs) {
    script.programs.push_back(drawer.Program());
    if (script.is_hasty) script.programs.back().slots.push_back(Wide());
  }
  if (seed % 6 == 1) NeedCommits(&script.programs[0]);
  if (seed % 2 == 0) Plan(&script.programs.back());
  for (uint32_t i = 0; i < script.programs.size(); ++i) {
    for (const ActionKind kind : {ActionKind::kAdd, ActionKind::kShapes, ActionKind::kRecord}) {
      if (kind == ActionKind::kRecord && drawer.OneIn(2)) continue;
      Action action = drawer.Filled({kind}, script);
      action.program = i;
      action.pick |= 0xff;  // of shapes: all
      script.actions.push_back(action);
    }
  }
  while (script.actions.size() < actions) {
    Action& last = script.actions.back();
    if (drawer.IsWantedNow(last)) {
      last.look = false;
      script.actions.push_back(drawer.TakeOf(last, script));
    } else {
      script.actions.push_back(drawer.NextAction(script));
    }
  }
  return script;
}

}  // namespace graphtree::runtime_simulation
