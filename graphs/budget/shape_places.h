// Which shapes may be recorded: there are so many places for them, of a function and of the tree.
//
//   Called      a call of the shape that is no replay
//   PlaceFor    has the shape a place, is one free, or has it earned that of the least used one?
//   NotePlace   notes what PlaceFor has seen                                    (admission.h)
//   TakePlace   the shape has its place; one that gave its place up loses its recordings
//
// A function that comes in many shapes has the less used half of those without a place forgotten,
// but for how often they were used (Ghosts).
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_BUDGET_SHAPE_PLACES_H_
#define GRAPHTREE_GRAPHS_BUDGET_SHAPE_PLACES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "graphs/budget.h"
#include "graphs/budget/evictor.h"
#include "graphs/budget/node_worth.h"
#include "graphs/match/admission.h"
#include "graphs/match/function.h"

namespace graphtree {

class ShapePlaces {
 public:
  // All outlive it.
  ShapePlaces(const TreeBudget& budget, NodeWorth& nodes, Evictor& evictor)
      : budget_(budget),
        nodes_(nodes),
        evictor_(evictor),
        ghosts_(4 * budget.shapes, budget.half_life) {}
  ShapePlaces(const ShapePlaces&) = delete;
  ShapePlaces& operator=(const ShapePlaces&) = delete;

  // Notes a call of the variant that is no replay.
  void Called(Variant* variant);
  // A place among the shapes that may be recorded.
  struct Place {
    bool is_there = false;            // the variant has a place, or can take one
    Variant* instead_of = nullptr;    // the shape that has to give its place up; null: none has to
    bool was_full = false;            // all places are taken, and the variant has none
    std::optional<double> least_of_all;  // the uses of the least used shape, if it was looked for
  };
  // Finds a place for the variant, which may be a new one that its function does not have yet.
  // There is one if one is free, or if the variant, with the call that is under way, has earned the
  // place of the least used shape (admission.h). Looks only.
  Place PlaceFor(const Variant& variant) const;
  // Notes what PlaceFor has seen. REQUIRES: PlaceFor has just returned `place` for the variant.
  void NotePlace(Variant* variant, const Place& place);
  // Gives the variant that place. A shape that gives its place up loses all its recordings.
  // REQUIRES: as NotePlace.
  void TakePlace(Variant* variant, const Place& place);

  // The function has a new variant, which may be one that was forgotten: then its earlier uses
  // count. If the function has too many variants, forgets the less used half of those without a
  // place.
  void NewShape(Function* function, Variant* variant);
  // Forgets all shapes of the function. REQUIRES: it has no recordings.
  void ForgetAll(Function* function);

 private:
  Standing StandingOf(Variant* variant);
  // The same, but brings nothing up to date.
  Standing SeenStandingOf(const Variant& variant) const;
  // With the call that is under way, whether that is noted already or not.
  Standing StandingWithThisCall(const Variant& variant) const;
  bool IsFull(const Function& function) const {
    return function.places >= budget_.shapes_of_function;
  }
  // The shape whose place the variant has earned, among its function's shapes or among all.
  Place PlaceOfRival(const Variant& variant, bool of_function) const;
  void EvictShape(Variant* variant);
  void Forget(Function* function, absl::Span<Variant* const> variants);
  // Erases what the nodes remember of these variants.
  void ForgetAtNodes(const absl::flat_hash_set<uint32_t>& variants);

  const TreeBudget& budget_;
  NodeWorth& nodes_;
  Evictor& evictor_;
  std::vector<Variant*> placed_;  // the variants that have a place
  Admission admission_;           // to the tree's places
  Ghosts ghosts_;                 // of variants that were forgotten
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BUDGET_SHAPE_PLACES_H_
