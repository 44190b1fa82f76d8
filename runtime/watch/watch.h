// All that a runtime has noted, to be read by any thread at any time: its lanes and its programs.
//
//   Watch --- lanes       LaneWatch: the last steps, counts, times; and the lane's tree
//         --- programs    by number, as their ids have it: ProgramWatch
//                           --- eager    steps that no shape served
//                           --- shapes   by id
//
// A look into a tree waits for the call that runs there. In a body that could be for ever:
//
//   thread 1, in a body of lane 0    looks at lane 1, whose call ends ...
//   thread 2, in a body of lane 1    ... when its look at lane 0 ends, whose call ends when ...
//
// So a thread that is in a lane's tree, whoever has called that, waits only for trees that no other
// thread is in (`may_wait`). What it waits for then has begun after its own call, and so on: nobody
// waits for himself. Of other runtimes' lanes nothing is known.
//
// What steps note are atomics (counter.h), so neither steps nor readers wait. The lists are guarded
// by mutexes that no step takes: only who adds or removes a program or shapes, and readers. Whoever
// reads is given shared pointers, and may go on reading what is removed meanwhile.
#ifndef GRAPHTREE_RUNTIME_WATCH_WATCH_H_
#define GRAPHTREE_RUNTIME_WATCH_WATCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "graphs/tree.h"
#include "runtime/plan/estimate.h"
#include "runtime/recording_plan.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"
#include "runtime/watch/counter.h"
#include "runtime/watch/lane_looks.h"
#include "runtime/watch/lane_watch.h"
#include "runtime/watch/last_warnings.h"
#include "runtime/watch/shape_watch.h"
#include "runtime/watch/tag_watch.h"

namespace graphtree {

class ProgramWatch {
 public:
  using Shapes = std::vector<std::shared_ptr<ShapeWatch>>;

  ProgramWatch(std::string name, uint32_t device, uint32_t lane)
      : name(std::move(name)), device(device), lane(lane) {}
  ProgramWatch(const ProgramWatch&) = delete;
  ProgramWatch& operator=(const ProgramWatch&) = delete;

  void AddShape(std::shared_ptr<ShapeWatch> shape) {
    const std::lock_guard<std::mutex> lock(mutex_);
    shapes_.push_back(std::move(shape));
  }
  // By id.
  Shapes shapes() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return shapes_;
  }

  // The tags that it is parked by now (parking.h).
  void SetParkedBy(std::vector<std::string> tags) {
    const std::lock_guard<std::mutex> lock(mutex_);
    parked_by_ = std::move(tags);
  }
  std::vector<std::string> parked_by() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return parked_by_;
  }

  const std::string name;
  const uint32_t device;
  const uint32_t lane;
  // As RuntimeStats and the ledger have them; set by the lane's thread.
  Counter slot_bytes;
  Counter mapped_slot_bytes;  // in whole pieces, as the device gave it
  Counter code_bytes;         // that the driver took when its shapes ran first
  Counter workspace_bytes;    // of the workspaces that it depends on
  Counter staging_bytes;
  Counter staging_waits;
  Counter staging_told;
  const std::shared_ptr<ShapeWatch> eager =
      std::make_shared<ShapeWatch>(ShapeWatch::kEagerId, Key(), Mode::kEager);

 private:
  mutable std::mutex mutex_;
  Shapes shapes_;
  std::vector<std::string> parked_by_;
};

struct WatchedLane {
  uint32_t device = 0;
  uint32_t lane = 0;
  std::shared_ptr<const LaneWatch> watch;
  Tree* tree = nullptr;  // good for as long as the runtime
  std::shared_ptr<LaneLooks> looks = std::make_shared<LaneLooks>();
  bool may_wait = true;  // the thread that was given this, for who is in the lane's tree
};

struct WatchedProgram {
  uint32_t number = 0;
  std::string name;
  std::shared_ptr<const ProgramWatch> watch;  // null: it was removed
};

// What the host pays to replay a graph on a device, measured (core/launch_cost.h).
struct LaunchCost {
  double base_ns = 0;
  double per_op_ns = 0;

  double OfOps(uint64_t ops) const { return base_ns + per_op_ns * static_cast<double>(ops); }
};

class Watch {
 public:
  Watch() = default;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // What the runtime warns of. Shared with who warns, which may outlive the runtime.
  const std::shared_ptr<LastWarnings> warnings = std::make_shared<LastWarnings>();

  void AddLane(WatchedLane lane);
  void AddProgram(uint32_t number, std::shared_ptr<const ProgramWatch> program);
  // Its name stays, as the last steps may be the program's, until so many more were removed.
  static constexpr size_t kMostRemoved = 64;
  void RemoveProgram(uint32_t number);

  void AddTag(std::shared_ptr<const TagWatch> tag);
  void RemoveTag(const TagWatch* tag);
  // In the order in which they were first used.
  std::vector<std::shared_ptr<const TagWatch>> tags() const;

  // By device.
  void SetLaunchCosts(std::vector<LaunchCost> costs);
  bool knows_launch_costs() const { return !launch_costs().empty(); }
  // Empty if nobody has measured them.
  std::vector<LaunchCost> launch_costs() const;

  std::vector<WatchedLane> lanes() const;
  // In the order of their numbers; of those that were removed the last ones.
  std::vector<WatchedProgram> programs() const;

  // A plan was recorded, and so much is known of the drivers, by device.
  void SetPlan(const PlanResult& plan, std::map<uint32_t, DriverModel> drivers);
  // The last one. Null if there was none.
  std::shared_ptr<const PlanResult> plan() const;
  std::map<uint32_t, DriverModel> drivers() const;

 private:
  mutable std::mutex mutex_;
  std::vector<WatchedLane> lanes_;
  std::vector<WatchedProgram> programs_;
  std::vector<std::shared_ptr<const TagWatch>> tags_;
  std::vector<LaunchCost> launch_costs_;
  std::shared_ptr<const PlanResult> plan_;
  std::map<uint32_t, DriverModel> drivers_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WATCH_WATCH_H_
