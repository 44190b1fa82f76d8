// What follows for the tree from a decision about a call that was no hit. Nothing of this is done
// before the call is decided, and the route itself is taken after it (miss_runner.cc).
//
//   decision by rule (decide.h)     noted
//   any, the first for the call     the shape: a call of it, a new one, sizes that vary
//   1 to 3                          nothing else
//   4 to 20                         the call counts in its step, which may be a long one
//   11, paused                      one pause less
//   9 to 20                         how often shapes were used, if their places were scarce
//   12 to 20                        a refusal at this place, or what is forgiven after many
//   14 to 20                        the shape takes its place, maybe another one's
//   17 to 20                        which inputs moved
//   18, 20                          which recording nearly served the call, and why it did not
//
// Of a recording that has to be made again (MissFacts::is_again) only the pause, the refusals and
// the places are noted: the others were noted with the first decision.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_MISS_NOTES_H_
#define GRAPHTREE_GRAPHS_RUN_MISS_NOTES_H_

#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/decide.h"
#include "graphs/run/functions.h"
#include "graphs/run/miss.h"

namespace graphtree {

class MissNotes {
 public:
  // All outlive it.
  MissNotes(Books& books, CallJournal& journal, Functions& functions)
      : books_(books), journal_(journal), functions_(functions) {}
  MissNotes(const MissNotes&) = delete;
  MissNotes& operator=(const MissNotes&) = delete;

  // REQUIRES: `decision` is that about the facts of `miss`.
  void Note(const Call& call, const Decision& decision, Miss* miss);

 private:
  void NotePlace(const Decision& decision, const Miss& miss, Variant* variant);
  void NoteStep(const Miss& miss, const Call& call);
  void NoteMoved(const Miss& miss, const Call& call);
  void NoteSibling(const Sibling& sibling, const Call& call);

  Books& books_;
  CallJournal& journal_;
  Functions& functions_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_MISS_NOTES_H_
