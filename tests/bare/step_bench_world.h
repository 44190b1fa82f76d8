// A runtime with one program, as a serving engine has it, and beside it the ways of today with bare
// CUDA calls: slots that are written by a copy or a fill each, kernels that prepare the step
// launched one by one, and the main graph.
//
//   ours      Begin, Stage for each slot, Run:  [unpack -> prepare x P -> main x K]     one launch
//   theirs    copy x slots, fill x padded, kernel x P, launch of [main x K]             many
//   bare      launch of [main x K]
//
// On the host device its own calls stand for the bare ones.
#ifndef GRAPHTREE_TESTS_BARE_STEP_BENCH_WORLD_H_
#define GRAPHTREE_TESTS_BARE_STEP_BENCH_WORLD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/memory.h"
#include "runtime/runtime.h"
#include "tests/bare/bare_graph.h"
#include "tests/bare/bench_device.h"

namespace graphtree {

struct StepShape {
  uint32_t slots = 8;
  uint32_t bytes = 4096;       // staged in a step, in all slots together
  uint32_t preparations = 6;   // kernels
  uint32_t kernels = 20;       // of the main graph
  uint32_t dependencies = 0;
  bool is_padded = false;      // the step has three quarters of the shape's rows
};

class StepBenchWorld {
 public:
  static absl::StatusOr<std::unique_ptr<StepBenchWorld>> Make(const std::string& device,
                                                              const StepShape& shape);
  ~StepBenchWorld();

  absl::Status Step();
  void BareStep();
  // Their way.
  void SeparateStep();
  void Drain();

  // How many steps were hits, or covered by a larger shape.
  uint64_t replays() const;
  absl::Status bare_status();
  bool is_host() const { return on_.is_host(); }

 private:
  explicit StepBenchWorld(const StepShape& shape) : shape_(shape) {}
  absl::Status SetUp(const std::string& device);
  absl::Status AddProgram();
  absl::Status MakeBare();
  int64_t rows() const { return shape_.bytes / shape_.slots / sizeof(int32_t); }
  int64_t staged_rows() const { return shape_.is_padded ? rows() * 3 / 4 : rows(); }
  AddressRange Words(uint32_t index) const;

  const StepShape shape_;
  BenchDevice on_;
  std::unique_ptr<HostBuffer> pinned_;
  std::unique_ptr<Runtime> runtime_;
  ProgramId program_;
  Values outputs_;
  std::vector<int32_t> data_;
  HostGraph host_;
  std::unique_ptr<BareGraph> bare_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_BARE_STEP_BENCH_WORLD_H_
