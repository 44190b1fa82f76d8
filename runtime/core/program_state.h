// A program as the runtime keeps it: its slots' memory, its shapes and what became of each.
//
//   ProgramState --- arena      device memory of the slots (slot_memory.h)
//                --- ring       page-locked memory for steps (staging_ring.h)
//                --- table      which shape serves a call (shape_table.h), over:
//                --- shapes     by id: its plan, and the tree's function that has its recording
//                --- eager      the tree's function for steps that no shape serves; never recorded
//
// A shape's function has one input, the step's block. Where the host knows the cursor, as after a
// replay, the function is given the address that stands for the block at the cursor
// (block_cursor.h): the same in every step, so a replay patches nothing. Else it is given the
// block's own address. Which of the two does not depend on how the call is going to run: nobody
// knows that yet. All else that the body uses lies at fixed places.
#ifndef GRAPHTREE_RUNTIME_CORE_PROGRAM_STATE_H_
#define GRAPHTREE_RUNTIME_CORE_PROGRAM_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "graphs/function_options.h"
#include "graphs/reports/captured_pointers.h"
#include "graphs/tensor.h"
#include "runtime/core/lane.h"
#include "runtime/core/shape_life.h"
#include "runtime/park/parkable_memory.h"
#include "runtime/parking.h"
#include "runtime/program.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/shapes/vote.h"
#include "runtime/slots/free_events.h"
#include "runtime/slots/host_runs.h"
#include "runtime/slots/rows.h"
#include "runtime/slots/slot.h"
#include "runtime/slots/slot_memory.h"
#include "runtime/slots/slot_plan.h"
#include "runtime/slots/staging_ring.h"
#include "runtime/watch/shape_watch.h"
#include "runtime/watch/watch.h"
#include "runtime/why.h"

namespace graphtree {

// What serves one shape, or any key eagerly.
struct ShapeState {
  Key key;
  Mode mode = Mode::kFull;
  ShapePlan plan;
  FunctionId function = 0;
  ShapeLife life;
  // The tree could not patch this function's input, because the body has work that no launch
  // declares and that may hide an address (match/input_roles.h). So the tree copies the block's
  // bytes before a replay and gives the op that copy. For that it must be told where the block is:
  // the address that stands for "at the cursor" (block_cursor.h) points to other bytes. Steps of
  // this shape therefore always give the block's own address.
  bool needs_blocks_address = false;
  bool is_by_cursor = false;  // the step under way leaves the block to the cursor
  // Steps that it served, or would have served best had it been recorded.
  uint64_t wanted = 0;
  // What the body returned for this key, once it has; kinds and sizes.
  bool has_run = false;
  std::vector<const Layout*> outputs;
  // Of the last run of the body: its ops, and the bytes of all that it has allocated.
  uint64_t ops = 0;
  uint64_t asked_bytes = 0;
  bool has_found_none = false;  // a step of it has found no memory, once
  uint64_t lacks_bytes = 0;     // what its steps have lacked, summed up: eager parts may take that
  uint64_t recording_lacks_bytes = 0;  // what its recordings have lacked, by a guess
  uint64_t given_up = 0;  // Lane::given_up when it was last replayed
  std::shared_ptr<ShapeWatch> watch;  // what readers on other threads see

  void TellWatch(bool is_recorded) {
    watch->is_recorded.store(is_recorded, std::memory_order_relaxed);
  }
  void TellWatch() { TellWatch(life.is_recorded()); }
};

class ProgramState {
 public:
  // `lane` and its device outlive the program. REQUIRES: the dependencies are declared in the lane.
  // `records_while_serving` as in RuntimeOptions.
  static absl::StatusOr<std::unique_ptr<ProgramState>> Create(Lane& lane, ProgramOptions options,
                                                              bool records_while_serving);
  ProgramState(const ProgramState&) = delete;
  ProgramState& operator=(const ProgramState&) = delete;

  // All or none.
  absl::Status AddShapes(absl::Span<const Key> keys, Mode mode);
  // The functions leave their tree: all or none. An error inside of a call of that tree.
  absl::Status Leave();

  // The memory that work of its steps may still use. REQUIRES: the program is used no more.
  std::vector<std::shared_ptr<void>> TakeMemory();

  // For a step that no shape serves: its plan replaces that of the last such step. An error if the
  // slots cannot hold it.
  absl::StatusOr<ShapeState*> PlanEagerly(const Key& key);

  const ProgramOptions& options() const { return options_; }
  const std::string& name() const { return options_.name; }
  // The same on every rank that has a program of this name.
  uint64_t fingerprint() const { return fingerprint_; }
  Lane& lane() const { return lane_; }
  ShapeTable& table() { return *table_; }
  const ShapeTable& table() const { return *table_; }
  StagingRing& ring() { return *ring_; }
  // None if the program does not tell.
  const FreeEvents& free_events() const { return free_events_; }
  // On the device, now.
  uint64_t slot_bytes() const { return watch_->slot_bytes.get(); }
  // That the driver took when its shapes ran first, as far as somebody looked.
  uint64_t code_bytes() const { return watch_->code_bytes.get(); }
  void NoteCode(uint64_t bytes) { watch_->code_bytes.Add(bytes); }
  const std::shared_ptr<ProgramWatch>& watch() const { return watch_; }
  // Tells the watch what the ring has counted.
  void TellWatch() {
    watch_->staging_waits.Set(ring_->waits());
    watch_->staging_told.Set(ring_->told());
  }
  // Among the runtime's programs (ProgramId::index).
  uint32_t number() const { return number_; }
  void SetNumber(uint32_t number) { number_ = number; }
  std::vector<uint32_t> dependencies() const;
  // The shape with this index of the table.
  ShapeState& shape(uint32_t index) { return *shapes_[table_->shape(index).id]; }
  // Its index, kNoShape if there is none.
  uint32_t FindShape(const Key& key, Mode mode) const;
  // The same in every table of the program's; kNoShape of kNoShape.
  uint64_t IdOf(uint32_t index) const {
    return index == kNoShape ? kNoShape : table_->shape(index).id;
  }
  // The tags that it is parked by, itself or as memory that it needs (program_parking.cc). For
  // whoever has the lane.
  const std::vector<std::string>& parked_by() const { return parked_by_; }
  void SetParkedBy(const std::string& tag, bool is_parked);
  // OK, or an error that says by what it is parked.
  absl::Status CheckAwake() const;
  bool Needs(absl::string_view tag) const;
  // Whether one of its recordings holds an address there.
  bool PointsInto(AddressRange range) const;
  // Waits for the work of its steps. The slots leave and come back (SlotMemory).
  absl::Status AwaitSteps() { return ring_->Await(); }
  absl::Status ParkSlots(Contents contents);
  absl::Status WakeSlots();
  absl::Status CheckSlots() const;
  void ForgetLastPark() { memory_->ForgetLastPark(); }
  absl::Status DropSlots();
  const ParkableMemory& slot_memory() const { return memory_->memory(); }

  // What callers ask of it, as in runtime.h (program_answers.cc).
  absl::StatusOr<Vote> MakeVote(const Key& key, Modes allowed, uint32_t round) const;
  absl::StatusOr<Agreement> Agree(const Key& key, Modes allowed, uint32_t round,
                                  absl::Span<const Vote> votes) const;
  absl::StatusOr<HostRuns> RunsOf(SlotId slot, const HostRows& rows) const;
  bool LeavesOut(absl::Span<const SlotId> staged) const;
  absl::StatusOr<CapturedPointers> Pointers(const Key& key, AddressRange range) const;
  absl::StatusOr<FreeEvents> WhenFree() const;
  absl::StatusOr<Tensor> SlotWhole(SlotId slot) const;
  // An error if the rows lie in the program's own slots, which the op that reads them writes.
  absl::Status CheckNoneOfItsSlots(SlotId slot, const DeviceRows& rows) const;

  // What became of a shape (shape_life.h): from then on the table chooses by it.
  void SetRecorded(uint32_t index, bool is_first, std::vector<uint64_t> generations,
                   uint64_t epoch);
  void SetReplayed(uint32_t index, std::vector<uint64_t> generations);
  void SetFailed(uint32_t index, Why why);
  void SetFailedServing(uint32_t index, Why why, uint64_t most_pause);
  void NoteWaited(uint32_t index);
  void SetExcluded(uint32_t index, bool is_excluded);
  // Recordings of the epoch serve steps from now on.
  void Commit(uint64_t epoch);
  // The keys of recordings that wait for the epoch to be committed.
  std::vector<Key> Uncommitted(uint64_t epoch) const;

 private:
  ProgramState(Lane& lane, ProgramOptions options, bool records_while_serving);

  // The table is told what the shape's life says.
  void TellTable(uint32_t index) {
    ShapeState& told = shape(index);
    const Why usable = told.life.usable(records_while_serving_);
    table_->SetUsable(index, usable);
    told.watch->usable.store(usable, std::memory_order_relaxed);
    told.TellWatch();
  }

  FunctionId RegisterShape(ShapeState* shape, std::string name, bool is_eager);
  bool IsStepOf(const ShapeState* shape) const;
  Values RunBody(ShapeState* shape, Launcher& on) const;
  // False if it fails: `on` has the error.
  bool Prepare(ShapeState* shape, Launcher& on, ProgramInputs* in) const;
  // Makes the launcher fail if the body did not return what it returned before for this key.
  static void CheckOutputs(const Values& outputs, ShapeState* shape, Launcher& on);

  // Tells the watch what the slots have of the device.
  void TellSlots();

  Lane& lane_;
  // The functions have it, too: queued work may use what the program's bodies have captured, and
  // the tree knows when that is over (graphs/budget/graveyard.h).
  const std::shared_ptr<const ProgramOptions> kept_options_;
  const ProgramOptions& options_;
  const bool records_while_serving_;
  const uint64_t fingerprint_;
  const std::shared_ptr<ProgramWatch> watch_;
  uint32_t number_ = 0;
  ArenaPlan arena_;
  FreeEvents free_events_;
  std::unique_ptr<SlotMemory> memory_;
  std::unique_ptr<StagingRing> ring_;  // goes before the memory, and waits for the last step
  ShapeState eager_;
  std::vector<std::unique_ptr<ShapeState>> shapes_;
  std::optional<ShapeTable> table_;  // set by Create
  std::vector<std::string> parked_by_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_PROGRAM_STATE_H_
