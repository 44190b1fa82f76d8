// A section of a recording: one graph and all that a replay does to its executable before it is
// launched.
//
//   [ingest: copies inputs in, writes random words] -> op -> op -> [egress: copies outputs out]
//                                                      ^ patched where they point to what moved
//
// What moves often comes back to where it was the time before: an output that the caller holds
// until the next one is made, a buffer of two. Such a section gets a second executable, its spare,
// and the two take turns (turns.cc):
//
//   address of the output   A    B    A    B    A    B    A
//   one executable          A   >B   >A   >B   >A            each > patches every op that takes it
//   and its spare           A         A         A         A
//                                B         B         B
//
// A recording whose body is nowhere cut has one section.
#ifndef GRAPHTREE_GRAPHS_RECORDING_SECTION_H_
#define GRAPHTREE_GRAPHS_RECORDING_SECTION_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "device/graph.h"
#include "graphs/inputs/ingest/ingest.h"
#include "graphs/inputs/pointer_slots.h"
#include "graphs/random/generator.h"
#include "graphs/random/random_source.h"

namespace graphtree {

// What every run of the section takes from one generator, and what the last one took.
struct NodeRandom {
  RandomUse use;
  RandomPiece taken;
};

// One op that copies inputs in and writes scalars. Copy c of it serves input inputs[c].
struct IngestOp {
  IngestPlan plan;
  OpId op = 0;
  std::vector<uint32_t> inputs;
  bool unpatched = false;  // the plan has moved on, and the executable has not
};

// Another executable of a section's graph, and what that one points to.
struct Spare {
  std::unique_ptr<Executable> executable;
  std::vector<IngestOp> ingest;
  PointerTable pointers;
  std::vector<IngestOp> egress;
};

// Of a section or a spare whose executable is fresh: that one has the arguments that were captured,
// whatever the tables say.
template <typename Patched>
void ForgetPatches(Patched* patched) {
  for (IngestOp& ingest : patched->ingest) ingest.unpatched = true;
  for (IngestOp& egress : patched->egress) egress.unpatched = true;
  patched->pointers.ForgetPatches();
}

struct Section {
  std::unique_ptr<Graph> graph;            // null if nothing was launched
  std::unique_ptr<Executable> executable;  // likewise, and if it was evicted
  std::vector<IngestOp> ingest;            // the ops that copy inputs in
  PointerTable pointers;                   // the ops that take patched inputs and kept outputs
  std::vector<IngestOp> egress;            // the ops that copy kept outputs out; "inputs" are those
  std::vector<NodeRandom> random;          // generator g has scalars 2g (seed) and 2g + 1 (offset)

  std::unique_ptr<Spare> spare;            // or null
  uint64_t patience = 1;  // by how much a spare must be worth more than the options ask

  uint64_t op_count() const { return graph == nullptr ? 0 : graph->op_count(); }
  uint64_t executables() const {
    return (executable == nullptr ? 0 : 1) + (spare == nullptr ? 0 : 1);
  }
  uint64_t device_bytes() const {
    return (executable == nullptr ? 0 : executable->device_bytes()) +
           (spare == nullptr ? 0 : spare->executable->device_bytes());
  }
  // Every launch is as the one before.
  bool is_fixed() const {
    return ingest.empty() && random.empty() && egress.empty() && pointers.empty();
  }
  // REQUIRES: there is a spare.
  void SwapWithSpare() {
    std::swap(executable, spare->executable);
    std::swap(ingest, spare->ingest);
    std::swap(pointers, spare->pointers);
    std::swap(egress, spare->egress);
  }
  // One could not be made, or had to go: the next must be worth more.
  void NoSpare() {
    constexpr uint64_t kMostPatience = uint64_t{1} << 20;
    spare = nullptr;
    patience = std::min(8 * patience, kMostPatience);
    pointers.ForgetReturns();
  }
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RECORDING_SECTION_H_
