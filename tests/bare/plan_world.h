// A synthetic model of many layers as a program with the shapes that engines list, and beside it
// the same kernels met by bare calls.
//
//   body of a shape    fill x -> [layer: y = x + x, 8 times over] x layers    memory by tokens
//   segmented                    ... | break | ...                             one cut a layer
//   bare, full         one eager run, capture, instantiate, launch
//   bare, segmented    the same, a graph for each layer, and what the break runs after each
#ifndef GRAPHTREE_TESTS_BARE_PLAN_WORLD_H_
#define GRAPHTREE_TESTS_BARE_PLAN_WORLD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/stream.h"
#include "runtime/runtime.h"
#include "tests/bare/bare_graph.h"
#include "tests/bare/bare_new.h"
#include "tests/bare/bench_device.h"

namespace graphtree {

struct PlanWorldOptions {
  uint32_t layers = 48;
  std::vector<int32_t> tokens = {};  // ascending
  std::vector<Mode> modes = {Mode::kFull};
  uint32_t lane = 0;
  std::string program = "layers";
  bool watches_steps = true;
};

// 1, 2, 4, then every 8 up to 256, then every 16 up to 512: 51 sizes.
std::vector<int32_t> EngineSizes();

class PlanWorld {
 public:
  static absl::StatusOr<std::unique_ptr<PlanWorld>> Make(const std::string& device,
                                                         const PlanWorldOptions& options);
  ~PlanWorld();

  BenchDevice& on() { return on_; }
  Runtime& runtime() { return *runtime_; }
  // A fresh runtime, with the program.
  absl::Status OpenRuntime();
  void CloseRuntime();
  // The program again, under another name and in another lane.
  absl::StatusOr<ProgramId> AddProgram(const std::string& name, uint32_t lane);
  ProgramId program() const { return program_; }
  absl::Status Step(ProgramId program, int32_t tokens, Stream& stream);

  absl::StatusOr<uint64_t> FreeBytes();
  // By bare calls, on a stream of their own. Not beside each other.
  absl::Status MeetBare(int32_t tokens, Mode mode);
  absl::Status DrainBare();
  void ForgetBare();
  uint64_t bare_graphs() const { return bare_graphs_; }

 private:
  enum class OpKind : uint8_t { kFill, kAdd, kIncrement };
  // One kernel of a chain, for the host device and for CUDA.
  struct Op {
    OpKind kind = OpKind::kAdd;
    Address target = 0;
    Address source = 0;
    uint32_t count = 0;
    uint32_t word = 1;  // that is filled in, or added
    const Kernel& kernel() const;
  };
  using Ops = std::vector<std::unique_ptr<Op>>;

  explicit PlanWorld(const PlanWorldOptions& options) : options_(options) {}
  absl::Status SetUp(const std::string& device);
  Values Body(Launcher& on, const ProgramInputs& in) const;
  Ops LayerOps(int32_t tokens, uint32_t layer) const;
  // What the break after a layer runs.
  Ops PartOps(int32_t tokens) const;
  absl::Status LaunchOnHost(const Ops& ops);
  absl::Status MeetOnHost(const Ops& ops);
  static std::vector<BareLaunch> LaunchesOf(const Ops& ops);
  // Runs the ops eagerly, and records them where `records`.
  absl::Status MeetOps(const Ops& ops, bool records);

  const PlanWorldOptions options_;
  BenchDevice on_;
  std::unique_ptr<Runtime> runtime_;
  ProgramId program_;
  std::vector<int32_t> ids_;
  // Bare: on CUDA, or on the host device with a stream of its own.
  std::unique_ptr<BareNew> bare_;
  std::unique_ptr<Stream> bare_stream_;
  std::vector<HostGraph> host_graphs_;
  std::vector<Ops> kept_;  // that launches point to
  uint64_t bare_graphs_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_BARE_PLAN_WORLD_H_
