// A node is one function recorded right after one path, around what was alive then.
//
//   root --- prefill --+-- decode   (static inputs at A)      children are found by a hash over
//            (level 0) +-- decode   (static inputs at B)      function and inputs; the one that was
//                      +-- sample                             taken last is tried first
//
//   before   LiveSet      outputs of the path that may be alive when it starts
//   inputs   rows, roles  what a call must bring (match.h)
//   section  graph        what it launches; several where its body breaks (cut.h)
//   outputs  slots        what a replay hands out: own memory, an alias, or a constant
//   after    checkpoint   the pool's books when it had been recorded
//
// A warm-up run makes a node too, without a recording: it only holds its place on the path.
#ifndef GRAPHTREE_GRAPHS_RECORDING_NODE_H_
#define GRAPHTREE_GRAPHS_RECORDING_NODE_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/pool.h"
#include "device/address.h"
#include "graphs/call_counts.h"
#include "graphs/history/call_stack.h"
#include "graphs/recording/cut.h"
#include "graphs/match/function.h"
#include "graphs/match/general_nodes.h"
#include "graphs/match/keep.h"
#include "graphs/match/match.h"
#include "graphs/inputs/range_list.h"
#include "graphs/recording/section.h"
#include "graphs/match/siblings.h"
#include "graphs/storage.h"
#include "graphs/workspaces.h"

namespace graphtree {

struct Node;

// Where a replay takes an output from.
enum class OutputKind : uint8_t {
  kConstant,    // an integer, nothing, or foreign memory: as it was recorded
  kOwn,         // memory of this node's
  kSameAsOwn,   // the storage of an earlier output of this node
  kInput,       // the memory of an input that is not static: the caller's, not the copy
  kAncestor,    // the storage of an output of an earlier node on the path
  kKept,        // memory of its own, apart from the node's, at another place for every run
};

struct OutputSlot {
  OutputKind kind = OutputKind::kConstant;
  Value constant;                    // kConstant
  const Layout* layout = nullptr;
  Address address = 0;               // kInput, kKept: offset from its beginning
  AddressRange block_range;          // kOwn: the whole block
  uint32_t source = 0;               // kSameAsOwn, kAncestor: output; kInput: input; kKept: which
  Node* ancestor = nullptr;          // kAncestor
  Storage* storage = nullptr;        // kOwn: what the last replay handed out, held inside; or null
};

// An input that died inside the function when it was recorded. At a replay it is another output
// where the input may move.
struct Consumed {
  OutputRef output;
  uint32_t input = 0;
  bool moves = false;
};

// Which inputs have been seen at a second address at one place.
struct MovedInputs {
  std::vector<bool> moved;
  uint32_t eager_runs = 0;  // because of it
};

// A block that was live when the node had been recorded, and whose output that is.
struct LiveBlock {
  OutputRef output;
  BlockId block;
};

// Memory of an output that outlives its step.
struct KeptOutput {
  AddressRange block;   // where it was recorded
  uint64_t serial = 0;  // of that block's storage, while it is recorded
  const Layout* bytes = nullptr;  // of each place: as many bytes
};

// How often a variant was recorded again at one place, and refused for it since.
struct Rerecords {
  uint64_t count = 0;
  uint64_t refused = 0;
};

// Memory that is not the tree's and that an op of the node points to. Kept in checked mode only.
struct OutsideUse {
  std::string op;
  Access access = Access::kRead;
  AddressRange range;
  StackId at = 0;  // where the body launched the op
};

struct Node {
  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() {
    for (OutputSlot& slot : outputs) {
      if (slot.storage != nullptr) slot.storage->DropInside();
    }
    DestroyBelow();
  }

  Section& last() { return cuts.empty() ? section : cuts.back().behind; }
  const Section& SectionAt(size_t number) const {
    return number == 0 ? section : cuts[number - 1].behind;
  }
  template <typename Visitor>
  void VisitSections(Visitor visit) {
    visit(section);
    for (Cut& cut : cuts) visit(cut.behind);
  }
  template <typename Visitor>
  void VisitSections(Visitor visit) const {
    visit(section);
    for (const Cut& cut : cuts) visit(cut.behind);
  }
  uint64_t op_count() const {
    uint64_t ops = 0;
    VisitSections([&](const Section& one) { ops += one.op_count(); });
    return ops;
  }
  uint64_t executables() const {
    uint64_t executables = 0;
    VisitSections([&](const Section& one) { executables += one.executables(); });
    return executables;
  }
  uint64_t device_bytes() const {
    uint64_t bytes = 0;
    VisitSections([&](const Section& one) { bytes += one.device_bytes(); });
    return bytes;
  }

  Node* parent = nullptr;
  uint32_t level = 0;
  uint64_t id = 0;        // recordings count from 0
  Variant* variant = nullptr;
  bool warm_up = false;
  // Its body keeps tensors that it does not return, or uses some that it was not given: what it
  // does depends on more than its inputs.
  bool stores = false;

  InputPattern inputs;
  std::vector<InputRole> roles;
  uint64_t call_hash = 0;  // over function, roles and pins
  bool is_general = false;  // takes an input at any address that could be pinned
  // The inputs that it writes to; one that moves may not share bytes with them.
  std::vector<uint32_t> written;
  // What else of other people's: memory that the body knows without being given it. An input that
  // is copied may not lie there.
  RangeList written_beside;
  LiveSet live_before;
  std::vector<Consumed> consumed;
  // It hands out an input as a kept output: what comes there must not end with a step.
  bool keeps_inputs = false;
  // Inputs taken at any address whose bytes are needed behind the graph's first op: one that died
  // inside may not come as one of them too.
  std::vector<uint32_t> lasting;

  std::vector<OutputSlot> outputs;

  Section section;           // the first one, and nearly always the only one
  std::vector<Cut> cuts;     // where the body breaks, each with the section behind it
  std::vector<KeptOutput> kept;
  Values places;                         // where the next launch puts them
  std::vector<WorkspaceUse> workspaces;  // of libraries, as they were when it was recorded
  std::vector<OutsideUse> outside;
  std::vector<OpSite> sites;  // of all its ops; likewise
  std::vector<std::shared_ptr<void>> keep_alive;
  Values held;  // that its body used without being given them: of lasting regions, also of other
                // trees'
  CheckpointId checkpoint;
  std::vector<LiveBlock> live_after;
  // Of its body's memory, what its parts may have taken along beside outputs, and how that is known
  // (Storage::remade_by).
  std::vector<AddressRange> remade;
  uint64_t remade_by = 0;
  std::vector<AddressRange> used;  // all that its recording allocated, in address order; to look at
  uint64_t replays = 0;
  uint64_t last_call = 0;  // that recorded or replayed it, by the tree's count of calls
  Uses recent;             // for the budgets

  Node* last_child = nullptr;
  std::vector<std::unique_ptr<Node>> children;  // in the order in which they were recorded
  // The same, by a hash over function and pins, and by variant.
  absl::flat_hash_map<uint64_t, Siblings> by_call;
  absl::flat_hash_map<uint32_t, std::vector<Node*>> by_variant;
  // The children that serve inputs at any address which the call brings as static or managed.
  GeneralNodes general;
  absl::flat_hash_map<uint32_t, MovedInputs> moved;  // by variant
  absl::flat_hash_map<uint32_t, Rerecords> unexpected;  // by variant, for the limit

 private:
  // The deepest first, and none of them while its parent goes: a path may be so deep that a call
  // inside a call for each level would overflow the stack of the thread that closes the tree.
  void DestroyBelow() {
    std::vector<std::unique_ptr<Node>> below = std::move(children);
    for (size_t i = 0; i < below.size(); ++i) {
      std::vector<std::unique_ptr<Node>> next = std::move(below[i]->children);
      std::move(next.begin(), next.end(), std::back_inserter(below));
    }
    while (!below.empty()) below.pop_back();
  }
};

// REQUIRES: it is no root.
inline CallEdge EdgeOf(const Node& node) {
  const Variant* before = node.parent->variant;
  return {before == nullptr ? kPathBegin : before->function->id, node.variant->function->id};
}

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RECORDING_NODE_H_
