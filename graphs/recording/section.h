// A section of a recording: one graph, and all that a replay changes in its executable before the
// launch.
//
//   [ingest: copies inputs in, writes random words] -> op -> op -> [egress: copies outputs out]
//                                                      ^ patched if their inputs have moved
//
// An address that moves often comes back to where it was the time before: the caller holds an
// output until the next one is made, or brings its input in two buffers by turns. Such a section
// gets a second executable, its spare, and the two take turns (section_launcher.cc):
//
//   address of the output   A    B    A    B    A    B    A
//   one executable          A   >B   >A   >B   >A            each > patches every op that takes it
//   and its spare           A         A         A         A
//                                B         B         B
//
// A recording of a body without breaks has one section.
#ifndef GRAPHTREE_GRAPHS_RECORDING_SECTION_H_
#define GRAPHTREE_GRAPHS_RECORDING_SECTION_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "device/graph.h"
#include "device/op_identity.h"
#include "graphs/inputs/ingest/ingest.h"
#include "graphs/inputs/pointer_slots.h"
#include "graphs/random/generator.h"
#include "graphs/random/random_source.h"

namespace graphtree {

// The random numbers that every run of the section takes from one generator, and those that the
// last run took.
struct NodeRandom {
  RandomUse use;
  RandomPiece taken;
};

// One op that copies inputs in and writes scalars. Copy c of it serves input inputs[c].
struct IngestOp {
  IngestPlan plan;
  OpId op = 0;
  std::vector<uint32_t> inputs;
  bool unpatched = false;  // the plan has changed, and the executable is not patched to it yet
};

// A second executable of a section's graph, and the tables of what it points to.
struct Spare {
  std::unique_ptr<Executable> executable;
  std::vector<IngestOp> ingest;
  PointerTable pointers;
  std::vector<IngestOp> egress;
};

// For a section or a spare whose executable was made just now: the executable has the arguments
// that were captured, whatever the tables say.
template <typename Patched>
void ForgetPatches(Patched* patched) {
  for (IngestOp& ingest : patched->ingest) ingest.unpatched = true;
  for (IngestOp& egress : patched->egress) egress.unpatched = true;
  patched->pointers.ForgetPatches();
}

struct Section {
  std::unique_ptr<Graph> graph;            // null if nothing was launched
  std::unique_ptr<Executable> executable;  // likewise, and if it was evicted
  std::shared_ptr<const GraphIdentity> identity;  // what its ops are; null if nothing was launched
  std::vector<IngestOp> ingest;            // the ops that copy inputs in
  PointerTable pointers;                   // the ops that take patched inputs and kept outputs
  std::vector<IngestOp> egress;            // the ops that copy kept outputs (its `inputs`) out
  std::vector<NodeRandom> random;          // generator g has scalars 2g (seed) and 2g + 1 (offset)

  std::unique_ptr<Spare> spare;            // or null
  uint64_t patience = 1;  // a spare takes so many times as many replays as the options ask for

  uint64_t op_count() const { return graph == nullptr ? 0 : graph->op_count(); }
  uint64_t executables() const {
    return (executable == nullptr ? 0 : 1) + (spare == nullptr ? 0 : 1);
  }
  uint64_t device_bytes() const {
    return (executable == nullptr ? 0 : executable->device_bytes()) +
           (spare == nullptr ? 0 : spare->executable->device_bytes());
  }
  // Every launch is the same: nothing is patched or drawn.
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
  // A spare could not be made, or had to go: the next one must be worth more.
  void NoSpare() {
    constexpr uint64_t kMostPatience = uint64_t{1} << 20;
    spare = nullptr;
    patience = std::min(8 * patience, kMostPatience);
    pointers.ForgetReturns();
  }
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RECORDING_SECTION_H_
