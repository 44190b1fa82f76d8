// Launches one section of a recording, with all that moved since its last launch followed first.
//
//   random numbers   drawn, and their places written into the ingest op's table
//   inputs           the ingest op is patched if a copied one moved, the ops that take a large one
//                    if that moved
//   kept outputs     the ops that make and read them are patched to this launch's places
//   two executables  the one that was not launched last is taken as soon as anything has moved: it
//                    points to where things are now, or it is patched as the other one would be
//
// Threads: the tree's caller. Cost: none of these for a section that is fixed.
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
#include "graphs/run/kept_outputs.h"
#include "graphs/tensor.h"

namespace graphtree {

class SectionLauncher {
 public:
  // All outlive it.
  SectionLauncher(Ground& ground, CallJournal& journal, Executables& executables, KeptOutputs& kept)
      : ground_(ground), journal_(journal), executables_(executables), kept_(kept) {}
  SectionLauncher(const SectionLauncher&) = delete;
  SectionLauncher& operator=(const SectionLauncher&) = delete;

  // The whole of a node that is not cut; a failure takes everything back.
  // REQUIRES: the node has one section, with an executable.
  absl::Status LaunchNode(Node* node, absl::Span<const Value> inputs, Stream& stream);
  // One section of several. Random numbers are taken through `taken`, for a call that gives back
  // what all of its sections took; from the generators themselves if it is null.
  // REQUIRES: it has an executable, and kept outputs have their places.
  absl::Status Launch(const Node& node, size_t number, Section* section,
                      absl::Span<const Value> inputs, EagerRandom* taken, Stream& stream);
  // The same for an executable that is fresh: it points to where everything is.
  absl::Status LaunchFresh(const Node& node, size_t number, Section* section,
                           absl::Span<const Value> inputs, EagerRandom* taken, Stream& stream);
  // What LaunchNode drew and placed.
  static void TakeBack(Node* node);

 private:
  absl::Status LaunchAsItIs(const Node& node, size_t number, const Section& section,
                            Stream& stream);

  Ground& ground_;
  CallJournal& journal_;
  Executables& executables_;
  KeptOutputs& kept_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_SECTION_LAUNCHER_H_
