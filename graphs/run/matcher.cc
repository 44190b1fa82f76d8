// Asks the cheapest questions first.
#include "graphs/run/matcher.h"

#include "graphs/run/planted_bug.h"

namespace graphtree {
namespace {

// Whether an input is at another address than at the last replay, or the last that failed.
bool AnyMoved(const Node& node, absl::Span<const Value> inputs) {
  for (const IngestOp& ingest : node.section.ingest) {
    for (size_t copy = 0; copy < ingest.inputs.size(); ++copy) {
      if (ingest.plan.source(copy) != inputs[ingest.inputs[copy]].word()) return true;
    }
  }
  return node.section.pointers.Moved(inputs);
}

// Returns an input's own role. A hit asks where it needs one: that costs less than a list of them.
auto OwnRoles(const Ground& ground, const Call& call) {
  return [&ground, &call](size_t i) {
    return ground.memory->RoleOf(call.inputs[i], call.function.IsStatic(i));
  };
}

}  // namespace

Node* Matcher::FindHit(Call& call) {
  Node* const last = path_.current()->last_child;
  if (last == nullptr || !CanReplay()) return nullptr;
  if (!Matches(*last, call)) return FindByCall(call);
  // A recording that pins these addresses is better: it patches nothing.
  Node* const exact = last->is_general ? FindExactByCall(call) : nullptr;
  return exact != nullptr ? exact : last;
}

Node* Matcher::FindByRoles(Call& call, absl::Span<const InputRole> roles) {
  return FindByHash(call, [roles](size_t i) { return roles[i]; });
}

Node* Matcher::FindByCall(Call& call) { return FindByHash(call, OwnRoles(ground_, call)); }

Node* Matcher::FindExactByCall(Call& call) { return FindExact(call, OwnRoles(ground_, call)); }

bool Matcher::Matches(const Node& node, Call& call) {
  if (node.variant->function != &call.function || node.roles.size() != call.inputs.size()) {
    return false;
  }
  const Comparison comparison = node.inputs.Compare(call.inputs);
  if (!comparison.match) return false;
  call.brings_storage = comparison.any_storage;
  if (comparison.any_storage && !IsPlanted(PlantedBug::kLaunchesStale)) {
    const StorageOwner* const own = ground_.memory->owner();
    for (const Value& input : call.inputs) {
      const Storage* storage = input.storage();
      if (storage == nullptr) continue;
      if (!IsPlanted(PlantedBug::kNoStaleChecks) && storage->stale()) return false;
      if (storage->IsElsewhere(ground_.home.place().id)) return false;
      if (storage->owner() == own) continue;
      call.brings_others = true;
      if (storage->owner()->is_parked()) return false;
    }
  }
  for (const HeldOpaque& kept : node.variant->opaque) {
    if (IsPlanted(PlantedBug::kMixesObjects)) continue;
    if (call.inputs[kept.input].object() != kept.value.object()) return false;
  }
  if (!node.workspaces.empty() &&
      !ground_.workspaces.AreCurrent(node.workspaces, &node.workspaces_seen)) {
    return false;
  }
  const bool writes_to_others = !node.written.empty() || !node.written_beside.empty();
  if (writes_to_others && MovedOntoWritten(node, call.inputs)) return false;
  if (!node.inputs.anywhere().empty() && ComesFromElsewhere(node, call.inputs)) return false;
  if (IsPlanted(PlantedBug::kSkipsLiveness)) return true;
  return path_.Fits(node, call.inputs) == Path::Fit::kFits;
}

// Whether a caller's input lies on another device. Only inputs that are taken at any address are
// asked: a pinned address was recorded, and lies on this device.
bool Matcher::ComesFromElsewhere(const Node& node, absl::Span<const Value> inputs) {
  ground_.home.BeginQuestions();
  for (uint32_t i : node.inputs.anywhere()) {
    if (inputs[i].storage() != nullptr || ground_.home.IsKnown(inputs[i].word())) continue;
    if (!ground_.home.OtherHomeOf(inputs[i].word()).empty()) return true;
  }
  return false;
}

// Looks the recording up by hashes. No heap.
template <typename RoleOf>
Node* Matcher::FindByHash(Call& call, RoleOf role_of) {
  if (Node* exact = FindExact(call, role_of)) return exact;
  GeneralNodes& general = path_.current()->general;
  if (general.empty()) return nullptr;
  return general.Find(
      call.function.id, call.inputs, role_of, [&] { return path_.HashOfAlive(); },
      [&](const Node& node) { return Matches(node, call); });
}

template <typename RoleOf>
Node* Matcher::FindExact(Call& call, RoleOf role_of) {
  Node* parent = path_.current();
  PinHash hash;
  for (size_t i = 0; i < call.inputs.size(); ++i) hash.Add(role_of(i), call.inputs[i]);
  const auto found = parent->by_call.find(hash.value() ^ call.function.id);
  if (found == parent->by_call.end()) return nullptr;
  return found->second.Find([&] { return path_.HashOfAlive(); },
                            [&](const Node& node) { return Matches(node, call); });
}

// Whether an input has moved so that it shares bytes with one that the recording writes to. Such a
// call does not match: the recording copies an input before it writes to another one, and its ops
// take the two for different memory. Inputs at their recorded addresses are apart, or there would
// be no recording. An eager part may write beside them (`written_beside`), so this is asked first.
bool Matcher::MovedOntoWritten(const Node& node, absl::Span<const Value> inputs) {
  for (size_t i = 0; i < inputs.size() && !node.written_beside.empty(); ++i) {
    if (node.roles[i] != InputRole::kCopied) continue;
    if (node.written_beside.Overlaps(RangeOf(inputs[i]))) return true;
  }
  if (!AnyMoved(node, inputs)) return false;
  for (uint32_t written : node.written) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i == written || !inputs[i].is_tensor()) continue;
      if (RangeOf(inputs[written]).Overlaps(RangeOf(inputs[i]))) return true;
    }
  }
  return false;
}

Reason Matcher::WhyNot(const Node& node, const Call& call) {
  if (!ground_.workspaces.AreCurrent(node.workspaces)) return Reason::kWorkspaceMoved;
  const size_t at = FirstMismatch(node.inputs.rows(), call.inputs);
  if (at < node.roles.size()) {
    if (node.roles[at] == InputRole::kPatched) return Reason::kAlignmentDiffers;
    return node.roles[at] == InputRole::kStatic ? Reason::kStaticMoved : Reason::kManagedMoved;
  }
  if (MovedOntoWritten(node, call.inputs)) return Reason::kOverlappingInputs;
  return path_.Fits(node, call.inputs) == Path::Fit::kHeldElsewhere ? Reason::kConsumerDiffers
                                                                    : Reason::kLivenessDiffers;
}

}  // namespace graphtree
