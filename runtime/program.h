// A program is what a server runs again and again: a body with slots, recorded once for each shape
// that the server lists.
//
//   ProgramOptions decode = {
//       .name = "decode",
//       .slots = {{.name = "ids", .type = DType::kI32, .sizes = {256}, .rows = KeyField::kTokens}},
//       .body = [](Launcher& on, const ProgramInputs& in) -> Values {
//         Tensor logits = on.Empty(DType::kF32, {in.key().tokens, kVocabulary});
//         on.Launch(kModel, shape, {In(in.slot(0)), Out(logits)});
//         return {logits};
//       }};
//
// What a step runs, as one launch:
//
//   [unpack: bring the slots in] -> [prepare: the caller's kernels on the slots] -> [body]
//
// `prepare` computes what the body needs from the slots, on the device: offsets, masks, plans of an
// attention backend. Both are recorded, so neither may compute on the host from data: a replay
// would go on with what was computed then.
//
// A body may be called any number of times, for any shape of its program, and launches work for the
// padded key. What it returns follows from that key alone: other sizes, or more outputs, than it
// returned before for the same key are an error. A slot that it returns, whole or in part, is
// returned as a copy, since the next step writes over the slot. Memory that it knows without being
// given it (weights, caches) stays where it is, or is declared as a dependency
// (Runtime::DeclareDep, DeclareWorkspace) and touched when it moves.
#ifndef GRAPHTREE_RUNTIME_PROGRAM_H_
#define GRAPHTREE_RUNTIME_PROGRAM_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "device/address.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"
#include "runtime/slots/free_events.h"
#include "runtime/slots/slot.h"

namespace graphtree {

// One runtime's number for a program, a dependency. Another runtime tells that it is not its own.
struct ProgramId {
  uint32_t runtime = 0;
  uint32_t index = 0;
  friend bool operator==(const ProgramId&, const ProgramId&) = default;
};
struct DepId {
  uint32_t runtime = 0;
  uint32_t index = 0;
};

// A shape whose graph is recorded and waits for Runtime::Commit.
struct UncommittedShape {
  ProgramId program;
  Key key;
};

// What a body is given beside its launcher. Good while the body runs.
class ProgramInputs {
 public:
  ProgramInputs(const Key& key, Mode mode, std::vector<Tensor> slots)
      : key_(key), mode_(mode), slots_(std::move(slots)) {}

  // As the shape has it: tokens and requests are padded.
  const Key& key() const { return key_; }
  // Of the shape, or kEager in a run that no shape serves: a body that breaks does so in both but
  // full shapes.
  Mode mode() const { return mode_; }
  // The slot as large as the shape is. REQUIRES: the program has it.
  const Tensor& slot(SlotId id) const { return slots_[id]; }
  // The memory that the program's dependency with this place in ProgramOptions::deps has now;
  // nothing for one that is no workspace. A body that has its library grow it says so
  // (Runtime::MoveWorkspace), and uses what the library has then.
  AddressRange workspace(size_t place) const { return workspaces_[place]; }
  // What `prepare` returned.
  const Values& prepared() const { return prepared_; }

  // The body, and what it has launched so far, reads no slot any more, nor writes one: from here on
  // the slots may be written for the next step (free_events.h). Once in a body, where all of the
  // slots' readers are joined; nothing happens in a program that does not tell.
  void SlotsAreFree(Launcher& on) const {
    slots_are_free_ = true;
    if (events_.are_told()) on.SetEvent(*events_.slots);
  }
  bool slots_are_free() const { return slots_are_free_; }

  // For whoever runs the body.
  void SetWorkspaces(std::vector<AddressRange> memory) { workspaces_ = std::move(memory); }
  void SetFreeEvents(FreeEvents events) { events_ = std::move(events); }
  void SetPrepared(Values prepared) { prepared_ = std::move(prepared); }

 private:
  Key key_;
  Mode mode_;
  std::vector<Tensor> slots_;
  Values prepared_;
  std::vector<AddressRange> workspaces_;
  FreeEvents events_;
  mutable bool slots_are_free_ = false;
};

using ProgramBody = std::function<Values(Launcher& on, const ProgramInputs& in)>;

struct ProgramOptions {
  std::string name;
  std::vector<SlotSpec> slots = {};
  KeyRules rules = {};
  ProgramBody prepare = {};  // may be empty
  ProgramBody body;
  // Graphs of one lane share memory and run one after another; those of different lanes may overlap
  // on the device.
  uint32_t lane = 0;
  // Which of the runtime's devices it runs on, in the order of Runtime::Create. Each device has
  // lanes of its own.
  uint32_t device = 0;
  // Its graphs must not be launched before others know them: peers exchange handles of the buffers
  // that a graph points to, for example. A recording belongs to an epoch and serves steps once
  // Runtime::Commit has committed that. Until then steps run eagerly. Such a program has full
  // shapes only, as a graph that is cut cannot be recorded without being launched.
  bool needs_commit = false;
  // A recording that was made before one of these was touched is made again.
  std::vector<DepId> deps = {};
  // What it is parked by (parking.h), with its lane; all programs of a lane have the same. Empty:
  // it is not parked.
  std::string tag = {};
  // Tags of memory that its bodies use: while one of them is parked no step begins.
  std::vector<std::string> needs = {};
  // Outputs that outlive their step.
  std::vector<uint32_t> kept_outputs = {};
  // Each step tells when its rows and slots may be written again (Runtime::WhenFree). That is two
  // more ops in every graph.
  bool tells_when_free = false;
  // FunctionOptions::unseen_writes and check.
  bool unseen_writes = false;
  bool check = false;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_PROGRAM_H_
