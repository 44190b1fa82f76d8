// Runs a program with a tree, and beside it the same program on plain vectors (model.h): after
// every action the bytes of everything that the caller can see must be the same.
//
// What else must hold: a tensor of an ended step is an error wherever it is used, and so is memory
// that is gone, in checked mode; what is refused has not happened; a body that asks for another
// warm-up is not recorded; an observer hears everything in order; what is recorded stays within its
// budget and holds what its body gave it; every call is counted, and every eager run has a reason.
#ifndef GRAPHTREE_TESTS_SIMULATION_WORLD_H_
#define GRAPHTREE_TESTS_SIMULATION_WORLD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "device/device.h"
#include "device/fault/fault_plan.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "tests/simulation/body_runner.h"
#include "tests/simulation/caller_memory.h"
#include "tests/simulation/model.h"
#include "tests/simulation/program.h"
#include "tests/simulation/watcher.h"
#include "tests/simulation/witness.h"

namespace graphtree::simulation {

TreeOptions OptionsFor(const Program& program);

// Every eighth seed's pool holds little more than its program needs, or less: calls of it may fail
// for lack of memory, and recordings are given up so that others need not.
bool HasLittleMemory(uint32_t seed);

class World {
 public:
  // `plan`, if there is one, is the device's: the program's faults are armed there.
  World(Device& device, FaultPlan* plan, const Program& program, TreeOptions options);
  ~World();

  // Called before each action, with its number, and before each op of a body.
  void set_between(std::function<void(size_t action)> actions, std::function<void()> ops);
  // Other threads use the device, too.
  void SetBesideOthers() { is_alone_ = false; }
  // OK, or the first thing that the caller saw and should not have.
  absl::Status Run();
  // The tree's, when the program had been run to its end.
  const TreeStats& stats() const { return stats_; }
  // From another thread while a body runs: calls its tree, which must be refused.
  absl::Status Intrude();

 private:
  // What a call brings, and why it may be refused.
  struct Brought {
    std::vector<Seen> arguments;
    bool stale = false;       // must be refused
    bool dead = false;        // likewise
    bool lie = false;         // another object under a version that is known

    bool MayBeRefused() const { return stale || dead || lie; }
  };
  // The call that is under way, as the model needs it: no handle of the tree's is in it.
  struct InHand {
    const FunctionSpec* spec = nullptr;
    std::vector<Seen> arguments = {};
    std::vector<uint64_t> words = {};
    // Of all that a body may write to, as it was: each run of it begins there.
    std::vector<std::pair<CellPtr, Cell>> contents = {};
    std::optional<Model> model = {};  // of the last run
  };
  enum class Route : uint8_t { kFailed, kReplayed, kRecorded, kWarmedUp, kEager };
  struct Ended {
    Route route = Route::kFailed;
    uint64_t recording = 0;  // kRecorded, kReplayed
    bool may_lack_memory = false;  // a device call failed in it, or the pool is small
  };
  struct VersionedThing {
    std::shared_ptr<const Thing> thing;
    uint64_t version = 0;
  };

  absl::Status SetUp();
  void RegisterFunctions();
  absl::Status TearDown();
  absl::Status Act(const Action& action);
  absl::Status Synchronize();
  absl::Status Hoard(const Action& action);
  absl::Status GiveForeignBack();

  // Picks the arguments; false if the program asks for one that is not there.
  bool PickArguments(const FunctionSpec& spec, const Action& action, Brought* brought);
  Seen PickStatic(size_t param, uint32_t pick) const;
  Seen PickTensor(uint32_t pick, bool foreign_too, Brought* brought);
  Seen PickThing(uint32_t pick, Brought* brought);
  void RenewThing(uint32_t which, uint32_t content);

  absl::Status Call(const Action& action);
  absl::Status RunTree(uint32_t function, Values* inputs, const Action& action, Values* outputs);
  // Takes the handles that the caller does not keep out of its sight.
  void LetGo(const Action& action, Brought* brought);
  absl::Status TakeOutputs(const Ended& ended, Values outputs);
  void TakeInHand(const FunctionSpec& spec, const Brought& brought);
  Values RunBody(Launcher& on, Values& inputs);

  // world_shelf.cc
  Ended HowItEnded(const TreeStats& before, const absl::Status& status) const;
  // A tensor of the tree's that nothing ends with a step, as it lies in the lasting region.
  bool Lasts(const Value& handle) const;
  Source Settled(const Register& made, const Value& handle, const Ended& ended) const;
  void SettleShelf(const Ended& ended, uint64_t runs_before);
  absl::Status FollowReplay(Ended* ended);
  std::vector<Seen> OutputsOf(const Ended& ended, const Values& outputs) const;
  absl::Status AfterStaleUse(const FunctionSpec& spec, const absl::Status& failure);
  // Whether what is stored may be used, and what is in it.
  absl::Status CheckLives() const;
  absl::Status CheckShelf();

  // Whether `failure` is what such a call may get; nothing has happened then.
  bool WasRefused(const Brought& brought, const absl::Status& failure);
  absl::Status CheckRefused(const Brought& brought, const Values& inputs);
  // A call failed, because a fault was armed: what must be true all the same. Done: the program
  // cannot go on, as nobody knows what the function had written.
  bool MayLackMemory(const absl::Status& failure) const;
  absl::Status AfterFault(const FunctionSpec& spec, const Values& inputs, size_t own,
                          const absl::Status& failure);

  absl::Status CheckAll();
  absl::Status CheckOne(const Seen& seen, const std::string& name);
  // A call that was made and not refused: on one route, and for a reason if it ran eagerly.
  absl::Status CheckCounted(const TreeStats& before);
  absl::Status CheckInvariants();
  absl::Status CheckBudget();
  absl::Status CheckWitnesses();
  absl::Status CheckBooks();
  absl::Status CheckWatcher();
  absl::Status ForgetStale();

  Device& device_;
  FaultPlan* const plan_;
  const Program& program_;
  TreeOptions options_;
  std::string false_alarm_;  // a warning of a write that no function makes
  bool done_ = false;
  std::function<void(size_t)> between_ = [](size_t) {};
  bool is_alone_ = true;
  Watcher watcher_;
  Witnesses witnesses_;
  std::unique_ptr<Stream> streams_[2];
  uint32_t stream_ = 0;
  BodyRunner bodies_;
  CallerMemory memory_;
  std::unique_ptr<Tree> tree_;
  std::vector<Seen> live_;   // outputs that the caller holds
  std::vector<Seen> stale_;  // outputs of ended steps that it has not let go
  std::vector<Seen> hoard_;  // blocks that foreign code has taken outside of bodies
  std::vector<VersionedThing> things_;
  uint64_t last_version_ = 0;
  std::set<uint64_t> lied_about_;  // versions that two objects came with
  std::vector<uint32_t> runs_;     // of bodies, by function
  InHand in_hand_;
  uint64_t body_runs_ = 0;  // of all
  uint64_t step_ = 0;
  // Of programs whose bodies take from the shelf: what is known of each recording and its last run.
  const bool loads_;
  std::map<uint64_t, Model::Recorded> recorded_;
  std::map<uint64_t, std::vector<CellPtr>> made_;
  std::map<uint64_t, uint64_t> replays_;
  bool last_body_asked_ = false;
  TreeStats stats_;
};

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_WORLD_H_
