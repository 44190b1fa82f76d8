// Stands around the launch of a graph.
#include "graphs/run/launch_teller.h"

#include "absl/strings/str_cat.h"
#include "graphs/run/hook_calls.h"
#include "graphs/run/located.h"

namespace graphtree {
namespace {

absl::Status LaunchForObservers(CallJournal& journal, const Node& node, size_t section,
                                Stream& stream) {
  Observers& observers = journal.observers();
  Executable& executable = *node.SectionAt(section).executable;
  const uint64_t launch = observers.wants_replays() ? observers.NextReplay() : 0;
  if (launch == 0) return executable.Launch(stream);
  const Audience audience = Observers::Now();
  GraphEvent event =
      journal.EventOf(GraphMoment::kReplayBegin, node, section, &executable, &stream, true);
  event.launch = launch;
  journal.TellOfThrown(observers.Tell(event, audience));
  absl::Status status = executable.Launch(stream);
  event.moment = GraphMoment::kReplayEnd;
  event.ok = status.ok();
  journal.TellOfThrown(observers.Tell(event, audience));
  return status;
}

}  // namespace

absl::Status LaunchTold(CallJournal& journal, const Node& node, size_t section, Stream& stream) {
  if (node.hooks == nullptr) return LaunchForObservers(journal, node, section, stream);
  LaunchInfo info;
  info.function = node.variant->function->name;
  info.run = journal.RunOf(node);
  info.tree = journal.observers().tree();
  info.recording = node.id;
  info.section = section;
  info.graph = node.SectionAt(section).identity.get();
  info.stream = &stream;
  if (absl::Status may = AskBefore(*node.hooks, info); !may.ok()) {
    return Located(may, absl::StrCat("'", node.variant->function->name, "' (",
                                     RunKindName(info.run), ")"));
  }
  absl::Status status = LaunchForObservers(journal, node, section, stream);
  journal.CountThrown(TellAfter(*node.hooks, info, status));
  return status;
}

}  // namespace graphtree
