// Chooses what goes when a budget is full, and takes it out of the tree.
#include "graphs/budget/keeper.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "graphs/host_bytes.h"

namespace graphtree {
namespace {

// What a recording and an instantiation cost beside the costs of their ops, in ops.
constexpr uint64_t kRecordOps = 100;
constexpr uint64_t kInstantiateOps = 40;

void Erase(std::vector<Node*>* nodes, const Node* node) {
  nodes->erase(std::remove(nodes->begin(), nodes->end(), node), nodes->end());
}

template <typename Map, typename Key>
void EraseFrom(Map* map, const Key& key, const Node* node) {
  const auto found = map->find(key);
  if (found == map->end()) return;
  Erase(&found->second, node);
  if (found->second.empty()) map->erase(found);
}

uint64_t GhostOf(const Variant& variant) {
  return variant.hash ^ ((uint64_t{variant.function->id} + 1) * 0x9e3779b97f4a7c15u);
}

}  // namespace

// Uses a list and no recursion: paths may be hundreds of levels deep.
std::vector<Node*> Keeper::AllNodes(Node* from) const {
  std::vector<Node*> nodes;
  std::vector<Node*> open = {from};
  while (!open.empty()) {
    Node* node = open.back();
    open.pop_back();
    if (node != root_) nodes.push_back(node);
    for (const std::unique_ptr<Node>& child : node->children) open.push_back(child.get());
  }
  return nodes;
}

Keeper::NodeSet Keeper::OnPath() const {
  NodeSet nodes;
  for (const Node* node = path_->current(); node != nullptr; node = node->parent) {
    nodes.insert(node);
  }
  return nodes;
}

// Being recorded counts as one use.
double Keeper::UsesOf(Node* node) {
  return node->recent.At(now_, node->replays + 1, node->last_call, budget_.half_life);
}

double Keeper::SeenUsesOf(const Node& node) const {
  return node.recent.Seen(now_, node.replays + 1, node.last_call, budget_.half_life);
}

double Keeper::UsesBelow(Node* node) {
  double uses = 0;
  for (Node* below : AllNodes(node)) uses += UsesOf(below);
  return uses;
}

Candidate Keeper::AsNode(Node* node, bool pinned) {
  return {.uses = UsesOf(node),
          .bytes = node->device_bytes() + RecordingHostBytes(node->op_count()),
          .cost = kRecordOps + 5 * node->op_count(),
          .pinned = pinned};
}

Candidate Keeper::AsExecutables(Node* node, bool pinned) {
  const uint64_t executables = node->executables();
  return {.uses = UsesOf(node),
          .bytes = node->device_bytes(),
          .cost = kInstantiateOps * executables + node->op_count(),
          .count = executables,
          .pinned = pinned};
}

void Keeper::ExecutablesMade(const Node& node) {
  held_.executables += node.executables();
  held_.executable_bytes += node.device_bytes();
}

uint64_t Keeper::EvictExecutables(Node* node) {
  const uint64_t executables = node->executables();
  size_t number = 0;
  node->VisitSections([&](Section& section) {
    if (section.executable != nullptr) Evict(*node, number, std::move(section.executable));
    if (section.spare != nullptr) EvictSpare(*node, number, &section);
    ++number;
  });
  return executables;
}

void Keeper::EvictSpare(const Node& node, size_t number, Section* section) {
  Evict(node, number, std::move(section->spare->executable));
  section->spare = nullptr;
  --spares_;
}

void Keeper::Evict(const Node& node, size_t section, std::unique_ptr<Executable> executable) {
  --held_.executables;
  held_.executable_bytes -= executable->device_bytes();
  evicts_(node, section, *executable);
  graveyard_.Add(std::move(executable));
}

void Keeper::Detach(Node* node) {
  Node* parent = node->parent;
  const auto siblings = parent->by_call.find(node->call_hash);
  if (siblings != parent->by_call.end()) {
    siblings->second.Remove(node);
    if (siblings->second.empty()) parent->by_call.erase(siblings);
  }
  parent->general.Remove(node->variant->function->id, node);
  EraseFrom(&parent->by_variant, node->variant->id, node);
  const auto owned =
      std::find_if(parent->children.begin(), parent->children.end(),
                   [node](const std::unique_ptr<Node>& child) { return child.get() == node; });
  GRAPHTREE_CHECK(owned != parent->children.end()) << "a node is not its parent's child";
  graveyard_.Add(std::move(*owned));
  parent->children.erase(owned);
  if (parent->last_child == node) {
    parent->last_child = parent->children.empty() ? nullptr : parent->children.back().get();
  }
}

void Keeper::EvictLeaf(Node* node) {
  GRAPHTREE_CHECK(node->children.empty()) << "a node with children is to go";
  EvictExecutables(node);
  tally_->On(EdgeOf(*node)).replays += node->replays;
  --held_.nodes;
  memory_->Drop(node->checkpoint);
  Detach(node);
}

void Keeper::EvictSubtree(Node* node, Reason reason) {
  const std::vector<Node*> nodes = AllNodes(node);
  for (auto below = nodes.rbegin(); below != nodes.rend(); ++below) {
    Count(reason, EdgeOf(**below), 1);
    EvictLeaf(*below);
  }
}

bool Keeper::EvictFunction(Function* function) {
  const auto is_its = [function](const Node& node) {
    return node.variant != nullptr && node.variant->function == function;
  };
  const NodeSet on_path = OnPath();
  std::vector<Node*> tops;
  NodeSet below;  // the topmost of the function's nodes, and all nodes below them
  for (Node* node : AllNodes(root_)) {
    if (below.contains(node->parent)) {
      below.insert(node);
    } else if (is_its(*node) && !on_path.contains(node)) {
      below.insert(node);
      tops.push_back(node);
    }
  }
  for (Node* top : tops) EvictSubtree(top, Reason::kFunctionEvicted);
  Settle();
  for (const Node* node : on_path) {
    if (is_its(*node)) return false;
  }
  absl::flat_hash_set<uint32_t> recorded;
  for (const auto& [hash, variants] : function->variants) {
    for (const std::unique_ptr<Variant>& variant : variants) {
      if (variant->was_recorded) recorded.insert(variant->id);
    }
  }
  ForgetAtNodes(recorded);
  placed_.erase(std::remove_if(placed_.begin(), placed_.end(),
                               [function](const Variant* placed) {
                                 return placed->function == function;
                               }),
                placed_.end());
  held_.shapes = placed_.size();
  function->places = 0;
  function->variants.clear();
  function->variant_count = 0;
  return true;
}

void Keeper::Called(Variant* variant) {
  ++variant->calls;
  variant->last_call = now_;
}

Standing Keeper::StandingOf(Variant* variant) {
  variant->recent.At(now_, variant->calls, variant->last_call, budget_.half_life);
  return SeenStandingOf(*variant);
}

Standing Keeper::SeenStandingOf(const Variant& variant) const {
  const double paid =
      variant.recent.Seen(now_, variant.calls, variant.last_call, budget_.half_life);
  return {paid + Aged(variant.before, now_ - variant.before_at, budget_.half_life), paid};
}

Standing Keeper::StandingWithThisCall(const Variant& variant) const {
  if (variant.last_call == now_) return SeenStandingOf(variant);
  if (variant.calls == 0) {
    const Standing before = ghosts_.Find(GhostOf(variant), now_);
    return {before.uses + 1, before.paid + 1};
  }
  const double paid = variant.recent.Seen(now_, variant.calls + 1, now_, budget_.half_life);
  return {paid + Aged(variant.before, now_ - variant.before_at, budget_.half_life), paid};
}

void Keeper::BeginCall(uint64_t now, StreamLife* last) {
  now_ = now;
  graveyard_.Tidy(last);
}

Keeper::Place Keeper::PlaceFor(const Variant& variant) const {
  const bool function_full = IsFull(*variant.function);
  const bool full = function_full || placed_.size() >= budget_.shapes;
  if (full && !variant.has_place) return PlaceOfRival(variant, function_full);
  Place place;
  place.is_there = true;
  return place;
}

void Keeper::NotePlace(Variant* variant, const Place& place) {
  if (!place.was_full) return;
  const bool of_function = IsFull(*variant->function);
  StandingOf(variant);
  if (!place.least_of_all.has_value()) return;
  for (Node* node : AllNodes(root_)) UsesOf(node);
  for (Variant* placed : placed_) {
    if (!of_function || placed->function == variant->function) StandingOf(placed);
  }
  Admission& admission = of_function ? variant->function->admission : admission_;
  admission.Looked(*place.least_of_all, now_);
}

void Keeper::TakePlace(Variant* variant, const Place& place) {
  if (variant->has_place) return;
  Function& function = *variant->function;
  const bool function_full = IsFull(function);
  const bool full = function_full || placed_.size() >= budget_.shapes;
  if (place.instead_of != nullptr) EvictShape(place.instead_of);
  // An admission that was not asked for this place has not seen a shape that is used so little.
  if (!function_full) function.admission.PlaceGiven();
  if (!full || function_full) admission_.PlaceGiven();
  variant->has_place = true;
  ++function.places;
  placed_.push_back(variant);
  held_.shapes = placed_.size();
}

Keeper::Place Keeper::PlaceOfRival(const Variant& variant, bool of_function) const {
  Place place;
  place.was_full = true;
  const Admission& admission = of_function ? variant.function->admission : admission_;
  const Standing newcomer = StandingWithThisCall(variant);
  if (!admission.IsWorthALook(newcomer, now_, budget_.half_life)) return place;
  absl::flat_hash_map<const Variant*, double> uses;
  for (const Node* node : AllNodes(root_)) uses[node->variant] += SeenUsesOf(*node);
  absl::flat_hash_set<const Variant*> pinned;
  for (const Node* node : OnPath()) pinned.insert(node->variant);
  std::vector<Variant*> rivals;
  std::vector<Candidate> candidates;
  double least_of_all = std::numeric_limits<double>::infinity();
  for (Variant* placed : placed_) {
    if (of_function && placed->function != variant.function) continue;
    rivals.push_back(placed);
    candidates.push_back(
        {.uses = SeenStandingOf(*placed).uses + uses[placed], .pinned = pinned.contains(placed)});
    least_of_all = std::min(least_of_all, candidates.back().uses);
  }
  place.least_of_all = least_of_all;
  const size_t least = LeastWorth(candidates);
  if (least == candidates.size()) return place;
  if (!Admission::HasEarned(newcomer, candidates[least].uses, budget_.half_life)) return place;
  place.is_there = true;
  place.instead_of = rivals[least];
  return place;
}

void Keeper::EvictShape(Variant* variant) {
  const uint64_t counted = (*counts_)[static_cast<size_t>(Reason::kShapeEvicted)];
  double uses = StandingOf(variant).uses;
  // Looks anew after each subtree that went: a node of the shape may lie below another one.
  for (bool found = true; found;) {
    found = false;
    for (Node* node : AllNodes(root_)) {
      if (node->variant != variant) continue;
      uses += UsesOf(node);
      EvictSubtree(node, Reason::kShapeEvicted);
      found = true;
      break;
    }
  }
  // A shape that has no recordings loses its warm-up, which is counted, too.
  if ((*counts_)[static_cast<size_t>(Reason::kShapeEvicted)] == counted) {
    Count(Reason::kShapeEvicted, {kPathBegin, variant->function->id}, 1);
  }
  variant->before = uses;
  variant->before_at = now_;
  variant->recent.Forget(now_, variant->calls);
  variant->has_place = false;
  --variant->function->places;
  placed_.erase(std::find(placed_.begin(), placed_.end(), variant));
}

void Keeper::NewShape(Function* function, Variant* variant) {
  const Standing before = ghosts_.Take(GhostOf(*variant), now_);
  variant->recent.Inherit(before.paid, now_, budget_.half_life);
  variant->before = before.uses - before.paid;
  variant->before_at = now_;
  const uint64_t most = 2 * std::min(budget_.shapes_of_function, budget_.shapes) + 16;
  if (function->variant_count <= most) return;
  absl::flat_hash_set<const Variant*> pinned = {variant};
  for (const Node* node : OnPath()) pinned.insert(node->variant);
  std::vector<std::pair<double, Variant*>> others;
  for (auto& [hash, variants] : function->variants) {
    for (const std::unique_ptr<Variant>& other : variants) {
      if (other->has_place || pinned.contains(other.get())) continue;
      others.push_back({StandingOf(other.get()).uses, other.get()});
    }
  }
  const size_t gone = (others.size() + 1) / 2;
  std::nth_element(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(gone),
                   others.end(), [](const auto& a, const auto& b) {
                     return std::pair(a.first, a.second->id) < std::pair(b.first, b.second->id);
                   });
  std::vector<Variant*> least;
  for (size_t i = 0; i < gone; ++i) least.push_back(others[i].second);
  Forget(function, least);
}

void Keeper::Forget(Function* function, absl::Span<Variant* const> variants) {
  absl::flat_hash_set<uint32_t> recorded;
  for (Variant* variant : variants) {
    if (variant->was_recorded) recorded.insert(variant->id);
    ghosts_.Put(GhostOf(*variant), StandingOf(variant), now_);
    ForgetVariant(function, variant);
  }
  ForgetAtNodes(recorded);
}

void Keeper::ForgetAtNodes(const absl::flat_hash_set<uint32_t>& variants) {
  if (variants.empty()) return;
  std::vector<Node*> nodes = AllNodes(root_);
  nodes.push_back(root_);
  const auto is_gone = [&](const auto& entry) { return variants.contains(entry.first); };
  for (Node* node : nodes) {
    absl::erase_if(node->unexpected, is_gone);
    absl::erase_if(node->moved, is_gone);
  }
}

}  // namespace graphtree
