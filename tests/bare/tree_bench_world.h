// A tree with a chain of small functions, and beside it the graphs that a program would launch
// bare.
#ifndef GRAPHTREE_TESTS_BARE_TREE_BENCH_WORLD_H_
#define GRAPHTREE_TESTS_BARE_TREE_BENCH_WORLD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/observer.h"
#include "graphs/inputs/ingest/ingest.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "tests/bare/bare_graph.h"
#include "tests/bare/bench_device.h"

namespace graphtree {

struct BenchShape {
  uint32_t statics = 1;    // static inputs of every function
  uint32_t copied = 0;     // inputs that come at another address every time
  uint32_t functions = 1;  // in a chain, each consuming the last one's output
  uint32_t siblings = 1;   // recordings of the function, one for each first static address
  uint32_t kernels = 10;   // in each function
};

struct StepTimes {
  double first_ns = 0;
  double last_ns = 0;
};

class BenchWorld {
 public:
  static absl::StatusOr<std::unique_ptr<BenchWorld>> Make(const std::string& device,
                                                          const BenchShape& shape);
  ~BenchWorld();

  // Until everything is recorded.
  absl::Status WarmUp();
  // One step through the tree: BeginStep and a call of each function.
  absl::Status Step();
  // From now on, siblings `first` and the next one take turns, instead of all of them.
  void UseSiblings(uint32_t first) { first_sibling_ = first, used_siblings_ = 2; }
  // The same, with the first and the last call timed.
  absl::StatusOr<StepTimes> TimedStep();
  // The bare calls of a step.
  void BareStep();
  void Drain();

  Device& device() { return on_.device(); }
  Observers& observers() { return tree_->observers(); }
  uint64_t replays() { return tree_->stats().replays; }
  uint64_t recordings() { return tree_->stats().recordings; }
  // What the bare calls have met.
  absl::Status bare_status();

 private:
  explicit BenchWorld(const BenchShape& shape) : shape_(shape) {}
  absl::Status SetUp(const std::string& device);
  absl::Status MakeBare();
  absl::Status MakeBareOnHost();
  absl::Status Call(uint32_t function);
  Tensor TensorAt(uint32_t slot) const;
  void NextInputs();

  const BenchShape shape_;
  BenchDevice on_;
  Values inputs_;
  Values outputs_;
  uint32_t turn_ = 0;
  uint32_t first_sibling_ = 0;
  uint32_t used_siblings_ = 0;  // 0: all

  std::vector<IngestPlan> plan_;  // of the bare graph, if inputs are copied
  // One for each function.
  std::vector<HostGraph> host_;  // on the host, whose own calls are the bare ones
  std::vector<std::unique_ptr<BareGraph>> bare_;  // on CUDA
  BareLaunch bare_ingest_;
  std::unique_ptr<Tree> tree_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_BARE_TREE_BENCH_WORLD_H_
