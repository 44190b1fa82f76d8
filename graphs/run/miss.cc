// Gathers the facts, the cheap ones first.
#include "graphs/run/miss.h"

#include "graphs/match/match.h"

namespace graphtree {
namespace {

// Within one step a function of one shape is called for each of the layers that are alike.
constexpr uint64_t kUsualMissesInStep = 256;
// After so many eager runs because an input moved, the function is recorded once more.
constexpr uint32_t kEagerRunsUntilRetry = 64;

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

}  // namespace

Miss Misses::Begin(Call* call) const {
  Miss miss;
  miss.shape = functions_.ShapeOf(*call);
  call->variant = miss.shape.variant;
  return miss;
}

void Misses::Look(Call& call, bool is_again, Miss* miss) const {
  miss->facts = {};
  miss->facts.is_again = is_again;
  miss->match = nullptr;
  miss->roles.chosen.clear();
  miss->moved.clear();
  miss->tries_pins_again = false;
  miss->place = {};
  miss->rerecords = {};
  LookAtFunction(call, miss);
  if (IsSettledEarly(miss->facts)) return;
  MissFacts& facts = miss->facts;
  const Variant& variant = *call.variant;
  // Who records and launches nothing has asked for just that.
  facts.pause = call.launches ? variant.pause : 0;
  facts.was_given_up = !variant.given_up_for.empty();
  miss->place = functions_.keeper().shapes().PlaceFor(variant);
  facts.has_place = miss->place.is_there;
  facts.writes_overlap = WrittenInputsOverlap(call.inputs, variant.mutates);
  LookAtInputs(call, miss);
  LookAtNode(call, miss);
}

void Misses::LookAtFunction(const Call& call, Miss* miss) const {
  MissFacts& facts = miss->facts;
  facts.size = miss->shape.size;
  if (call.variant == nullptr) return;
  facts.enabled = ground_.options.enabled;
  facts.excluded = call.function.options.exclude;
  facts.waits_for_record = call.function.options.recorded_apart && call.launches;
  facts.path = books_.path().state();
  facts.path_is_held = books_.path().CountAlive() > 0;
  const Variant& variant = *call.variant;
  facts.is_long_step = !facts.is_again && IsLongStep(variant, facts);
  facts.warm = variant.warm;
  facts.asks_for_ever = !variant.warm_up_asked_last.empty();
  facts.works_elsewhere = !variant.works_elsewhere.empty();
}

// Whether the caller seems never to begin a step while it holds outputs: then the path goes on for
// ever, and nothing on it is replayed.
bool Misses::IsLongStep(const Variant& variant, const MissFacts& facts) const {
  if (!Grows(facts.path) || !facts.path_is_held) return false;
  const uint64_t misses = variant.step == books_.step() ? variant.misses_in_step : 0;
  return misses + 1 > kUsualMissesInStep;
}

void Misses::LookAtInputs(const Call& call, Miss* miss) const {
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
  ChooseRoles(call, miss);
  if (miss->facts.obstacle != RoleObstacle::kMoves) return;
  miss->tries_pins_again = (seen.eager_runs + 1) % kEagerRunsUntilRetry == 0;
  if (!miss->tries_pins_again) return;
  miss->moved.assign(call.inputs.size(), false);
  ChooseRoles(call, miss);
}

void Misses::ChooseRoles(const Call& call, Miss* miss) const {
  CallRoles& roles = miss->roles;
  for (size_t i = roles.own.size(); i < call.inputs.size(); ++i) {
    roles.own.push_back(ground_.memory->RoleOf(call.inputs[i], call.function.IsStatic(i)));
  }
  roles.chosen.clear();
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    roles.chosen.push_back(RoleOf(call, *miss, i));
  }
  miss->facts.obstacle = ObstacleIn(roles.chosen);
}

// How a recording that is made now would take the input.
RoleChoice Misses::RoleOf(const Call& call, const Miss& miss, size_t input) const {
  const Value& value = call.inputs[input];
  const Variant& variant = *call.variant;
  InputFacts facts;
  facts.role = miss.roles.own[input];
  if (!value.is_tensor()) return {facts.role};
  facts.bytes = value.layout()->extent_bytes();
  facts.known = variant.warm;
  facts.written = variant.Mutates(input);
  facts.use = variant.uses[input];
  if (miss.shape.doubts_hidden) facts.use.hidden = false;
  // An input that a library takes is found by recording twice, which would run eager parts twice:
  // so with parts it counts as hidden.
  if (variant.breaks() && facts.use.opaque) facts.use.hidden = true;
  facts.aligned = value.word() % call.function.AlignmentOf(input) == 0;
  facts.moved = input < miss.moved.size() && miss.moved[input];
  return ChooseRole(facts, {call.function.options.moving, ground_.options.patch_bytes});
}

void Misses::LookAtNode(Call& call, Miss* miss) const {
  MissFacts& facts = miss->facts;
  facts.rerecord_limit = ground_.options.rerecord_limit;
  const Rerecords seen = FoundOr(books_.path().current()->unexpected, call.variant->id);
  const RerecordVerdict verdict =
      JudgeRerecords(seen, facts.rerecord_limit, ground_.options.budget.retry_after);
  facts.is_rerecorded_too_often = verdict.is_too_often;
  facts.rerecords = verdict.after.count;
  miss->rerecords = verdict.after;
  if (facts.is_again || !matcher_.CanReplay()) return;
  miss->match = matcher_.FindByRoles(call, miss->roles.own);
  facts.matches = miss->match != nullptr;
  if (!facts.matches) facts.sibling = SiblingOf(call, *miss);
}

std::optional<Sibling> Misses::SiblingOf(const Call& call, const Miss& miss) const {
  const Node& place = *books_.path().current();
  const auto siblings = place.by_variant.find(call.variant->id);
  if (siblings == place.by_variant.end()) return std::nullopt;
  const Node& last = *siblings->second.back();
  Sibling sibling{matcher_.WhyNot(last, call), false};
  sibling.is_expected = sibling.against == Reason::kWorkspaceMoved;
  if (sibling.against != Reason::kStaticMoved) return sibling;
  // If the next recording takes the input at any address, this mismatch does not come again.
  const size_t moved = FirstMismatch(last.inputs.rows(), call.inputs);
  sibling.is_expected = miss.roles.chosen[moved].role != InputRole::kStatic;
  return sibling;
}

}  // namespace graphtree
