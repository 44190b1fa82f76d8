// Gathers the facts, and notes what follows from the decision.
#include "graphs/run/miss.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "graphs/match/match.h"

namespace graphtree {
namespace {

// Within one step a function of one shape is called for each of the layers that are alike.
constexpr uint64_t kUsualMissesInStep = 256;
// After so many eager runs because an input moved, the function is recorded once more.
constexpr uint32_t kEagerRunsUntilRetry = 64;

bool IsPinned(InputRole role) { return role == InputRole::kStatic || role == InputRole::kManaged; }

RoleObstacle ObstacleIn(const std::vector<RoleChoice>& roles) {
  RoleObstacle obstacle = RoleObstacle::kNone;
  for (const RoleChoice& choice : roles) {
    if (choice.obstacle == RoleObstacle::kWritten) return choice.obstacle;
    if (choice.obstacle != RoleObstacle::kNone) obstacle = choice.obstacle;
  }
  return obstacle;
}

template <typename Map>
typename Map::mapped_type FoundOr(const Map& map, uint32_t variant) {
  const auto found = map.find(variant);
  return found == map.end() ? typename Map::mapped_type() : found->second;
}

// Warm-ups and recordings make the path longer with every call.
bool PathGrows(PathState state) {
  return state == PathState::kRecording || state == PathState::kWarmUp;
}

}  // namespace

RoleChoice RoleOf(const Ground& ground, const Call& call, size_t input, bool moved) {
  const Value& value = call.inputs[input];
  const Variant& variant = *call.variant;
  InputFacts facts;
  facts.role = ground.memory->RoleOf(value, call.function.IsStatic(input));
  if (!value.is_tensor()) return {facts.role};
  facts.bytes = value.layout()->extent_bytes();
  facts.known = variant.warm;
  facts.written = variant.Mutates(input);
  facts.use = variant.uses[input];
  // An input that a library takes is found by recording twice, which would run eager parts twice:
  // so with parts it counts as hidden.
  if (variant.breaks() && facts.use.opaque) facts.use.hidden = true;
  facts.aligned = value.word() % call.function.AlignmentOf(input) == 0;
  facts.moved = moved;
  return ChooseRole(facts, {call.function.options.moving, ground.options.patch_bytes});
}

Miss Misses::Look(Call& call, SizeVerdict size, bool is_again) {
  Miss miss;
  MissFacts& facts = miss.facts;
  facts.size = size;
  facts.enabled = ground_.options.enabled;
  facts.excluded = call.function.options.exclude;
  facts.is_again = is_again;
  if (size != SizeVerdict::kMayBeRecorded) return miss;
  const Variant& variant = *call.variant;
  facts.path = books_.path().state();
  facts.path_is_held = !books_.path().ForgetDead().empty();
  facts.is_long_step = !is_again && IsLongStep(variant);
  facts.warm = variant.warm;
  facts.asks_for_ever = !variant.warm_up_asked_last.empty();
  facts.works_elsewhere = !variant.works_elsewhere.empty();
  facts.pause = variant.pause;
  facts.writes_overlap = WrittenInputsOverlap(call.inputs, variant.mutates);
  const bool may_record = facts.enabled && !facts.excluded;
  if (may_record) miss.place = functions_.keeper().PlaceFor(call.variant);
  facts.has_place = !may_record || miss.place.is_there;
  LookAtInputs(call, &miss);
  LookAtNode(call, &miss);
  return miss;
}

void Misses::LookAtInputs(const Call& call, Miss* miss) {
  const Node& place = *books_.path().current();
  const MovedInputs seen = FoundOr(place.moved, call.variant->id);
  miss->moved = seen.moved;
  const auto siblings = place.by_variant.find(call.variant->id);
  if (siblings != place.by_variant.end() && !miss->facts.is_again) {
    miss->moved.resize(call.inputs.size(), false);
    for (const Node* sibling : siblings->second) {
      for (size_t i = 0; i < call.inputs.size(); ++i) {
        if (!IsPinned(sibling->roles[i])) continue;
        if (sibling->inputs.rows()[i].word != call.inputs[i].word()) miss->moved[i] = true;
      }
    }
  }
  const auto choose = [&] {
    miss->roles.clear();
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      miss->roles.push_back(RoleOf(ground_, call, i, i < miss->moved.size() && miss->moved[i]));
    }
    miss->facts.obstacle = ObstacleIn(miss->roles);
  };
  choose();
  if (miss->facts.obstacle != RoleObstacle::kMoves) return;
  miss->tries_pins_again = (seen.eager_runs + 1) % kEagerRunsUntilRetry == 0;
  if (!miss->tries_pins_again) return;
  miss->moved.assign(call.inputs.size(), false);
  choose();
}

void Misses::LookAtNode(Call& call, Miss* miss) {
  MissFacts& facts = miss->facts;
  facts.rerecord_limit = ground_.options.rerecord_limit;
  const Rerecords seen = FoundOr(books_.path().current()->unexpected, call.variant->id);
  const RerecordVerdict verdict =
      JudgeRerecords(seen, facts.rerecord_limit, ground_.options.budget.retry_after);
  facts.is_rerecorded_too_often = verdict.is_too_often;
  facts.rerecords = verdict.after.count;
  miss->rerecords = verdict.after;
  if (facts.is_again || !matcher_.CanReplay()) return;
  miss->match = matcher_.FindByCall(call);
  facts.matches = miss->match != nullptr;
  if (!facts.matches) facts.sibling = SiblingOf(call, *miss);
}

std::optional<Sibling> Misses::SiblingOf(const Call& call, const Miss& miss) {
  const Node& place = *books_.path().current();
  const auto siblings = place.by_variant.find(call.variant->id);
  if (siblings == place.by_variant.end()) return std::nullopt;
  const Node& last = *siblings->second.back();
  Sibling sibling{matcher_.WhyNot(last, call), false};
  sibling.is_expected = sibling.against == Reason::kWorkspaceMoved;
  if (sibling.against != Reason::kStaticMoved) return sibling;
  // If the next recording takes the input at any address, this mismatch does not come again.
  const size_t moved = FirstMismatch(last.inputs.rows(), call.inputs);
  sibling.is_expected = miss.roles[moved].role != InputRole::kStatic;
  return sibling;
}

// Whether the caller seems never to begin a step while it holds outputs: then the path goes on for
// ever, and nothing on it is replayed.
bool Misses::IsLongStep(const Variant& variant) {
  if (!PathGrows(books_.path().state()) || books_.path().ForgetDead().empty()) return false;
  const uint64_t misses = variant.step == books_.step() ? variant.misses_in_step : 0;
  return misses + 1 > kUsualMissesInStep;
}

// Notes consequences only of rules that the decision has come to.
void Misses::Note(const Miss& miss, const Decision& decision, Call& call) {
  if (call.variant == nullptr) return;
  Variant& variant = *call.variant;
  if (!miss.facts.is_again) NoteStep(miss, call);
  if (decision.rule == Rule::kPaused) --variant.pause;
  Node& here = *books_.path().current();
  if (decision.rule >= Rule::kRerecordedTooOften && here.unexpected.contains(variant.id)) {
    here.unexpected[variant.id] = miss.rerecords;
  }
  if (decision.rule > Rule::kNoPlace) functions_.keeper().TakePlace(&variant, miss.place);
  if (miss.facts.is_again || decision.rule <= Rule::kNewPath) return;
  NoteMoved(miss, call);
  if (decision.rule == Rule::kInputMoves || !miss.facts.sibling.has_value()) return;
  journal_.Count(call.function, miss.facts.sibling->against);
  if (!miss.facts.sibling->is_expected) ++here.unexpected[variant.id].count;
}

void Misses::NoteStep(const Miss& miss, const Call& call) {
  if (!PathGrows(miss.facts.path)) return;
  Variant& variant = *call.variant;
  if (variant.step != books_.step()) {
    variant.step = books_.step();
    variant.misses_in_step = 0;
  }
  if (miss.facts.path_is_held) ++variant.misses_in_step;
  if (!miss.facts.is_long_step) return;
  // On a path of warm-ups the call runs eagerly, which is counted there.
  if (miss.facts.path != PathState::kWarmUp) journal_.Count(call.function, Reason::kLongStep);
  journal_.Tell(call.function, Reason::kLongStep,
                absl::StrCat("'", call.function.name, "' was not replayed in its last ",
                             variant.misses_in_step, " calls: ", ReasonSentence(Reason::kLongStep),
                             " (", books_.path().ForgetDead().size(), " are held)"));
}

void Misses::NoteMoved(const Miss& miss, const Call& call) {
  if (miss.moved.empty()) return;
  MovedInputs& seen = books_.path().current()->moved[call.variant->id];
  seen.moved = miss.moved;
  if (miss.facts.obstacle == RoleObstacle::kMoves || miss.tries_pins_again) ++seen.eager_runs;
}

}  // namespace graphtree
