// The runtime: what an inference server links. It chooses a recorded graph for each step, brings
// the step's data in, and runs everything as one launch.
//
//   auto runtime = *Runtime::Create(*device, {});
//   ProgramId decode = *runtime->AddProgram({.name = "decode", .slots = ..., .body = ...});
//   runtime->AddShapes(decode, {{.tokens = 1}, {.tokens = 8}, {.tokens = 64}});
//   runtime->Record(decode, *stream);                        // or while serving, one by one
//   while (serving) {
//     Step step = *runtime->Begin(decode, {.tokens = 5}, *stream);
//     step.Stage(kIds, HostRows{ids.data(), DType::kI64, 5});
//     step.Run(&outputs);                                    // step.why() says how it ran
//   }
//
// The life of a step:
//
//   Begin   the shape table chooses: the cheapest shape that covers the key and is recorded, or an
//           eager run, always with a reason (why.h)
//   Stage   data are copied into a block of page-locked memory, or named; nothing is launched
//   Run     one launch: unpack the block, prepare, body
//
// Whatever the route, the body has run on the same bytes: an eager run unpacks, too, without
// padding.
//
// A shape that is not recorded yet is recorded while serving: the step that needs it first runs the
// body to warm up, the second one records it (RuntimeOptions::records_while_serving). Record does
// both ahead.
//
// Dependencies are what recordings point to and the runtime does not own: weights, workspaces,
// communicators, caches. Touch says that one has changed. A recording made before is not launched
// again, but made again, and that step says kStaleDependency.
//
// Outputs live until the next step in their lane runs, but for those that their program keeps. The
// next step may be staged with such an output (Stage takes tensors): a replay reads the output
// where it lies, and another run copies it first. Where the step goes on where the last one ended
// (StepOptions::continues) the output lives on, too.
//
// Commits: a program whose graphs must be known to others before they are launched says so
// (ProgramOptions::needs_commit). Its recordings belong to the epoch of now:
//
//   runtime->Record(allreduce, *stream);          // captured, and not launched
//   ExchangeHandles(runtime->Uncommitted());      // the caller's collective
//   runtime->Commit(runtime->epoch());            // from here on they serve steps
//
// A server that is to serve from the start has its graphs recorded in idle slots: Progress
// (progress.h), with RuntimeOptions::records_while_serving false, so that no step has to.
//
// A recording that fails while serving fails no step. It is counted, told, and tried again after 1,
// 2, 4, ... steps that ran without it, up to TreeBudget::retry_after.
//
// Captures: a step is launched as a graph of its own, from memory that later steps use again, so it
// is no part of a graph that its caller captures. Begin, Record and Run on a stream that captures
// are errors that say so and leave that capture as it was. Other streams may capture meanwhile, but
// not the stream of the lane's last step.
//
// Threads: one thread at a time in each lane. A step that a second thread begins while the first
// one's is under way is refused. Programs, shapes and dependencies are added, and epochs committed,
// while no step is under way in any lane. Statistics may be read on the thread that steps, while no
// other one does. No hidden threads, but for those of a door for tools that the program opens
// (OpenDoor); no state of the process.
#ifndef GRAPHTREE_RUNTIME_RUNTIME_H_
#define GRAPHTREE_RUNTIME_RUNTIME_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "device/device.h"
#include "device/stream.h"
#include "graphs/reports/captured_pointers.h"
#include "graphs/tensor.h"
#include "graphs/tree.h"
#include "runtime/configuration.h"
#include "runtime/explain.h"
#include "runtime/lending.h"
#include "runtime/metrics.h"
#include "runtime/parking.h"
#include "runtime/plan/ledger.h"
#include "runtime/program.h"
#include "runtime/progress.h"
#include "runtime/recording_plan.h"
#include "runtime/runtime_options.h"
#include "runtime/serving.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/launch_history.h"
#include "runtime/shapes/mode.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/shapes/vote.h"
#include "runtime/slots/free_events.h"
#include "runtime/slots/host_runs.h"
#include "runtime/slots/rows.h"
#include "runtime/slots/slot.h"
#include "runtime/why.h"

namespace graphtree {

class DoorServer;
class RuntimeCore;
struct OpenStep;

// One step under way. A handle: cheap to copy, good until Run or Cancel, and an error after that. A
// step has its lane until then, also where staging failed and the handle is gone
// (Runtime::CancelStep).
class Step {
 public:
  // Says what the slot has in this step; see rows.h.
  absl::Status Stage(SlotId slot, const HostRows& rows);
  absl::Status Stage(SlotId slot, const DeviceRows& rows);
  absl::Status Stage(SlotId slot, double value);
  // A tensor of a tree's or of the caller's, such as what the last step returned. One of a tree's
  // is held until the step has run.
  absl::Status Stage(SlotId slot, const Tensor& tensor);
  // Memory for `rows` rows of the slot's own type, which the caller writes before Run, one after
  // another: data that are made there need not be copied. Good until Run or Cancel. A row that is
  // not written has whatever was there. An error as Stage's, and where rows lie in pieces (an axis
  // before that of the rows).
  absl::StatusOr<void*> Buffer(SlotId slot, int64_t rows);

  // How the step is going to run, and after Run how it ran. REQUIRES: no later step was begun.
  const Choice& choice() const;
  Why why() const;
  // The same for people: "cover: tokens=5 padded to tokens=8".
  std::string Describe() const;

  // Runs the step and closes it, also where it fails: then the caller may begin it again. A replay
  // that fails leaves nothing behind. Of a run of the body itself that fails, what the body has
  // written in place to memory of the caller's stays, and so does what the slots took, unless the
  // program is known to break. An error if a slot was forgotten.
  absl::Status Run(Values* outputs);
  // Closes the step without running it.
  void Cancel();

 private:
  friend class Runtime;
  Step(RuntimeCore* core, OpenStep* step, uint64_t serial)
      : core_(core), step_(step), serial_(serial) {}
  bool is_open() const;
  absl::Status WhyClosed(absl::string_view what) const;

  RuntimeCore* core_;
  OpenStep* step_;
  uint64_t serial_;
};

class Runtime {
 public:
  // `device` outlives the runtime and all outputs.
  static absl::StatusOr<std::unique_ptr<Runtime>> Create(Device& device,
                                                         const RuntimeOptions& options);
  // Over several devices: a program says on which of them it runs (ProgramOptions::device).
  static absl::StatusOr<std::unique_ptr<Runtime>> Create(absl::Span<Device* const> devices,
                                                         const RuntimeOptions& options);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  // Waits for all work of the runtime's. If a capture is open on a device, what steps there used is
  // left with the device, and freed after that capture (Device::GiveBackLeftovers).
  // REQUIRES: no step runs, nor Record: a body that closes its own runtime ends the process, with a
  // sentence that says so.
  ~Runtime();

  absl::StatusOr<ProgramId> AddProgram(ProgramOptions options);
  // An error, and no shape is added, if one is there already, makes no sense under the program's
  // rules, or wants more rows than a slot has.
  absl::Status AddShapes(ProgramId program, absl::Span<const Key> keys, Mode mode = Mode::kFull);
  // A shape that is excluded serves no step until it is included again.
  absl::Status Exclude(ProgramId program, const Key& key, bool excluded = true);
  // The program, its shapes, recordings and slots go. Outputs stay good as they were. An error, and
  // nothing goes, while a capture is open on the device.
  absl::Status RemoveProgram(ProgramId program);

  // How steps are served from now on. An error, and nothing changes, while a step is under way in
  // some lane, and for a mode that makes no sense. Recordings stay whatever the mode.
  absl::Status SetServing(const ServingMode& mode);
  ServingMode serving() const;

  // Records all shapes of the program that are not recorded, or were before a dependency was
  // touched, the one with the most tokens first, on slots that have padding alone (PadRule), and
  // zeros where that is the last row; slots that keep what they have from step to step keep it. The
  // body runs twice for each, and writes what it writes: so a slot that says where, such as that of
  // a cache's places, pads with a number that the body takes for nowhere, as it does for padding in
  // any step. Where one makes a workspace grow that
  // others were recorded with, these are recorded again, as more of a shape may be asked of a
  // workspace for fewer tokens. Shapes that fail serve no step until they are recorded, as kFailed
  // or kNoMemory; the first failure is returned after all were tried. In modes off and shadow
  // nothing is recorded, which is told once.
  absl::Status Record(ProgramId program, Stream& stream);

  // Which of these shapes are to be recorded within so many bytes of the device, in which order,
  // and what they will take; records nothing (recording_plan.h). No shapes: all of the runtime's. A
  // budget of 0: no limit. An error if a shape is not there, if they lie on several devices, or if
  // the budget is less than what one of the programs needs.
  absl::StatusOr<RecordingPlan> Plan(absl::Span<const ShapeToRecord> shapes, uint64_t budget);
  // Records what the plan says, as Record does, and compares the estimate with what the device
  // gave. A shape that fails is left out, and the others are recorded. `after` is called once, with
  // the result, when no more is to be recorded.
  absl::StatusOr<PlanResult> RecordPlan(const RecordingPlan& plan, Stream& stream,
                                        const AfterPlan& after = nullptr);
  // Records in an idle slot, within a budget of time, what steps have wanted most (progress.h). An
  // error only if nothing could be tried; a shape that fails is counted and told, as one that fails
  // while serving.
  absl::StatusOr<ProgressReport> Progress(Stream& stream, const ProgressOptions& options = {});
  // How many shapes have their graphs, of all programs.
  Readiness readiness() const;
  // Of the last plan that was recorded; null if there is none. Good until the next one.
  const PlanResult* last_plan() const;

  // Gives the memory of what has the tag back, with its contents dropped, saved or in place, and
  // brings it back under the same addresses (parking.h): programs' lanes and slots, and memory that
  // AddMemory made. Meanwhile steps of these programs, and of those that need the tag, are errors
  // that name it. Refused, and nothing is parked, while a step of theirs is under way. Parking what
  // is parked so, and waking what is awake, changes nothing. On any thread.
  absl::Status Park(absl::string_view tag, Contents contents);
  absl::Status Wake(absl::string_view tag);
  // Memory for the caller's bodies and its own work, at one address until it is removed or the
  // runtime is closed; what lies there first is anything. REQUIRES of RemoveMemory: no work uses
  // it.
  absl::StatusOr<AddressRange> AddMemory(const MemoryOptions& options);
  absl::Status RemoveMemory(absl::string_view name);

  // Idle memory of a lane, for eager work of the caller's beside its steps (lending.h): an error,
  // that says how much is idle, if a recording needs what is asked for.
  absl::StatusOr<Loan> Lend(const LoanOptions& options, Stream& stream);

  // An error if something was declared under this name before, as a workspace or not.
  absl::StatusOr<DepId> DeclareDep(std::string name);
  // Between steps, or by a body, while no other thread runs a step. An error, and nothing is
  // touched, if a body touches it while another thread is in a call of another lane: both could
  // wait for each other. Nor by an object that a step lets go as it begins: the step has found out
  // by then how it runs.
  absl::Status Touch(DepId dep);
  // A dependency with memory, which a library keeps between calls and points its kernels to; bodies
  // are given it (ProgramInputs::workspace). It grows by moving: MoveWorkspace says where it is
  // now, between steps or by the body that has made it grow, while no other thread runs a step.
  // Recordings that have it as it was are not replayed again, and the owner keeps the old memory
  // until the steps before are over. So what needs the most of a workspace is to be recorded first:
  // a move after which recordings are stale is counted (RuntimeStats::workspace_moves) and told
  // through TreeOptions::warn, with who made the workspace grow, from what to what, and which
  // recordings that has cost. The same memory again changes nothing. Refused where Touch is.
  absl::StatusOr<DepId> DeclareWorkspace(std::string name, AddressRange memory);
  absl::Status MoveWorkspace(DepId workspace, AddressRange memory);
  // How often dependencies were touched or moved.
  uint64_t touches() const;

  // The epoch that recordings of programs that need commits belong to now, from 1 on.
  uint64_t epoch() const;
  // The recordings of this epoch.
  std::vector<UncommittedShape> Uncommitted() const;
  // They serve steps from now on, and the next epoch begins. An error if `epoch` is not the one of
  // now: a recording that was made after the caller's collective is not committed with it.
  absl::Status Commit(uint64_t epoch);

  // Where the bytes of such rows of the caller's lie. An error if there is no such slot, or if it
  // never has so many rows.
  absl::StatusOr<HostRuns> RunsOf(ProgramId program, SlotId slot, const HostRows& rows) const;
  // Whether a step that is staged with these slots reads one that it leaves out, as it is.
  absl::StatusOr<bool> LeavesOut(ProgramId program, absl::Span<const SlotId> staged) const;
  // OK if no other program lies in its lane, so that its steps may run beside those of all others.
  absl::Status CheckAloneInLane(ProgramId program) const;

  // What Begin would choose. No heap, no lock. An error if the program is not of this runtime.
  absl::StatusOr<Choice> Choose(ProgramId program, const Key& key,
                                Modes allowed = Modes::All()) const;
  absl::StatusOr<Step> Begin(ProgramId program, const Key& key, Stream& stream,
                             const StepOptions& options = {});

  // Cancels the step that was begun in a lane and whose handle is lost. False if there is none. By
  // the thread that has the lane.
  bool CancelStep(uint32_t lane = 0, uint32_t device = 0);

  // Several ranks: each makes a vote, moves the votes of all ranks with whatever it has, and begins
  // the step with the key and the modes on which all agree (vote.h). If they do not, or no graph
  // serves what they agree on, the key is the own call's and the step runs eagerly. `round` is the
  // caller's number of the step: votes of another one are an error.
  absl::StatusOr<Vote> MakeVote(ProgramId program, const Key& key, Modes allowed,
                                uint32_t round) const;
  absl::StatusOr<Agreement> Agree(ProgramId program, const Key& key, Modes allowed, uint32_t round,
                                  absl::Span<const Vote> votes) const;
  // The last steps of this rank in a lane that went well, in a graph or eagerly: to be compared
  // with another rank's. None if no program lies in that lane.
  const LaunchHistory& history(uint32_t lane = 0, uint32_t device = 0) const;

  // The program's events that say when the rows and slots of its last step may be written again
  // (free_events.h). An error if the program does not tell, was removed, or is another runtime's.
  absl::StatusOr<FreeEvents> WhenFree(ProgramId program) const;
  // The whole slot, as it lies for as long as the program is there: for work of the caller's own
  // that fills a slot in place of Stage (SlotSpec::may_be_left_out), once the slots are free. It is
  // memory of the caller's like any other (Tensor::Foreign): the tensor does not know when the
  // program is removed, and its bytes are gone then. Ask for it again rather than keep it.
  absl::StatusOr<Tensor> SlotWhole(ProgramId program, SlotId slot) const;

  // Where the recordings of a shape hold addresses in `range`, such as memory that its body has
  // pinned (Launcher::Pin), for whoever has to tell peers of them. An error if the program has no
  // shape with this key. A shape that is not recorded holds none.
  absl::StatusOr<CapturedPointers> Pointers(ProgramId program, const Key& key, AddressRange range);

  // What is in force, and where it came from (configuration.h). On any thread, at any time.
  std::vector<Setting> Settings() const;
  RuntimeStats stats() const;
  // Who holds the memory: by recording, shape and program (plan/ledger.h). On any thread, as
  // metrics, and likewise.
  MemoryLedger ledger() const;
  // Why steps ran as they did (explain.h). On any thread, at any time but while the runtime is
  // closed; it makes no step wait but for ExplainOptions::trees.
  Explanation Explain(const ExplainOptions& options = {}) const;
  // What it counts and holds (metrics.h). On any thread, likewise; it waits for the calls that run
  // in its trees. In a body it does not: of a lane that another thread has it tells what somebody
  // found who looked before, and says so (LaneMetrics::is_from_before).
  Metrics metrics() const;
  // All of it as one JSON text: {"settings": ..., "metrics": ..., "explanation": ..., "plan": ...,
  // "ledger": ..., "trees": [{"device": ..., "lane": ..., "outline": ...}]}. On any thread,
  // likewise; in a body the outline of a lane that another thread has is null.
  std::string DebugJson(const ExplainOptions& options = {}) const;
  // Opens a door for tools at this path: a Unix socket that speaks HTTP, to this process's user
  // alone (door/server.h; runtime_pages.h has the list of pages, and the door shows it). `graphtree
  // top PATH` and `curl --unix-socket PATH http://localhost/metrics` look in. Two threads serve it,
  // and no step waits for them but for as long as they look into its tree. An error, and nothing is
  // opened, if a door is open already, if the path is taken, too long, or where others could reach
  // it. It is closed with the runtime. Not while another thread opens or closes it.
  absl::Status OpenDoor(const std::string& path);
  // Waits for the page that is being made. An error, and the door stays open, if a body calls this:
  // the page may wait for that body.
  absl::Status CloseDoor();
  // The tree of a lane: outlines, reasons of eager runs, snapshots, functions beside programs.
  // Calling a program's own function there is an error, whether it is recorded or not. Null if no
  // program lies in that lane.
  Tree* tree(uint32_t lane = 0, uint32_t device = 0);

 private:
  explicit Runtime(std::unique_ptr<RuntimeCore> core);
  std::unique_ptr<RuntimeCore> core_;
  std::unique_ptr<DoorServer> door_;  // goes before the core
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_RUNTIME_H_
