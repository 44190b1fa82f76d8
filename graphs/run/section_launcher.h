// Launches one section of a recording, after it has brought the executable up to date.
//
//   random numbers   drawn; where they start is written into the ingest op's table
//   inputs           if a copied input moved the ingest op is patched, if a patched one moved the
//                    ops that take it
//   kept outputs     the ops that make and read them are patched to this launch's places
//   two executables  if anything has moved, the one that was not launched last is taken: it has the
//                    addresses of now, or is patched as the other one would be
//
// Threads: the tree's caller. Cost: for a section that is fixed, the launch alone.
#ifndef GRAPHTREE_GRAPHS_RUN_SECTION_LAUNCHER_H_
#define GRAPHTREE_GRAPHS_RUN_SECTION_LAUNCHER_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "device/stream.h"
#include "graphs/random/random_source.h"
#include "graphs/recording/node.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/executables.h"
#include "graphs/run/ground.h"
#include "graphs/tensor.h"

namespace graphtree {

class SectionLauncher {
 public:
  // All outlive it.
  SectionLauncher(Ground& ground, CallJournal& journal, Executables& executables)
      : ground_(ground), journal_(journal), executables_(executables) {}
  SectionLauncher(const SectionLauncher&) = delete;
  SectionLauncher& operator=(const SectionLauncher&) = delete;

  // Launches a node that is not cut; a failure takes everything back.
  // REQUIRES: the node has one section, with an executable, and kept outputs have their places.
  absl::Status LaunchNode(Node* node, absl::Span<const Value> inputs, Stream& stream);
  // Launches one section. Random numbers are taken through `taken`, which can give those of all
  // sections back; if it is null, from the generators themselves.
  // REQUIRES: the section has an executable, and kept outputs have their places.
  absl::Status Launch(const Node& node, size_t number, Section* section,
                      absl::Span<const Value> inputs, EagerRandom* taken, Stream& stream);
  // The same for an executable that was made just now: it has the addresses of this call.
  absl::Status LaunchFresh(const Node& node, size_t number, Section* section,
                           absl::Span<const Value> inputs, EagerRandom* taken, Stream& stream);
  // Takes back the random numbers and places of a LaunchNode that succeeded.
  static void GiveBackDraws(Node* node);

 private:
  // `moved`: an op has to be patched that takes a large input or a kept output.
  absl::Status Patch(const Node& node, Section* section, bool moved);
  absl::Status LaunchAsItIs(const Node& node, size_t number, const Section& section,
                            Stream& stream);

  Ground& ground_;
  CallJournal& journal_;
  Executables& executables_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_SECTION_LAUNCHER_H_
