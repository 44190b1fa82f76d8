// Runs a program with a tree, and beside it the same program on plain vectors: after every action
// the bytes of everything that the caller can see must be the same.
//
// The model knows nothing of graphs, pools or paths. It knows cells of words, that outputs may
// share a cell with an input, and that a tensor goes stale when its step ends.
#ifndef GRAPHTREE_TESTS_SIMULATION_WORLD_H_
#define GRAPHTREE_TESTS_SIMULATION_WORLD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "device/device.h"
#include "tests/simulation/program.h"
#include "graphs/tree.h"

namespace graphtree::simulation {

using Cell = std::vector<uint32_t>;

// A tensor as the caller sees it.
struct Seen {
  Value handle;
  std::shared_ptr<Cell> cell;
  bool kept = false;  // it outlives its step
};

// Memory of the caller's own, outside the tree.
struct Outside {
  AddressRange range;
  std::unique_ptr<PhysicalMemory> memory;
};

class World {
 public:
  World(Device& device, const Program& program, const TreeOptions& options);
  ~World();

  // OK, or the first thing that the caller saw and should not have.
  absl::Status Run();
  TreeStats stats() { return tree_->stats(); }

 private:
  absl::Status SetUp();
  absl::Status TearDown();
  absl::Status Act(const Action& action);
  absl::Status Call(const Action& action);
  absl::Status CheckAll();
  absl::Status CheckOne(const Seen& seen, const std::string& name);
  absl::Status ForgetStale();

  absl::StatusOr<Address> NewOutside();
  Values BodyOf(const FunctionSpec& spec, Launcher& on, Values& inputs);
  void Fork(Launcher& on, const Tensor& out, const Tensor& a, const Tensor& b);
  std::vector<Seen> ModelOf(const FunctionSpec& spec, const std::vector<Seen>& arguments);
  // Picks the arguments; false if the program asks for one that is not there.
  bool PickArguments(const FunctionSpec& spec, const Action& action, std::vector<Seen>* arguments);

  Device& device_;
  const Program& program_;
  const TreeOptions options_;
  std::unique_ptr<Tree> tree_;
  std::unique_ptr<Stream> streams_[2];
  std::unique_ptr<Stream> fork_;
  std::unique_ptr<Event> forked_;
  std::unique_ptr<Event> joined_;
  uint32_t stream_ = 0;
  Outside outside_;
  uint64_t outside_used_ = 0;
  std::vector<Seen> statics_;
  std::vector<Seen> foreign_;
  std::vector<Seen> live_;  // outputs that the caller holds
};

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_WORLD_H_
