// Follows the table of the header.
#include "graphs/run/miss_notes.h"

#include "absl/strings/str_cat.h"

namespace graphtree {

void MissNotes::Note(const Call& call, const Decision& decision, Miss* miss) {
  if (!miss->is_noted) functions_.NoteShape(call, &miss->shape);
  miss->is_noted = true;
  if (decision.rule <= Rule::kDeadPathGrows) return;
  Variant& variant = *call.variant;
  const bool is_again = miss->facts.is_again;
  if (!is_again) NoteStep(*miss, call);
  if (decision.rule == Rule::kPaused) --variant.pause;
  NotePlace(decision, *miss, &variant);
  if (is_again || decision.rule <= Rule::kNewPath) return;
  NoteMoved(*miss, call);
  const bool was_held_against =
      decision.rule != Rule::kInputMoves && decision.rule != Rule::kRecordedApart;
  if (was_held_against && miss->facts.sibling.has_value()) {
    NoteSibling(*miss->facts.sibling, call);
  }
}

// "Place" has two meanings here: where the path stands in the tree, and one of the places among the
// shapes.
void MissNotes::NotePlace(const Decision& decision, const Miss& miss, Variant* variant) {
  if (decision.rule <= Rule::kWorksElsewhere) return;
  functions_.keeper().shapes().NotePlace(variant, miss.place);
  if (decision.rule < Rule::kRerecordedTooOften) return;
  Node& here = *books_.path().current();
  if (here.unexpected.contains(variant->id)) here.unexpected[variant->id] = miss.rerecords;
  if (decision.rule > Rule::kNoPlace) functions_.keeper().shapes().TakePlace(variant, miss.place);
}

void MissNotes::NoteStep(const Miss& miss, const Call& call) {
  if (!Grows(miss.facts.path)) return;
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
                             " (", books_.path().CountAlive(), " are held)"));
}

void MissNotes::NoteMoved(const Miss& miss, const Call& call) {
  if (miss.moved.empty()) return;
  MovedInputs& seen = books_.path().current()->moved[call.variant->id];
  seen.moved = miss.moved;
  if (miss.facts.obstacle == RoleObstacle::kMoves || miss.tries_pins_again) ++seen.eager_runs;
}

void MissNotes::NoteSibling(const Sibling& sibling, const Call& call) {
  journal_.Count(call.function, sibling.against);
  Node& here = *books_.path().current();
  if (!sibling.is_expected) ++here.unexpected[call.variant->id].count;
}

}  // namespace graphtree
