// The runtime's inside. A step goes through these files:
//
//   Begin   steps.cc             the shape table chooses, and the ring gives a block
//   Stage   slots/step_block.h   the data go into the block
//   Run     step_launch.h        the block goes to the tree's function of the shape: one launch
//
//   lanes.h           the trees that steps run in, and the memory that they share
//   programs.h        the programs by their ids
//   runtime_core.cc   adds what steps run on: programs, lanes, dependencies; and takes it away
//   steps.cc          begins steps and notes how they ran
//   recordings.cc     recordings made ahead, and those that wait for a commit
//   workspaces.cc     dependencies whose memory moves
//   describe.cc       steps and statistics, for people and programs
//
// Threads: see runtime.h.
#ifndef GRAPHTREE_RUNTIME_CORE_RUNTIME_CORE_H_
#define GRAPHTREE_RUNTIME_CORE_RUNTIME_CORE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/device.h"
#include "runtime/core/dependencies.h"
#include "runtime/core/lane.h"
#include "runtime/core/lanes.h"
#include "runtime/core/program_state.h"
#include "runtime/core/programs.h"
#include "runtime/core/step_launch.h"
#include "graphs/tensor.h"
#include "graphs/tree_stats.h"
#include "runtime/program.h"
#include "runtime/runtime_options.h"
#include "runtime/shapes/launch_history.h"
#include "runtime/shapes/shape_table.h"

namespace graphtree {

class RuntimeCore {
 public:
  // REQUIRES: at least one device, and none twice.
  RuntimeCore(std::vector<Device*> devices, const RuntimeOptions& options);
  ~RuntimeCore();
  RuntimeCore(const RuntimeCore&) = delete;
  RuntimeCore& operator=(const RuntimeCore&) = delete;

  absl::StatusOr<ProgramId> AddProgram(ProgramOptions options);
  absl::Status AddShapes(ProgramId program, absl::Span<const Key> keys, Mode mode);
  absl::Status Exclude(ProgramId program, const Key& key, bool excluded);
  absl::Status RemoveProgram(ProgramId program);
  absl::Status Record(ProgramId program, Stream& stream);
  uint64_t epoch() const { return epoch_; }
  std::vector<UncommittedShape> Uncommitted() const;
  absl::Status Commit(uint64_t epoch);

  DepId DeclareDep(std::string name);
  absl::Status Touch(DepId dep);
  uint64_t touches() const { return touches_; }
  // workspaces.cc
  DepId DeclareWorkspace(std::string name, AddressRange memory);
  absl::Status MoveWorkspace(DepId workspace, AddressRange memory);

  absl::StatusOr<OpenStep*> Begin(ProgramId program, const Key& key, Stream& stream,
                                  const StepOptions& options);
  // REQUIRES: the step is open; the same below.
  absl::Status Run(OpenStep& step, Values* outputs);
  void Cancel(OpenStep& step) { CloseStep(step, /*was_launched=*/false); }
  // False if no step waits to be run in that lane.
  bool CancelIn(uint32_t lane, uint32_t device);
  std::string Describe(const OpenStep& step) const;

  absl::StatusOr<const ProgramState*> Find(ProgramId id) const { return programs_.Find(id); }
  const LaunchHistory& history(uint32_t lane, uint32_t device) const;
  RuntimeStats stats() const;
  Tree* tree(uint32_t lane, uint32_t device);

 private:
  // Adds the lane if there is none.
  absl::StatusOr<Lane*> LaneFor(Lanes::Place place);
  // What the tree made of the step, as its reason.
  void NoteRoute(OpenStep& step, const absl::Status& status);
  void NoteMiss(OpenStep& step, const LastCall& last);
  // The dependencies that were touched since the shape was recorded.
  std::vector<uint32_t> TouchedSince(const OpenStep& step) const;
  void NoteRecorded(OpenStep& step);
  // The step ran eagerly, since its shape is recorded without being launched: does that now.
  void RecordWhileServing(OpenStep& step);
  std::string DescribeStale(const OpenStep& step) const;
  bool IsOurs(DepId dep) const {
    return dep.runtime == number_ && dep.index < dependencies_.size();
  }
  // Registers the dependency in every lane's tree.
  DepId Declared(uint32_t index);
  void RegisterIn(Lane& lane, uint32_t dep) const;
  // The shapes whose recordings have this dependency as it is now: "'decode' for tokens=8".
  std::vector<std::string> RecordedWith(uint32_t dep) const;
  absl::Status RecordAll(ProgramState& program, Stream& stream);
  // Records one shape on slots of zeros.
  absl::Status RecordShape(ProgramState& program, uint32_t index, Stream& stream);
  absl::Status RunToRecord(OpenStep& step, Why* why);

  const RuntimeOptions options_;
  const uint32_t number_;  // of this runtime among those of the process
  Lanes lanes_;
  Programs programs_;  // go before the lanes
  Dependencies dependencies_;
  uint64_t touches_ = 0;
  uint64_t epoch_ = 1;  // of recordings that are made now
  uint64_t workspace_moves_ = 0;
  uint64_t stale_recordings_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_RUNTIME_CORE_H_
