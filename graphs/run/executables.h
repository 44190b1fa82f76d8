// Makes executables of recorded graphs, within the tree's budget (keeper.h).
//
//   Make        makes one for a section whose graph was captured. An evicted one that still waits
//               for its end is updated, where it may become the graph's; else a new one is
//               instantiated, and if the device is out of memory the least valuable ones go
//   UploadAhead has what the first launch of each would set up done now, of a node that is recorded
//               and not launched
//   BringBack   makes all that a node lacks after an eviction; all or none
//   AddSpare    makes a second one for a section whose addresses alternate (section.h). It is made
//               after the launch of the replay that shows it to be worth it, and only if there is
//               room without an eviction; spares are evicted first.
//
//   full budget:  A's executable --evicted--> graveyard --updated to B's graph--> B's executable
//
// So recordings of one topology, as the shapes of a server are, share as many executables as the
// budget has room for. An update is much cheaper than instantiating (tests/bare/share_bench.cc),
// takes no memory of the device, and holds up no other thread's launches.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_EXECUTABLES_H_
#define GRAPHTREE_GRAPHS_RUN_EXECUTABLES_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphs/budget/keeper.h"
#include "graphs/recording/node.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/ground.h"

namespace graphtree {

class Executables {
 public:
  // All outlive it.
  Executables(Ground& ground, CallJournal& journal, Keeper& keeper)
      : ground_(ground), journal_(journal), keeper_(keeper) {}
  Executables(const Executables&) = delete;
  Executables& operator=(const Executables&) = delete;

  // REQUIRES: the section has a graph. ResourceExhausted if the budget has no room beside the
  // node's other executables, which are not counted yet.
  absl::Status Make(const Node& node, size_t number, Section* section);
  void UploadAhead(const Node& node);
  absl::Status BringBack(Node* node);
  // Adds a spare if the section's last replays show that it is worth it.
  void ConsiderSpare(const Node& node, size_t number, Section* section) {
    if (section->spare != nullptr || ground_.options.spare_after == 0) return;
    if (section->pointers.returns() < ground_.options.spare_after * section->patience) return;
    AddSpare(node, number, section);
  }

 private:
  // An evicted executable that has become the graph's, or null.
  std::unique_ptr<Executable> Shared(const Graph& graph);
  absl::StatusOr<std::unique_ptr<Executable>> Instantiated(const Graph& graph, const Node& node);
  void AddSpare(const Node& node, size_t number, Section* section);
  // Whether all that the node lacks fits into the budget, whatever goes for it.
  absl::Status MayComeBack(const Node& node);
  // Makes room on the device: evicts up to so many executables, the least valuable first, waits for
  // the work under way and destroys them. False if no room was made.
  bool GiveMemoryBack(int executables, const Node& node);

  Ground& ground_;
  CallJournal& journal_;
  Keeper& keeper_;
};

// Whether the node's executables were evicted: all of them were, or none.
inline bool IsEvicted(const Node& node) {
  if (node.section.graph != nullptr) return node.section.executable == nullptr;
  for (const Cut& cut : node.cuts) {
    if (cut.next_section.graph != nullptr) return cut.next_section.executable == nullptr;
  }
  return false;
}

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_EXECUTABLES_H_
