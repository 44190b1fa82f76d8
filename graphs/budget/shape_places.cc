// Gives places to shapes, and forgets shapes.
#include "graphs/budget/shape_places.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace graphtree {
namespace {

uint64_t GhostOf(const Variant& variant) {
  return variant.hash ^ ((uint64_t{variant.function->id} + 1) * 0x9e3779b97f4a7c15u);
}

}  // namespace

ShapePlaces::Place ShapePlaces::PlaceFor(const Variant& variant) const {
  const bool function_full = IsFull(*variant.function);
  const bool full = function_full || placed_.size() >= budget_.shapes;
  if (full && !variant.has_place) return PlaceOfRival(variant, function_full);
  Place place;
  place.is_there = true;
  return place;
}

void ShapePlaces::NotePlace(Variant* variant, const Place& place) {
  if (!place.was_full) return;
  const bool of_function = IsFull(*variant->function);
  StandingOf(variant);
  if (!place.least_of_all.has_value()) return;
  for (Node* node : nodes_.All()) nodes_.UsesOf(node);
  for (Variant* placed : placed_) {
    if (!of_function || placed->function == variant->function) StandingOf(placed);
  }
  Admission& admission = of_function ? variant->function->admission : admission_;
  admission.Looked(*place.least_of_all, nodes_.now());
}

void ShapePlaces::TakePlace(Variant* variant, const Place& place) {
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
  evictor_.SetShapes(placed_.size());
}

ShapePlaces::Place ShapePlaces::PlaceOfRival(const Variant& variant, bool of_function) const {
  Place place;
  place.was_full = true;
  const Admission& admission = of_function ? variant.function->admission : admission_;
  const Standing newcomer = StandingWithThisCall(variant);
  if (!admission.IsWorthALook(newcomer, nodes_.now(), budget_.half_life)) return place;
  absl::flat_hash_map<const Variant*, double> uses;
  for (const Node* node : nodes_.All()) uses[node->variant] += nodes_.SeenUsesOf(*node);
  absl::flat_hash_set<const Variant*> pinned;
  for (const Node* node : nodes_.OnPath()) pinned.insert(node->variant);
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

void ShapePlaces::EvictShape(Variant* variant) {
  const uint64_t counted = evictor_.counted(Reason::kShapeEvicted);
  double uses = StandingOf(variant).uses;
  // Looks anew after each subtree that went: a node of the shape may lie below another one.
  for (bool found = true; found;) {
    found = false;
    for (Node* node : nodes_.All()) {
      if (node->variant != variant) continue;
      uses += nodes_.UsesOf(node);
      evictor_.Subtree(node, Reason::kShapeEvicted);
      found = true;
      break;
    }
  }
  // A shape that has no recordings loses its warm-up, which is counted, too.
  if (evictor_.counted(Reason::kShapeEvicted) == counted) {
    evictor_.Count(Reason::kShapeEvicted, {kPathBegin, variant->function->id}, 1);
  }
  variant->before = uses;
  variant->before_at = nodes_.now();
  variant->recent.Forget(nodes_.now(), variant->calls);
  variant->has_place = false;
  --variant->function->places;
  placed_.erase(std::find(placed_.begin(), placed_.end(), variant));
}

void ShapePlaces::NewShape(Function* function, Variant* variant) {
  const Standing before = ghosts_.Take(GhostOf(*variant), nodes_.now());
  variant->recent.Inherit(before.paid, nodes_.now(), budget_.half_life);
  variant->before = before.uses - before.paid;
  variant->before_at = nodes_.now();
  const uint64_t most = 2 * std::min(budget_.shapes_of_function, budget_.shapes) + 16;
  if (function->variant_count <= most) return;
  absl::flat_hash_set<const Variant*> pinned = {variant};
  for (const Node* node : nodes_.OnPath()) pinned.insert(node->variant);
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

void ShapePlaces::Forget(Function* function, absl::Span<Variant* const> variants) {
  absl::flat_hash_set<uint32_t> recorded;
  for (Variant* variant : variants) {
    if (variant->was_recorded) recorded.insert(variant->id);
    ghosts_.Put(GhostOf(*variant), StandingOf(variant), nodes_.now());
    ForgetVariant(function, variant);
  }
  ForgetAtNodes(recorded);
}

void ShapePlaces::ForgetAll(Function* function) {
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
  evictor_.SetShapes(placed_.size());
  function->places = 0;
  function->variants.clear();
  function->variant_count = 0;
}

void ShapePlaces::ForgetAtNodes(const absl::flat_hash_set<uint32_t>& variants) {
  if (variants.empty()) return;
  std::vector<Node*> nodes = nodes_.All();
  nodes.push_back(&nodes_.root());
  const auto is_gone = [&](const auto& entry) { return variants.contains(entry.first); };
  for (Node* node : nodes) {
    absl::erase_if(node->unexpected, is_gone);
    absl::erase_if(node->moved, is_gone);
  }
}

void ShapePlaces::Called(Variant* variant) {
  ++variant->calls;
  variant->last_call = nodes_.now();
}

Standing ShapePlaces::StandingOf(Variant* variant) {
  variant->recent.At(nodes_.now(), variant->calls, variant->last_call, budget_.half_life);
  return SeenStandingOf(*variant);
}

Standing ShapePlaces::SeenStandingOf(const Variant& variant) const {
  const double paid =
      variant.recent.Seen(nodes_.now(), variant.calls, variant.last_call, budget_.half_life);
  return {paid + Aged(variant.before, nodes_.now() - variant.before_at, budget_.half_life), paid};
}

Standing ShapePlaces::StandingWithThisCall(const Variant& variant) const {
  if (variant.last_call == nodes_.now()) return SeenStandingOf(variant);
  if (variant.calls == 0) {
    const Standing before = ghosts_.Find(GhostOf(variant), nodes_.now());
    return {before.uses + 1, before.paid + 1};
  }
  const double paid =
      variant.recent.Seen(nodes_.now(), variant.calls + 1, nodes_.now(), budget_.half_life);
  return {paid + Aged(variant.before, nodes_.now() - variant.before_at, budget_.half_life), paid};
}

}  // namespace graphtree
