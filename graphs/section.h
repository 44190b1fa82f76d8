// A section of a recording: one graph and all that a replay does to its executable before it is
// launched.
//
//   [ingest: copies inputs in, writes random words] -> op -> op -> [egress: copies outputs out]
//                                                      ^ patched where they point to what moved
//
// A recording whose body is nowhere cut has one section.
#ifndef GRAPHTREE_GRAPHS_SECTION_H_
#define GRAPHTREE_GRAPHS_SECTION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "device/graph.h"
#include "graphs/ingest/ingest.h"
#include "graphs/pointer_slots.h"
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

struct Section {
  std::unique_ptr<Graph> graph;            // null if nothing was launched
  std::unique_ptr<Executable> executable;  // likewise, and if it was evicted
  std::vector<IngestOp> ingest;            // the ops that copy inputs in
  PointerTable pointers;                   // the ops that take patched inputs and kept outputs
  std::vector<IngestOp> egress;            // the ops that copy kept outputs out; "inputs" are those
  std::vector<NodeRandom> random;          // generator g has scalars 2g (seed) and 2g + 1 (offset)

  uint64_t op_count() const { return graph == nullptr ? 0 : graph->op_count(); }
  uint64_t device_bytes() const { return executable == nullptr ? 0 : executable->device_bytes(); }
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_SECTION_H_
