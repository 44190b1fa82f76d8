// A runtime with one program, as a serving engine has it, and beside it the ways of today with bare
// calls:
//
//   ours      Begin, Stage for each slot, Run:   [unpack -> prepare x P -> main x K]     one launch
//   theirs    copies, fills, kernels one by one, then a launch of [main x K]
//   recorded  the same as one graph, its copies from page-locked memory at fixed places:
//                              [copies -> fills -> prepare x P -> main x K]            one launch
//   by hand   all data written to one piece of page-locked memory, whose address is patched:
//                                                [ingest -> prepare x P -> main x K]     one launch
//   bare      a launch of [main x K]
//
// By hand is the best that can be done with CUDA for one shape that is known beforehand: the host
// writes padding, too, and nothing is checked. Nor does it bring in what comes from the device or
// is a value: these are the same in each of its steps.
// Recorded, a graph copies the rows of its whole shape, and the next step's rows may be written
// when this one has read its own and not before: a server would wait, or have two graphs. Here
// nobody waits.
#ifndef GRAPHTREE_TESTS_BARE_STEP_BENCH_WORLD_H_
#define GRAPHTREE_TESTS_BARE_STEP_BENCH_WORLD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/memory.h"
#include "runtime/runtime.h"
#include "tests/bare/bare_calls.h"
#include "tests/bare/bench_device.h"

namespace graphtree {

// Where a step's rows of one slot come from.
enum class RowsFrom : uint8_t { kHost, kDevice, kValue };

struct StepShape {
  std::vector<RowsFrom> slots = std::vector<RowsFrom>(8, RowsFrom::kHost);  // of i32
  int64_t rows = 128;         // of the shape
  int64_t staged_rows = 128;  // of a step; less: it is padded
  uint32_t preparations = 6;  // kernels before the main graph, of all but the bare launch
  uint32_t kernels = 20;      // of the main graph
  uint32_t dependencies = 0;
  // What their way takes beside a copy for each slot from the host and the preparing kernels.
  uint32_t their_fills = 0;
  uint32_t their_kernels = 0;
};

class StepBenchWorld {
 public:
  static absl::StatusOr<std::unique_ptr<StepBenchWorld>> Make(const std::string& device,
                                                              const StepShape& shape);
  ~StepBenchWorld();

  absl::Status Step();
  // The caller makes its rows in the slots' own buffers.
  absl::Status StepInPlace();
  void TheirStep();
  void RecordedStep();
  void StepByHand();
  void BareStep() { bare_->Replay(kMain); }
  // The same, and the caller makes the rows in its own memory.
  void BareStepWithRows();
  void Drain();

  // How many steps were hits, or covered by a larger shape.
  uint64_t replays() const;
  absl::Status bare_status() { return bare_->Synchronize(); }

 private:
  enum Graph : size_t { kMain, kByHand, kRecorded };

  explicit StepBenchWorld(const StepShape& shape) : shape_(shape) {}
  absl::Status SetUp(const std::string& device);
  absl::Status AddProgram();
  absl::Status RecordBare();
  void MakeRows(int32_t* rows);
  // Of their way: rows into page-locked memory, and the calls that bring so many bytes of each slot
  // to the device and prepare.
  void PinTheirRows();
  void PrepareTheirs(uint64_t bytes);
  uint64_t slot_bytes() const { return shape_.rows * sizeof(int32_t); }
  uint64_t staged_bytes() const { return shape_.staged_rows * sizeof(int32_t); }
  // Pieces of the caller's memory: the main graph's, the preparation's, a slot's of their way, and
  // what it is staged with if that lies on the device.
  AddressRange Piece(uint32_t index) const;
  AddressRange MainWords() const { return Piece(0); }
  AddressRange PrepareWords() const { return Piece(1); }
  AddressRange TheirSlot(size_t slot) const { return Piece(static_cast<uint32_t>(2 + 2 * slot)); }
  AddressRange Source(size_t slot) const { return Piece(static_cast<uint32_t>(3 + 2 * slot)); }

  const StepShape shape_;
  BenchDevice on_;
  std::unique_ptr<HostBuffer> pinned_;
  std::unique_ptr<Runtime> runtime_;
  ProgramId program_;
  Values outputs_;
  std::vector<int32_t> data_;
  int32_t turn_ = 0;

  std::unique_ptr<BareCalls> bare_;
  std::optional<BareKernel> main_;
  std::optional<BareKernel> prepare_;
  std::optional<BareKernel> ingest_;
  uint64_t host_slots_ = 0;
  uint64_t block_ = 0;  // of those by hand
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_BARE_STEP_BENCH_WORLD_H_
