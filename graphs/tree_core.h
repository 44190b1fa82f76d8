// The tree's inside: one call, from the decision to the outputs.
//
//   Run --> Replay                      replay.cc     the hot path: match, patch, launch, hand out
//       |                               breaks.cc     ... of a recording that is cut
//       \-> RunSlow                     tree_core.cc  which of the four routes
//             |-> Replay
//             |-> WarmUp, RunEagerly    eager.cc      the body runs now
//             |-> Record                record.cc     the body is captured, then launched once
//             |                         recorder.cc   ... section by section, where it breaks
//             |                         record_inputs.cc   what the body is given for each input
//             \-> budgets               upkeep.cc     over keeper.h, which decides what goes
//                                       tree_checks.cc  checked mode, requests, errors
//                                       replay_check.cc a replay against its body, on request
//                                       why_eager.cc  what an eager run's warning says
//                                       unregister.cc functions that leave
//
// A call that fails leaves everything as it was, or the tree is lost: then every later call is the
// first failure, told in words (refusals.h).
//
// The pool's books: in states kWarmUp and kRecording they are true. A replay changes bytes and
// never books, so behind replays they show some earlier state; whoever needs them calls BooksTo
// first.
//
// Threads: see tree.h. Entry keeps a second caller out, and a closing thread waits for it.
#ifndef GRAPHTREE_GRAPHS_TREE_CORE_H_
#define GRAPHTREE_GRAPHS_TREE_CORE_H_

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "allocator/pool.h"
#include "device/device.h"
#include "device/observer.h"
#include "graphs/access_log.h"
#include "graphs/body_check.h"
#include "graphs/call_counts.h"
#include "graphs/call_stack.h"
#include "graphs/device_place.h"
#include "graphs/foreign_memory.h"
#include "graphs/function.h"
#include "graphs/function_table.h"
#include "graphs/gate.h"
#include "graphs/given_inputs.h"
#include "graphs/home_pages.h"
#include "graphs/input_roles.h"
#include "graphs/keeper.h"
#include "graphs/node.h"
#include "graphs/path.h"
#include "graphs/planted_bug.h"
#include "graphs/pointer_log.h"
#include "graphs/refusals.h"
#include "graphs/rehearsal.h"
#include "graphs/run_digest.h"
#include "graphs/section.h"
#include "graphs/step_history.h"
#include "graphs/step_memory.h"
#include "graphs/stream_order.h"
#include "graphs/tree.h"
#include "graphs/workspaces.h"

namespace graphtree {

class EagerTraces;

// How a recording takes its inputs, one entry for each.
struct InputPlan {
  std::vector<InputRole> roles;
  std::vector<bool> unpinned;  // static or managed, and yet taken at any address
  std::vector<bool> sought;    // taken by a library, and patched if it can be found where
  InputPattern pattern;
};

// What a run of a body at once gave.
struct BodyRun {
  GivenInputs* given = nullptr;  // of a warm-up
  Values outputs;
  BodyRequests requests;
};

// What a run of a body leaves, and the inputs that it was given.
struct BodyDigest {
  RunDigest left;
  Values inputs;
};

// What a recording made, before it becomes a node of the tree.
struct Draft {
  std::unique_ptr<Node> node;
  InputPlan plan;
  Rehearsal* rehearsal = nullptr;  // of the inputs that are sought; null if none are
  Values outputs;
  // By input: the serial of the storage that the body is given in its place, or 0.
  std::vector<uint64_t> stand_ins;
  std::vector<MarkedInput> marked;
  std::vector<OpToken> egress;
  std::vector<uint32_t> hidden;  // patched inputs whose address stands where nobody said so
  std::vector<uint32_t> written;  // copied inputs that it writes to, as no run before it did
  absl::Status status;
  Reason reason = Reason::kRecordFailed;
  bool is_final = false;  // the failure is the call's, and no eager run would mend it
  bool was_committed = false;  // the pool's scope was: it cannot roll back any more
  bool was_launched = false;  // and has no undo: where inputs died inside, others lie by now

  // The body's memory did not fit into the region that recordings are made of.
  void FailForMemory() {
    status = absl::ResourceExhaustedError("the pool ran out while the function was recorded");
    reason = Reason::kOutOfPool;
  }
};

class TreeCore {
 public:
  static absl::StatusOr<std::unique_ptr<TreeCore>> Create(Device& device,
                                                          const TreeOptions& options);
  ~TreeCore();
  // Now, or when the call is over in whose body this is.
  static void Close(std::unique_ptr<TreeCore> core);

  FunctionId Register(std::string name, FunctionOptions options, Body body);
  absl::Status Unregister(FunctionId id);
  absl::Status Run(FunctionId id, absl::Span<Value> inputs, Stream& stream, Values* outputs);
  void BeginStep();
  TreeStats Stats();
  std::vector<EdgeStats> Edges();
  std::vector<FunctionStats> PerFunction();
  Gate& gate() { return gate_; }
  // What `look` threw, or null.
  std::exception_ptr Inspect(const std::function<void()>& look);
  const Node& root() const { return root_; }
  Pool& pool() { return memory_->pool(); }
  PathState state() const { return path_.state(); }
  Workspaces& workspaces() { return workspaces_; }
  Observers& observers() { return observers_; }
  Path& path() { return path_; }
  ForeignMemory& foreign() { return *foreign_; }

 private:
  class Recorder;  // recorder.h
  class CutRun;    // breaks.cc
  class PartsInPlace;  // eager.cc
  struct Call {
    Function& function;
    Variant* variant;  // null on the hot path
    absl::Span<Value> inputs;
    Stream& stream;
    Values* outputs;
    bool brings_storage = true;  // false only if no input is known to be a tensor of a tree's
    StackId from = 0;            // taken in checked mode
  };

  TreeCore(Device& device, const TreeOptions& options, std::unique_ptr<StepMemory> memory,
           std::shared_ptr<StepHistory> history, std::unique_ptr<Stream> side,
           std::unique_ptr<Event> event);

  // tree_core.cc
  absl::Status Route(Call& call);
  absl::Status RunSlow(Call& call);
  absl::Status CheckStream(const Call& call) const;
  // What comes next on the call's stream runs after other trees' work on memory of this one.
  absl::Status WaitForOtherUsers(const Call& call);
  // Asks the device where it must; empty for what is at home.
  std::string OtherHomeOf(Address address);
  absl::Status CheckHome(const Call& call, size_t input);
  absl::Status CheckInputs(const Call& call);
  absl::Status CheckPromises(const Call& call) const;
  bool MustRunEagerly(const Call& call, Reason* reason);
  // Why no recording at this place serves the call; false if there is none at all for it.
  bool HasUnexpectedSibling(const Call& call);
  Reason WhyNot(const Node& node, const Call& call);
  void EndPathIfDead();
  bool IsInLongStep(const Call& call);

  // unregister.cc
  absl::Status NotRegistered(FunctionId id) const;
  // Whoever leaves, as far as the path does not need it.
  void LetLeave();
  bool MayRecordSize(const Call& call, Reason* reason);
  CallEdge EdgeTo(const Function& function) const;
  void Count(const Function& function, Reason reason, uint64_t times = 1);

  // why_eager.cc
  std::string ToldInput(const Call& call, size_t input) const;
  std::string ToldWriter(const Call& call, size_t input) const;
  std::string ToldWritten(const Call& call) const;
  std::string ToldOverlap(const Call& call) const;
  std::string ToldMismatch(const Call& call);
  std::string WhyEagerly(const Call& call, Reason reason);
  static void LearnWriters(const AccessLog& log, const BodyCheck* check,
                           absl::Span<const Value> inputs, Variant* variant);

  // replay.cc
  bool Matches(const Node& node, Call& call);
  Node* FindByCall(Call& call);
  // Only a recording that was made for the call's own addresses.
  Node* FindExact(Call& call);
  static bool MovedOntoWritten(const Node& node, absl::Span<const Value> inputs);
  bool ComesFromElsewhere(const Node& node, absl::Span<const Value> inputs);
  absl::Status Replay(Node* node, Call& call);
  // It was launched: the path goes on with it, and the call gets its outputs.
  absl::Status ReplaysOn(Stream& stream);
  void Replayed(Node* node, Call& call);
  // REQUIRES: the node has one section, with an executable.
  absl::Status LaunchNode(Node* node, absl::Span<const Value> inputs, Stream& stream);
  static void GiveBackRandom(const Section& section);
  // In checked mode. A failure takes back what that of the launch does.
  absl::Status AwaitLaunched(Node* node, const Call& call);
  static void LoseConsumed(const Node& node, const Call& call);
  // One section, with all that moved followed. REQUIRES: it has an executable.
  absl::Status LaunchFor(Node* node, size_t number, Section* section,
                         absl::Span<const Value> inputs, EagerRandom* taken, Stream& stream);
  // REQUIRES: likewise, and nothing of it is unpatched.
  absl::Status LaunchSection(const Node& node, size_t number, const Section& section,
                             Stream& stream);
  // Work that is put on the stream now uses bytes which may be free in the pool's books: whoever
  // gets them next waits for it.
  absl::Status NoteWorkOn(Stream& stream);
  // With `taken`, for a call that gives back what all of its sections took.
  static void DrawRandom(Section* section, EagerRandom* taken = nullptr);
  static absl::Status PatchIngest(Section* section, absl::Span<const Value> inputs);
  // Whether an input is at another address than at the last replay.
  static bool AnyMoved(const Node& node, absl::Span<const Value> inputs);
  void TellOutputs(const Node& node);
  void HandOut(Node* node, const Call& call);
  void LetGo(Values* values);
  void RenewStorage(Node* node, uint32_t output, StackId from);
  // Takes the tree's own tensors out of the caller's hands, but for static ones.
  void Consume(const Call& call);

  // breaks.cc
  absl::Status ReplayCut(Node* node, Call& call);
  void NoteBreaks(const Node& node);

  WordId TagOf(const Function& function) {
    return function.tag = memory_->pool().journal().WordAgain(function.tag, function.name);
  }
  // For one run of the function's body, or of a part of it.
  StepAllocator MemoryFor(const Function& function, Region region) {
    if (IsPlanted(PlantedBug::kIgnoresRegion)) region = Region::kStep;
    return StepAllocator(memory_.get(), region, TagOf(function), function.id);
  }

  // eager.cc
  // The side stream goes on after what the caller has put on `stream`.
  absl::Status SideAfter(Stream& stream);
  absl::Status WarmUp(Call& call);
  // `detail` goes into the warning, or into the error if strict.
  absl::Status RunEagerly(Call& call, Reason reason, const std::string& detail = "");
  void Warn(Function& function, Reason reason, const std::string& detail);
  // Once for each function and reason.
  void Tell(Function& function, Reason reason, const std::string& text);
  void HoldOutputs(const Call& call, Node* node, const Values& outputs,
                   const StepAllocator& allocator);
  // `has_blocks`: the books have them still.
  void TakeBackMade(const Call& call, const StepAllocator& allocator,
                    absl::Span<const MarkedInput> marked, bool has_blocks);
  void HoldMade(const Call& call, const Node& node, Storage* storage, uint32_t number,
                uint32_t output);
  absl::Status RunNow(Call& call, Stream& stream, StepAllocator& allocator, Values* inputs,
                      BodyRun* run);
  absl::Status RunTraced(Call& call, Stream& stream, StepAllocator& allocator, Values* inputs,
                         BodyRun* run, EagerTraces* traces);
  // What a run has shown of the function.
  static void Learn(const AccessLog& log, const EagerRandom& random, Variant* variant);

  // tree_checks.cc
  static absl::Status Placed(const absl::Status& status, absl::string_view where);
  Values RunBody(Function& function, Launcher& on, Values& inputs);
  // Whose body or part runs now; null: nobody's any more.
  void SetRunning(const Function* function);
  static absl::Status BodyStatus(const Function& function, const Launcher& on);
  absl::Status WhyBusy(FunctionId id) const;
  // Is this thread in a call of the tree already, or in its body?
  bool IsInOwnCall() const;
  bool IsInOwnBody() const;
  void RefuseStep();
  // No call is of use any more: what is said of the first failure, told by every later call.
  absl::Status Lose(const Function& function, absl::string_view what, const absl::Status& why);
  // The failure `why` of a call whose traces were taken back, or could not all be.
  static absl::Status AfterUndo(const absl::Status& why, const absl::Status& undone);
  absl::Status ClosedInside(const Function& function);
  bool IsChecked(const Function& function) const {
    return options_.check || function.options.check;
  }
  absl::Status BeginCheck(const Call& call, bool is_warm_up, absl::Span<const Value> inputs,
                          Stream& stream, AccessLog* log, std::unique_ptr<BodyCheck>* check);
  absl::Status EndCheck(Call& call, Stream& stream, BodyCheck* check);
  // Once for each call that is checked, before anything else of it is.
  void NoteCaller(Call* call);
  // It went well: who ran last, and which bytes of the steps' memory it was given.
  void NoteRun(const Call& call, absl::Span<const AddressRange> used) {
    history_->SetLastRun(call.function.id);
    if (call.from != 0) history_->NoteWrites(used, {call.function.id, step_, call.from});
  }
  absl::Status CheckInputsLive(const Call& call);
  absl::Status CheckOutsideLive(const Node& node, const Call& call);
  void NoteOutside(const OpLog& log, Draft* draft);
  // The same failure, with where the ops that it names were launched, and the function called.
  absl::Status WithStacks(const absl::Status& status, const Call& call,
                          absl::Span<const OpSite> sites) const;
  std::string ToldCaller(const Call& call) const;
  absl::Status AwaitChecked(const Call& call, absl::Span<const OpSite> sites, Stream& stream);
  void NoteWarmUp(Call& call, const std::string& asked);
  // Those who only watch have no part in a call: what they throw is counted, and the first told.
  void NoteThrown(const absl::Status& status);
  // REQUIRES: observers_.any(), for the caller's sake.
  void TellObservers(GraphMoment moment, const Node& node, size_t section, Stream* stream,
                     bool ok = true) {
    TellObservers(moment, node, section, node.SectionAt(section).executable.get(), stream, ok);
  }
  void TellObservers(GraphMoment moment, const Node& node, size_t section,
                     const Executable* executable, Stream* stream, bool ok);
  // Executables that are not launched any more: one, or all of a node.
  void TellOfDestruction(const Node& node, size_t section, const Executable& executable);
  void TellOfDestruction(const Node& node);
  void TellOfTheEnd();
  // replay_check.cc
  std::optional<RunDigest> RunPainted(const Values& given, uint8_t paint, Call& call);
  std::optional<BodyDigest> DigestBody(const Node& node, Call& call);
  absl::Status CompareReplay(const BodyDigest& body, Call& call);
  // False if what the body asks for forbids that it becomes a node.
  bool TakeRequests(Call& call, BodyRequests* requests, Draft* draft);

  // record.cc
  absl::Status BooksTo(Node* node);
  void BackToViews();
  absl::Status Record(Call& call);
  absl::Status RollBack(CheckpointId before, CaptureScope* scope, bool was_committed);
  // The call has everything back that it came with.
  absl::Status TakeBack(CheckpointId before, CaptureScope* scope, StepMemory::Recording* recording,
                        Recorder* recorder, GivenInputs* given, Values* originals, Call& call);
  absl::Status RecordFrom(CheckpointId before, Call& call, Rehearsal* rehearsal, bool* again);
  // Why a recording was given up, from what failed.
  static Reason ReasonOf(const absl::Status& status);
  absl::Status GiveUp(Call& call, const Draft& draft);
  absl::Status RecordAgain(const Draft& draft, Call& call);
  // The recording is good: it holds the foreign blocks that it needs.
  void HoldForeign(Node* node);
  absl::Status LaunchFirst(CaptureScope* scope, const Values& originals, const Call& call,
                           Recorder* recorder);
  // Of the draft's last section.
  bool FinishGraph(Draft* draft);
  bool Classify(const Values& originals, const StepAllocator& allocator, Draft* draft);
  bool FindSource(const Values& originals, const Draft& draft, uint32_t output, OutputSlot* slot);
  static Value ViewOfInput(const Value& input, const OutputSlot& slot);
  void NoteConsumed(const Values& originals, const GivenInputs& given, Node* node);
  static void NoteDeadMeanwhile(absl::Span<const HeldOutput> held, Node* node);
  absl::Status Attach(Call& call, Draft draft, const StepAllocator& allocator);

  // record_inputs.cc
  RoleChoice RoleFor(const Call& call, size_t input) const;
  RoleRefusal RefusalOf(const Call& call) const;
  void NoteMoves(const Call& call);
  InputPlan PlanInputs(const Call& call) const;
  absl::StatusOr<std::unique_ptr<Rehearsal>> RehearsalFor(const Call& call) const;
  Values PrepareInputs(const Values& originals, Values to_body,
                       const std::vector<IngestScalar>& scalars, Draft* draft,
                       StepAllocator* allocator);
  absl::Status LaunchIngest(const Section& section, std::vector<OpToken>* tokens);
  absl::Status FindInputOps(const Values& originals, PointerLog* log, Draft* draft);
  static void FindHidden(const Graph& graph, absl::Span<const OpId> ingest,
                         absl::Span<const InputRange> ranges, Draft* draft,
                         std::vector<PointerOp>* ops);
  static void NoteStoredElsewhere(const Values& originals, Draft* draft);
  static void NoteLasting(Node* node);
  void FileNode(const InputPlan& plan, Node* node);

  // kept_outputs.cc
  absl::StatusOr<Tensor> NewKept(const Function& function, WordId tag, const Layout* bytes,
                                 Stream& stream);
  absl::StatusOr<bool> MustMove(const Function& function, uint32_t output, const Values& outputs);
  absl::Status MoveKept(const Function& function, Stream& stream, Values* outputs);
  absl::Status CountKept(const Function& function, const Values& outputs);
  absl::Status CaptureEgress(const Values& originals, Draft* draft);
  static absl::Status FindEgressOps(Draft* draft);
  static bool MarkKept(const Node& node, const Storage& storage, OutputSlot* slot);
  static Value ViewOfKept(const Node& node, const OutputSlot& slot);
  // Gives every kept output a place for the next launch.
  absl::Status PlaceKept(Node* node, Stream& stream);
  static absl::Status PatchEgress(Section* section, const Values& places);
  static void ForgetPlaces(Node* node);

  // turns.cc
  // Which of a section's executables is launched next, and whether it should have a second one.
  static void TakeTurn(Section* section, absl::Span<const Value> inputs, const Values& places);
  void ConsiderSpare(const Node& node, size_t number, Section* section);

  // One step calls a function of one shape as often as it has layers that are alike.
  static constexpr uint64_t kUsualMissesInStep = 256;
  // After so many eager runs because an input moved, the function is recorded once more.
  static constexpr uint32_t kEagerRunsUntilRetry = 64;

  // upkeep.cc
  void FindVariant(Call& call);
  bool IsRerecordedTooOften(const Variant& variant);
  void NoteFailure(Variant* variant, absl::string_view why);
  bool GiveMemoryBack(int executables, const Node& node);
  // Of a section that has a graph. ResourceExhausted if the budget has no room beside the node's
  // other ones, which are not counted yet.
  absl::Status MakeExecutable(const Node& node, size_t number, Section* section);
  // All that the node lacks after an eviction; all or none.
  absl::Status BringBack(Node* node);

  Device& device_;
  const TreeOptions options_;
  const bool tells_device_;  // of live bytes: the host device checks them
  const DevicePlace place_;
  HomePages home_pages_;
  const std::shared_ptr<StepHistory> history_;
  bool any_checked_;  // a function, or all
  const std::unique_ptr<StepMemory> memory_;
  const ForeignMemory::Ptr foreign_;  // outlives the nodes, which hold what is its
  const std::unique_ptr<Stream> side_;
  StreamOrder order_;
  Gate gate_;
  Refusals refusals_;
  // Whose body runs, for who comes in between.
  std::atomic<const std::string*> running_{nullptr};
  std::unique_ptr<TreeCore> closed_inside_;  // itself, closed by what a call of it runs
  Workspaces workspaces_;
  Observers observers_;

  FunctionTable functions_;
  uint32_t next_variant_ = 0;
  Node root_;
  Path path_;
  // The node whose state the books show to the letter, if any.
  Node* books_at_ = nullptr;
  bool owns_in_replay_ = false;  // the path's outputs own blocks, as the books were put to them
  uint64_t step_ = 1;
  Values scratch_outputs_;  // kept for its memory
  TreeStats stats_;
  CallTally tally_;
  Keeper keeper_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_TREE_CORE_H_
