// Gathers the facts about a call that was no hit, so that decide.h can decide. Changes nothing:
//
//   Begin   what the inputs mean for the function: the shape, which may be a new one
//   Look    before each decision: the path, the recordings at this place, how each input would be
//           taken. "This place" is the node at the path's end
//   Decide  decide.h
//   Note    miss_notes.h: what follows for the tree, once it is decided
//   route   miss_runner.cc TakeRoute
//
// Where a cheap fact decides already (IsSettledEarly), nothing else is looked at: a call of an
// excluded function asks neither for its inputs' roles nor for recordings.
//
// How the call's inputs are taken is worked out here and goes with the miss to whoever needs it:
// the matcher, the recorder, the warm-up, and the words of a refusal. What an input is to the tree
// (CallRoles::own) is asked once for each call; how a recording would take it is chosen for each
// decision, since a recording that was given up has shown more.
//
// An input that a recording at this place pinned, and that comes at another address, has moved:
// the next recording takes it at any address (input_roles.h). If the function's options ask for
// eager runs then (Moving::kEager), it is still recorded again once in a while: the new address may
// be there to stay.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_MISS_H_
#define GRAPHTREE_GRAPHS_RUN_MISS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "graphs/budget/shape_places.h"
#include "graphs/match/input_roles.h"
#include "graphs/recording/node.h"
#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/decide.h"
#include "graphs/run/functions.h"
#include "graphs/run/ground.h"
#include "graphs/run/matcher.h"

namespace graphtree {

struct Miss {
  Shape shape;
  bool is_noted = false;  // a decision about this call was noted
  // As of the last Look. Those that no rule asked for are empty.
  MissFacts facts;
  Node* match = nullptr;
  CallRoles roles;
  std::vector<bool> moved;        // by input; empty if nothing was pinned at this place
  bool tries_pins_again = false;  // inputs that moved are pinned once more
  ShapePlaces::Place place;       // for the shape
  Rerecords rerecords;            // the counts at this place, after this call
};

class Misses {
 public:
  // All outlive it. The matcher is asked for recordings; it takes dead outputs off the path's list.
  Misses(const Ground& ground, const Books& books, const Functions& functions, Matcher& matcher)
      : ground_(ground), books_(books), functions_(functions), matcher_(matcher) {}
  Misses(const Misses&) = delete;
  Misses& operator=(const Misses&) = delete;

  // Also gives the call its variant. The miss owns a new one until a decision is noted.
  Miss Begin(Call* call) const;
  // `is_again`: the call's recording has to be made again.
  void Look(Call& call, bool is_again, Miss* miss) const;

 private:
  void LookAtFunction(const Call& call, Miss* miss) const;
  void LookAtInputs(const Call& call, Miss* miss) const;
  void LookAtNode(Call& call, Miss* miss) const;
  void ChooseRoles(const Call& call, Miss* miss) const;
  RoleChoice RoleOf(const Call& call, const Miss& miss, size_t input) const;
  std::optional<Sibling> SiblingOf(const Call& call, const Miss& miss) const;
  bool IsLongStep(const Variant& variant, const MissFacts& facts) const;

  const Ground& ground_;
  const Books& books_;
  const Functions& functions_;
  Matcher& matcher_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_MISS_H_
