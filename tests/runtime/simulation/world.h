// One server with one runtime, and what must hold after each of its actions: whatever a step's
// route, its outputs, the program's slots and what its body writes are what the model says;
// reasons, choices and figures are possible ones; what is refused changes nothing.
//
//   script --> World --> Runtime        world.cc: actions; world_steps.cc: steps
//                  \---> ProgramModel   world_checks.cc: what is compared
#ifndef GRAPHTREE_TESTS_RUNTIME_SIMULATION_WORLD_H_
#define GRAPHTREE_TESTS_RUNTIME_SIMULATION_WORLD_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "device/device.h"
#include "device/fault/fault_plan.h"
#include "runtime/runtime.h"
#include "tests/runtime/simulation/body.h"
#include "tests/runtime/simulation/model.h"
#include "tests/runtime/simulation/script.h"
#include "tests/runtime/simulation/server_memory.h"

namespace graphtree::runtime_simulation {

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
  struct Program {
    ProgramId id;
    std::unique_ptr<ProgramModel> model;  // null: not there
    bool was_there = false;
    BodyWorld body;
    // What the body writes to; outlives the program.
    uint64_t log = 0;
    Words sum = Words(kSumWords);
  };
  struct Held {
    Value value;
    Bytes bytes;
    uint32_t lane = 0;
    uint64_t path = 0;  // of the lane, when it was made
    bool is_kept = false;
    bool is_read = false;  // by a step that may be under way: it stays until that is waited for
  };
  struct LaneModel {
    uint64_t path = 0;  // goes up when a step begins anew
    uint64_t done = 0;  // steps that went well
    Launch last;
    bool reads_outputs = false;  // a step may be under way that is staged from outputs
  };
  // A step from Begin to Run.
  struct Open {
    const StepSpec* spec = nullptr;
    Program* program = nullptr;
    std::optional<Step> step;
    Key call;
    Choice choice;
    bool has_shape = false;
    Key padded;      // as slots are padded
    Key body;        // as the body has it
    std::vector<Bytes> data;  // by slot
    std::vector<NaiveStaged> staged;
    bool forgets = false;
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
  absl::Status Move(uint32_t dep);
  absl::Status Commit(uint32_t pick);
  absl::Status Touch(uint32_t dep);
  absl::Status Rewrite(uint32_t pick);
  absl::Status DoWrong(Program& program, uint32_t pick);
  absl::Status Capture(const Action& action);
  absl::Status Vote(const Action& action);
  absl::Status Pair(const Action& action);

  // world_steps.cc
  absl::Status DoStep(const StepSpec& spec);
  absl::Status Begin(const StepSpec& spec, const Key& call, Modes modes, bool is_voted_down,
                     Open* open);
  absl::Status StageAll(Open& open);
  absl::Status Stage(Open& open, SlotId slot);
  absl::Status StageRows(Open& open, SlotId slot);
  bool StageOutput(Open& open, SlotId slot, absl::Status* status);
  absl::Status Between(Open& open);
  absl::Status Err(Open& open, SlotId slot);
  absl::Status ErrInStep(Open& open);
  absl::Status Finish(Open& open);
  absl::Status CheckRefused(const absl::Status& said, const Open& open);
  absl::Status AfterFailure(Open& open, const absl::Status& said);
  absl::Status CheckRoute(Open& open);
  absl::Status ExpectWhy(const Open& open, const ShapeModel& shape, Why why) const;
  absl::Status TakeOutputs(Open& open, Effects made, Values outputs);

  // world_checks.cc
  absl::Status Wait();
  absl::Status CheckAll();
  void LetGo(size_t held);
  // Before the lane's outputs end. No device knows which outputs an unpack op reads, so the host
  // device would poison them under it; a GPU would not.
  absl::Status WaitForReaders(uint32_t lane);
  absl::Status CheckHeld(const Held& held);
  absl::Status CheckProgram(Program& program);
  absl::Status CheckFigures();
  // The server's own memory becomes what the model says.
  absl::Status Adopt();
  void BeUnsure();

  std::vector<uint64_t> GenerationsOf(const ProgramSpec& spec) const;
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
  bool MayFail(const absl::Status& status) const;
  void Count(const std::string& what) {
    if (reached_ != nullptr) ++(*reached_)[what];
  }

  Device& device_;
  FaultPlan* const plan_;
  const Script& script_;
  Reached* const reached_;
  ServerMemory memory_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::unique_ptr<Runtime> runtime_;
  std::vector<Program> programs_;
  std::array<DepId, kDeps> dep_ids_;
  std::array<Words, kDeps> deps_;
  std::array<Address, kDeps> dep_at_ = {};
  std::array<uint64_t, kDeps> generations_ = {};
  std::vector<Bytes> sources_;
  std::vector<Held> held_;
  std::vector<Value> retired_;  // let go, but for steps that may read them
  std::map<uint32_t, LaneModel> lanes_;
  uint64_t steps_ = 0;
  WhyCounts whys_ = {};
  uint64_t fail_in_ = 0;
  bool faulted_ = false;  // in this action
  bool done_ = false;     // what follows may be anything
};

}  // namespace graphtree::runtime_simulation

#endif  // GRAPHTREE_TESTS_RUNTIME_SIMULATION_WORLD_H_
