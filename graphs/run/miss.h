// Gathers the facts about a call that was no hit, so that decide.h can decide, and notes the
// consequences after the decision. "This place" is the node at the path's end.
//
//   Look   reads: the shape, the path, the recordings at this place, how each input would be taken
//   Note   writes: the decision's counts, pauses, places, and which inputs have moved
//
// An input that a recording at this place pinned, and that comes at another address, has moved:
// the next recording takes it at any address (input_roles.h). If the function's options ask for
// eager runs then (Moving::kEager), it is still recorded again once in a while: the new address may
// be there to stay.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_MISS_H_
#define GRAPHTREE_GRAPHS_RUN_MISS_H_

#include <optional>
#include <vector>

#include "graphs/budget/keeper.h"
#include "graphs/match/input_roles.h"
#include "graphs/recording/node.h"
#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/decide.h"
#include "graphs/run/functions.h"
#include "graphs/run/ground.h"
#include "graphs/run/matcher.h"

namespace graphtree {

struct Miss {
  MissFacts facts;
  Node* match = nullptr;
  std::vector<RoleChoice> roles;  // by input: the role if the call were recorded now
  std::vector<bool> moved;        // by input; empty if nothing was pinned at this place
  bool tries_pins_again = false;  // inputs that moved are pinned once more
  Keeper::Place place;            // for the shape
  Rerecords rerecords;            // the counts at this place, after this call
};

// How a recording that is made now would take the input. `moved`: a recording at this place pinned
// the input to another address.
RoleChoice RoleOf(const Ground& ground, const Call& call, size_t input, bool moved);

class Misses {
 public:
  // All outlive it.
  Misses(Ground& ground, Books& books, CallJournal& journal, Functions& functions, Matcher& matcher)
      : ground_(ground),
        books_(books),
        journal_(journal),
        functions_(functions),
        matcher_(matcher) {}
  Misses(const Misses&) = delete;
  Misses& operator=(const Misses&) = delete;

  // Takes no decision: nothing is counted or evicted. Dead outputs are freed, and how often shapes
  // and recordings are used is brought up to date. `is_again`: the call's recording has to be made
  // again. A call whose size may not be recorded needs no variant, and has no other facts.
  Miss Look(Call& call, SizeVerdict size, bool is_again);
  void Note(const Miss& miss, const Decision& decision, Call& call);

 private:
  void LookAtNode(Call& call, Miss* miss);
  void LookAtInputs(const Call& call, Miss* miss);
  std::optional<Sibling> SiblingOf(const Call& call, const Miss& miss);
  bool IsLongStep(const Variant& variant);
  void NoteStep(const Miss& miss, const Call& call);
  void NoteMoved(const Miss& miss, const Call& call);

  Ground& ground_;
  Books& books_;
  CallJournal& journal_;
  Functions& functions_;
  Matcher& matcher_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_MISS_H_
