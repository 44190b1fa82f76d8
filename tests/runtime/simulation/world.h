// One server with one runtime, and what must hold after each of its actions: whatever a step's
// route, its outputs, the program's slots and what its body writes are what the model says;
// reasons, choices and figures are possible ones; what is refused changes nothing.
//
//   script --> World --> Runtime        world.cc: actions; world_steps.cc: steps
//                  \---> ProgramModel   world_checks.cc: what is compared
//                                       world_workspaces.cc: dependencies that move and grow
//                                       world_plan.cc: plans, and recording in idle slots
//                                       world_modes.cc: other modes of serving
//                                       world_park.cc: lanes that are parked, and that lend
//                                       world_free.cc: work behind a step's free events
//                                       world_ahead.cc: programs that run ahead of others' steps
#ifndef GRAPHTREE_TESTS_RUNTIME_SIMULATION_WORLD_H_
#define GRAPHTREE_TESTS_RUNTIME_SIMULATION_WORLD_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "device/device.h"
#include "device/fault/fault_plan.h"
#include "runtime/ahead.h"
#include "runtime/runtime.h"
#include "runtime/slots/free_events.h"
#include "tests/runtime/simulation/body.h"
#include "tests/runtime/simulation/library.h"
#include "tests/runtime/simulation/model.h"
#include "tests/runtime/simulation/script.h"
#include "tests/runtime/simulation/server_memory.h"

namespace graphtree::runtime_simulation {

// Bytes that are numbers of the type which a slot of the other type can hold.
Bytes DataFor(DType type, DType slot, uint32_t seed, uint64_t bytes);

// OK if it was an error, in words.
absl::Status ShouldFail(absl::string_view what, const absl::Status& said);

// What a run has reached, so that a test can say what it never did.
using Reached = std::map<std::string, uint64_t>;

class World {
 public:
  // `plan` may be null: then no device call fails. `reached` may be null.
  World(Device& device, FaultPlan* plan, const Script& script, Reached* reached);
  ~World();

  // What was wrong.
  absl::Status Run();

 private:
  // The rows of a step that is run ahead, by slot.
  struct PlanRows {
    std::vector<Bytes> data;
    std::vector<NaiveStaged> staged;  // pointing there
    std::vector<AheadRows> rows;      // likewise
  };
  // What Ahead has prepared.
  struct Guess {
    Key key;
    PlanRows rows;
    uint64_t touches = 0;  // of all dependencies, when it began
    std::vector<Bytes> outputs;
  };
  struct Planned {
    Values outputs;
    std::vector<Bytes> bytes;
  };
  struct Program {
    ProgramId id;
    std::unique_ptr<ProgramModel> model;  // null: not there
    bool was_there = false;
    BodyWorld body;
    // What the body writes to; outlives the program.
    uint64_t log = 0;
    Words sum = Words(kSumWords);
    FreeEvents events = {};
    // Where the program plans.
    std::unique_ptr<Ahead> ahead = nullptr;
    AheadStats expected = {};
    std::optional<Guess> guess = std::nullopt;
  };
  struct Held {
    Value value;
    Bytes bytes;
    uint32_t lane = 0;
    uint64_t path = 0;  // of the lane, when it was made
    bool is_kept = false;
  };
  struct LaneModel {
    uint64_t path = 0;  // goes up when a step begins anew
    uint64_t done = 0;  // steps that went well
    Launch last;
  };
  // A step from Begin to Run.
  struct Open {
    const StepSpec* spec = nullptr;
    Program* program = nullptr;
    std::optional<Step> step;  // none in Ahead
    Key call;
    Choice choice;
    bool has_shape = false;
    Key padded;      // as slots are padded
    Key body;        // as the body has it
    std::vector<Bytes> data;  // by slot
    std::vector<NaiveStaged> staged;
    const Planned* planned = nullptr;  // that it may be staged with
    bool forgets = false;
    std::vector<uint64_t> generations;  // before it ran
    bool grew = false;                  // a workspace of its program's, in its body
    Why why = Why::kFailed;             // it ran as it did
    std::string words;                  // how, for people
    std::vector<Value> sources;  // outputs that it reads by address stay until it is launched
  };
  struct WorkspaceModel {
    uint32_t room = kLeastRoom;
    uint64_t moves = 0;
  };
  // What a figure may be.
  struct Figure {
    uint64_t least = 0;
    uint64_t most = 0;
  };

  // world.cc
  absl::Status OpenAll();
  absl::Status CloseAll();
  absl::Status Do(const Action& action);
  absl::Status Act(const Action& action);
  absl::Status Add(Program& program, const ProgramSpec& spec, uint32_t number);
  absl::Status Remove(Program& program);
  absl::Status AddShapes(Program& program, const ProgramSpec& spec, uint32_t pick);
  absl::Status Exclude(Program& program, const ProgramSpec& spec, uint32_t pick);
  absl::Status Record(Program& program, uint32_t stream);
  // Record came to this shape. `now` is from when its pass began.
  void NoteRecorded(Program& program, ShapeModel& shape, const std::vector<uint64_t>& now,
                    bool is_ok, bool is_sure);
  // Record, or one of the other two ways, for which no shapes would mean those of all programs.
  // Takes no draw, so that scripts stay as they are.
  absl::Status RecordSomehow(Program& program, uint32_t pick) {
    const bool has_shapes = program.model != nullptr && !program.model->shapes().empty();
    const uint32_t way = has_shapes ? pick / kStreams % 4 : 0;
    if (way < 2) return Record(program, pick % kStreams);
    return RecordOtherwise(program, /*by_plan=*/way == 2, pick % kStreams);
  }
  absl::Status Commit(uint32_t pick);
  absl::Status Rewrite(uint32_t pick);
  absl::Status DoWrong(Program& program, uint32_t pick);
  absl::Status Capture(const Action& action);
  absl::Status Vote(const Action& action);
  absl::Status Pair(const Action& action);

  // world_modes.cc
  absl::Status InMode(const Action& action);
  absl::Status RecordInMode(Program& program, uint32_t pick);
  // Whether strict did not let the step begin (`said`). An error if it had to, or must not.
  absl::StatusOr<bool> IsRefusedByStrict(const Open& open, bool has_shape,
                                         const absl::Status& said);
  // Whether strict refused the step when it ran: then nothing has happened. Likewise.
  absl::StatusOr<bool> CheckStrict(const Open& open, const absl::Status& said);

  // world_park.cc
  static std::string TagOf(const ProgramSpec& spec);
  bool IsLaneThere(uint32_t lane) const;
  absl::Status ParkAndStep(const Action& action);
  absl::Status WakeLane(const ProgramSpec& spec);
  absl::Status CheckParked(Program& program, const StepSpec& step);
  bool IsCaptured(const absl::Status& said) const;
  absl::Status LendAndStep(const Action& action);
  absl::Status CheckLoan(const Loan& loan, AddressRange range);

  // world_steps.cc
  absl::Status DoStep(const StepSpec& spec);
  absl::Status Begin(const StepSpec& spec, const Key& call, Modes modes, bool is_voted_down,
                     Open* open);
  absl::Status StageAll(Open& open);
  absl::Status Stage(Open& open, SlotId slot);
  absl::Status StageRows(Open& open, SlotId slot);
  bool StageOutput(Open& open, SlotId slot, absl::Status* status);
  bool StagePlanned(Open& open, SlotId slot, absl::Status* status);
  absl::Status Between(Open& open);
  absl::Status Err(Open& open, SlotId slot);
  absl::Status ErrInStep(Open& open);
  absl::Status Finish(Open& open);
  // Which shape the call may take; kept in `open`.
  absl::Status Choose(Program& program, const Key& call, Modes modes, Open* open);
  void Choose(const Choice& chosen, bool has_shape, Open* open);
  // It was launched, or failed before that: what it has made of the program.
  absl::StatusOr<Effects> NoteRun(Open& open, const absl::Status& said);
  absl::Status CheckRefused(const absl::Status& said, const Open& open);
  absl::Status AfterFailure(Open& open, const absl::Status& said);
  absl::Status CheckRoute(Open& open);
  Verdict MayChoose(const Program& program, const Key& call, Modes modes,
                    const Choice& chosen) const;
  absl::Status ExpectWhy(const Open& open, const ShapeModel& shape) const;
  absl::Status TakeOutputs(Open& open, Effects made, Values outputs);

  // world_workspaces.cc
  absl::Status Move(uint32_t dep, uint32_t pick);
  absl::Status MoveWorkspace(uint32_t dep, uint32_t pick);
  absl::Status Touch(uint32_t dep);
  std::vector<uint64_t> GenerationsOf(const ProgramSpec& spec) const;
  // The body ran for this key. True if that has made a workspace grow.
  bool Grow(const ProgramSpec& spec, const Key& key);
  void NoteMoved(uint32_t workspace, bool is_sure);
  void AdoptWorkspaces();
  absl::Status CheckWorkspaces(const RuntimeStats& stats);

  // world_free.cc
  absl::Status AfterStep(Open& open);
  absl::Status FillSlots(Program& program, uint32_t slots);
  absl::Status RewriteRows(Program& program, uint32_t number);
  // The step of the program's that was staged is launched, or will never be.
  void NoteReads(uint32_t number);
  absl::Status EndSide();
  // What comes on the stream comes behind the side stream's work.
  absl::Status GoBehindSide(uint32_t stream);

  // world_plan.cc
  absl::Status RecordOtherwise(Program& program, bool by_plan, uint32_t stream);
  void NoteRecordedOtherwise(Program& program, ShapeModel& shape, bool is_sure);
  // `is_whole`: all shapes that are not excluded have good recordings now.
  absl::Status RecordByPlan(Program& program, uint32_t stream, bool* is_whole);
  absl::Status RecordInIdleSlots(Program& program, uint32_t stream, bool* is_whole);
  absl::Status CheckLedger();

  // world_ahead.cc
  absl::Status Prepare(Program& program, const StepSpec& spec);
  absl::Status Take(Program& program, const Action& action);
  absl::Status TakeWrong(Program& program, const StepSpec& spec);
  absl::Status TakePlan(Program& program, const StepSpec& spec, uint32_t pick, Planned* planned);
  // Whether the guess is right for this call.
  bool NoteGuess(Program& program, const Key& call, const PlanRows& rows);
  PlanRows PlanRowsOf(const Program& program, const Key& call, const StepSpec& spec) const;
  static bool IsSame(const PlanRows& one, const PlanRows& other);
  // A step of the program's that `run` has Ahead run. It may not come to outputs.
  absl::Status RunPlan(Program& program, const StepSpec& spec, const Key& call,
                       const PlanRows& rows, const std::function<absl::Status()>& run,
                       std::optional<std::vector<Bytes>>* outputs);
  absl::Status CheckAhead(const Program& program) const;

  // world_checks.cc
  absl::Status Wait();
  absl::Status CheckAll();
  // Before the lane's outputs end. No device knows which outputs an unpack op reads, so the host
  // device would poison them under it; a GPU would not.
  absl::Status CheckHeld(const Held& held);
  absl::Status CheckProgram(Program& program);
  absl::Status CheckMetrics();
  absl::Status CheckFigures();
  absl::Status CheckPads();
  // The server's own memory becomes what the model says.
  absl::Status Adopt();
  void BeUnsure();

  // A device call of this action's may fail in it.
  template <typename F>
  auto Call(const F& call) {
    if (plan_ == nullptr || fail_in_ == 0) return call();
    const uint64_t calls = plan_->calls(), fired = plan_->fired();
    plan_->FailCall(fail_in_, ErrorCode::kOutOfMemory);
    auto result = call();
    plan_->Clear();
    const uint64_t used = plan_->calls() - calls;
    if (plan_->fired() > fired) {
      fail_in_ = 0;
      NoteFault();
    } else {
      fail_in_ -= used;
    }
    return result;
  }
  void NoteFault();
  // Whether an error of what was just done is no wonder.
  // A tree lets a body alone for a while that has failed several times.
  static bool WasLeftAlone(const absl::Status& recorded);
  bool MayFail(const absl::Status& status) const;
  void Count(const std::string& what) { CountTimes(what, 1); }
  void CountTimes(const std::string& what, uint64_t times) {
    if (reached_ != nullptr) (*reached_)[what] += times;
  }

  Device& device_;
  FaultPlan* const plan_;
  const Script& script_;
  Reached* const reached_;
  ServerMemory memory_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::unique_ptr<Runtime> runtime_;
  std::vector<Program> programs_;
  std::array<DepId, kAllDeps> dep_ids_;
  std::array<Words, kAllDeps> deps_;  // of workspaces the heads
  std::array<Address, kDeps> dep_at_ = {};
  std::array<uint64_t, kAllDeps> generations_ = {};
  uint64_t touches_ = 0;
  Library library_;
  std::array<WorkspaceModel, kWorkspaces> workspaces_;
  Figure workspace_moves_;
  Figure stale_recordings_;
  std::vector<Bytes> sources_;
  // Of a source: the programs whose steps may read it now, and whether these steps are launched.
  // Waiting ends the launched ones only: of two steps that overlap, one may wait while the other is
  // staged.
  std::array<std::map<uint32_t, bool>, kSources> readers_;
  std::unique_ptr<Stream> side_;
  std::unique_ptr<Event> side_done_;
  bool is_side_busy_ = false;
  std::vector<Held> held_;
  std::map<uint32_t, LaneModel> lanes_;
  uint64_t steps_ = 0;
  bool ever_faulted_ = false;
  ServingMode mode_ = {};
  WhyCounts whys_ = {};
  uint64_t fail_in_ = 0;
  bool faulted_ = false;  // in this action
  bool done_ = false;     // what follows may be anything
};

}  // namespace graphtree::runtime_simulation

#endif  // GRAPHTREE_TESTS_RUNTIME_SIMULATION_WORLD_H_
