// Counts, warns, and tells observers.
#include "graphs/run/call_journal.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/guarded_call.h"
#include "graphs/history/stack_marks.h"
#include "graphs/recording/node_walk.h"
#include "graphs/run/planted_bug.h"

namespace graphtree {

namespace {

absl::Status Warned(const TreeOptions& options, const std::string& text) {
  CallbackMark callback;
  return Guarded([&] {
    callback.Enter();
    options.warn(text);
  });
}

}  // namespace

bool IsWanted(Reason reason) {
  return reason == Reason::kTreeOff || reason == Reason::kExcluded ||
         reason == Reason::kSizeNotListed || reason == Reason::kSizesVary ||
         reason == Reason::kRecordedApart;
}

CallEdge CallJournal::EdgeTo(const Function& function) const {
  const Node* last = path_.current();
  return {path_.empty() ? kPathBegin : last->variant->function->id, function.id};
}

void CallJournal::Count(const Function& function, Reason reason, uint64_t times) {
  stats_.reasons[static_cast<size_t>(reason)] += times;
  tally_.Count(EdgeTo(function), reason, times);
}

void CallJournal::CountOf(const Node& node, Reason reason, uint64_t times) {
  stats_.reasons[static_cast<size_t>(reason)] += times;
  tally_.Count(EdgeOf(node), reason, times);
}

void CallJournal::Warn(Function& function, Reason reason, const std::string& detail) {
  // Options ask for this reason, but the caller may not know that sizes vary: so it is told.
  if (IsWanted(reason) && reason != Reason::kSizesVary) return;
  Tell(function, reason,
       absl::StrCat("'", function.name, "' runs eagerly: ", ReasonSentence(reason),
                    detail.empty() ? "" : ": ", detail));
}

void CallJournal::Tell(Function& function, Reason reason, const std::string& text) {
  bool& warned = function.warned[static_cast<size_t>(reason)];
  if (warned || !options_.warn) return;
  warned = true;
  CountThrown(Warned(options_, text));
}

void CallJournal::TellOfShapes(Function& function) {
  const bool many = function.variants_seen > options_.shape_warn_limit;
  if (!many || function.warned_of_shapes || !options_.warn) return;
  if (!options_.enabled || function.options.exclude) return;
  function.warned_of_shapes = true;
  const std::string text =
      absl::StrCat("'", function.name, "' has been called with ", function.variants_seen,
                   function.variants_seen == 1 ? " size" : " distinct sizes",
                   ", and each is warmed up and recorded on its own; pad inputs to few sizes, "
                   "list the sizes to record (FunctionOptions::recorded_sizes), or raise "
                   "TreeOptions::shape_warn_limit to hear of it later");
  CountThrown(Warned(options_, text));
}

void CallJournal::NoteBreaks(const Node& node) {
  Function& function = *node.variant->function;
  CountOf(node, Reason::kBreak, node.cuts.size());
  uint64_t ops = 0;
  std::string places;
  const Section* section = &node.section;
  for (const Cut& cut : node.cuts) {
    ops += section->op_count();
    absl::StrAppend(&places, places.empty() ? "" : ", ", "'", cut.part.why, "' after op ", ops);
    section = &cut.next_section;
  }
  Tell(function, Reason::kBreak,
       absl::StrCat("'", function.name, "' is recorded in ", node.cuts.size() + 1,
                    " sections, because parts of it run eagerly: ", places));
}

GraphEvent CallJournal::EventOf(GraphMoment moment, const Node& node, size_t section,
                                const Executable* executable, Stream* stream, bool ok) const {
  const Section& where = node.SectionAt(section);
  GraphEvent event;
  event.moment = moment;
  event.function = node.variant->function->name;
  event.recording = node.id;
  event.section = section;
  event.ok = ok;
  event.stream = stream;
  event.graph = where.graph.get();
  event.executable = executable;
  if (where.identity != nullptr) event.identity = &where.identity;
  event.tree = observers_.tree();
  event.run = RunOf(node);
  return event;
}

void CallJournal::Say(GraphMoment moment, const Node& node, size_t section,
                      const Executable* executable, Stream* stream, bool ok) {
  TellOfThrown(observers_.Tell(EventOf(moment, node, section, executable, stream, ok)));
}

void CallJournal::CountThrown(const absl::Status& status) {
  if (status.ok()) return;
  ++thrown_;
  TellOfThrown(status);
}

void CallJournal::TellOfThrown(const absl::Status& status) {
  if (status.ok() || std::exchange(told_of_thrown_, true) || !options_.warn) return;
  const std::string text =
      absl::StrCat("an observer, a hook or the warning callback failed, which changes nothing: ",
                   status.message());
  if (!Warned(options_, text).ok()) ++thrown_;
}

void CallJournal::SayDestroyed(const Node& node, size_t section, const Executable& executable) {
  if (!is_watched() || IsPlanted(PlantedBug::kForgetsDestroy)) return;
  Say(GraphMoment::kDestroy, node, section, &executable, nullptr, true);
}

void CallJournal::SayDestroyed(const Node& node) {
  size_t number = 0;
  node.VisitSections([&](const Section& section) {
    if (section.executable != nullptr) SayDestroyed(node, number, *section.executable);
    if (section.spare != nullptr) SayDestroyed(node, number, *section.spare->executable);
    ++number;
  });
}

void CallJournal::SayAllDestroyed(const Node& root) {
  if (!is_watched()) return;
  VisitNodes(root, [this](const Node& node) { SayDestroyed(node); });
}

}  // namespace graphtree
