// A node is one function recorded right after one path, around what was alive then.
//
//   root --- prefill --+-- decode   (static inputs at A)      children are found by a hash over
//            (level 0) +-- decode   (static inputs at B)      function and inputs; the one that was
//                      +-- sample                             taken last is tried first
//
//   before   LiveSet      outputs of the path that may be alive when the node starts
//   inputs   rows, roles  what a call must bring (match.h)
//   section  graph        what the node launches; several where its body breaks (cut.h)
//   outputs  slots        what a replay hands out: own memory, an alias, or a constant
//   after    checkpoint   the pool's books when the node had been recorded
//
// A warm-up run makes a node, too, without a recording: a place on the path, and nothing more.
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
#include "graphs/history/call_stack.h"
#include "graphs/inputs/range_list.h"
#include "graphs/match/function.h"
#include "graphs/match/general_nodes.h"
#include "graphs/match/keep.h"
#include "graphs/match/match.h"
#include "graphs/match/siblings.h"
#include "graphs/recording/cut.h"
#include "graphs/recording/section.h"
#include "graphs/reports/call_counts.h"
#include "graphs/storage.h"
#include "graphs/workspaces.h"

namespace graphtree {

struct Node;

// Where a replay takes an output from.
enum class OutputKind : uint8_t {
  kConstant,    // an integer, nothing, or foreign memory: as it was recorded
  kOwn,         // memory of this node's
  kSameAsOwn,   // the storage of an earlier output of this node
  kInput,       // the memory of an input that is not static: the caller's, not a copy of it
  kAncestor,    // the storage of an output of an earlier node on the path
  kKept,        // memory in the lasting region, at another place for every run
};

struct OutputSlot {
  OutputKind kind = OutputKind::kConstant;
  Value constant;                    // kConstant
  const Layout* layout = nullptr;
  Address address = 0;               // kInput, kKept: offset from the beginning of that memory
  AddressRange block_range;          // kOwn: the whole block
  uint32_t source = 0;               // kSameAsOwn, kAncestor: output; kInput: input; kKept: which
  Node* ancestor = nullptr;          // kAncestor
  Storage* storage = nullptr;        // kOwn: what the last replay handed out, held inside; or null
};

// An output of the path that died while the node was recorded: the call brought its last handles,
// as this input. `moves`: the input is taken at any address, so that a replay may be given another
// output there; then `output` must be dead, or die with that call.
struct Consumed {
  OutputRef output;
  uint32_t input = 0;
  bool moves = false;
};

// Which inputs of a variant were seen at a second address after one node.
struct MovedInputs {
  std::vector<bool> moved;
  uint32_t eager_runs = 0;  // that this caused
};

// A block that was live when the node had been recorded, and the output that lies in it.
struct LiveBlock {
  OutputRef output;
  BlockId block;
};

// An output of a node that outlives its step.
struct KeptOutput {
  AddressRange block;   // where it was recorded
  uint64_t serial = 0;  // of that block's storage, while it is recorded
  const Layout* bytes = nullptr;  // of each place: a layout of as many bytes
};

// How often a variant was recorded again after one node, and how often it was refused since because
// that was too often.
struct Rerecords {
  uint64_t count = 0;
  uint64_t refused = 0;
};

// Memory that is not the tree's and that an op of the node points to. Noted in checked mode only.
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

  Section& last() { return cuts.empty() ? section : cuts.back().next_section; }
  const Section& SectionAt(size_t number) const {
    return number == 0 ? section : cuts[number - 1].next_section;
  }
  template <typename Visitor>
  void VisitSections(Visitor visit) {
    visit(section);
    for (Cut& cut : cuts) visit(cut.next_section);
  }
  template <typename Visitor>
  void VisitSections(Visitor visit) const {
    visit(section);
    for (const Cut& cut : cuts) visit(cut.next_section);
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
  const FunctionHooks* hooks = nullptr;  // of its function; null if it has none
  // The body keeps tensors that it does not return, or uses some that it was not given: its work
  // depends on more than its inputs.
  bool stores = false;

  InputPattern inputs;
  std::vector<InputRole> roles;
  uint64_t call_hash = 0;  // over function, roles and pinned words
  bool is_general = false;  // takes an input at any address that could be pinned
  // The inputs that the node writes to; an input that moves may not share bytes with them.
  std::vector<uint32_t> written;
  // Other memory that the node writes to and that is not the tree's: the body knows it without
  // being given it. A copied input may not lie there.
  RangeList written_beside;
  LiveSet live_before;
  // Outputs of the path that the node uses without being given them: their bytes must be there.
  std::vector<OutputRef> needs;
  std::vector<Consumed> consumed;
  // The node hands out an input as a kept output: what comes there must not end with a step.
  bool keeps_inputs = false;
  // Inputs that are taken at any address and whose bytes are needed after the graph's first op. A
  // call may not bring a tensor there that it also brings as an input that dies inside.
  std::vector<uint32_t> lasting;

  std::vector<OutputSlot> outputs;

  Section section;           // the first one, and nearly always the only one
  std::vector<Cut> cuts;     // where the body breaks, each with the section after it
  std::vector<KeptOutput> kept;
  Values places;                         // where the next launch puts the kept outputs
  std::vector<WorkspaceUse> workspaces;  // of libraries, as they were when it was recorded
  mutable uint64_t workspaces_seen = 0;  // Workspaces::AreCurrent keeps it
  std::vector<OutsideUse> outside;
  std::vector<OpSite> sites;  // where all its ops were launched; in checked mode only
  std::vector<std::shared_ptr<void>> keep_alive;
  // Tensors that its body used without being given them, in lasting regions of this tree or others.
  Values held;
  CheckpointId checkpoint;
  std::vector<LiveBlock> live_after;
  // Memory of the body, beside outputs, that its parts may have taken along, and the name under
  // which storages there know this recording (Storage::remade_by).
  std::vector<AddressRange> remade;
  uint64_t remade_by = 0;
  // By input, for parts that write there: the serial of the storage that the body was given in the
  // input's place, or 0. Empty without parts.
  std::vector<uint64_t> stand_ins;
  std::vector<AddressRange> used;  // all that its recording allocated, in address order
  uint64_t replays = 0;
  uint64_t last_call = 0;  // that recorded or replayed it, by the tree's count of calls
  Uses recent;             // for the budgets

  Node* last_child = nullptr;
  std::vector<std::unique_ptr<Node>> children;  // in the order in which they were recorded
  // The same children, by call_hash, and by variant.
  absl::flat_hash_map<uint64_t, Siblings> by_call;
  absl::flat_hash_map<uint32_t, std::vector<Node*>> by_variant;
  // The children that take an input at any address although calls bring it as static or managed.
  GeneralNodes general;
  absl::flat_hash_map<uint32_t, MovedInputs> moved;  // by variant
  absl::flat_hash_map<uint32_t, Rerecords> unexpected;  // by variant, for the limit

 private:
  // Destroys the deepest nodes first, and none from within the destructor of its parent: on a path
  // of many levels such nested calls would overflow the stack of the thread that closes the tree.
  void DestroyBelow() {
    std::vector<std::unique_ptr<Node>> below = std::move(children);
    for (size_t i = 0; i < below.size(); ++i) {
      std::vector<std::unique_ptr<Node>> next = std::move(below[i]->children);
      std::move(next.begin(), next.end(), std::back_inserter(below));
    }
    while (!below.empty()) below.pop_back();
  }
};

// The edge from the function before the node's. REQUIRES: the node is not the root.
inline CallEdge EdgeOf(const Node& node) {
  const Variant* before = node.parent->variant;
  return {before == nullptr ? kPathBegin : before->function->id, node.variant->function->id};
}

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RECORDING_NODE_H_
