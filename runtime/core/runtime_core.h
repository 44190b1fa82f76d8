// The runtime's inside. A step goes through these files:
//
//   Begin   steps.cc             the shape table chooses, and the ring gives a block
//   Stage   slots/step_block.h   the data go into the block
//   Run     steps.cc             the block goes to the tree's function of the shape: one launch
//
// What steps run on, programs and lanes, is added in runtime_core.cc.
//
// Threads: see runtime.h.
#ifndef GRAPHTREE_RUNTIME_CORE_RUNTIME_CORE_H_
#define GRAPHTREE_RUNTIME_CORE_RUNTIME_CORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "device/address.h"
#include "device/device.h"
#include "runtime/core/dependencies.h"
#include "runtime/core/lane.h"
#include "runtime/core/program_state.h"
#include "runtime/program.h"
#include "runtime/runtime_options.h"
#include "runtime/shapes/launch_history.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/shapes/vote.h"

namespace graphtree {

class RuntimeCore {
 public:
  RuntimeCore(Device& device, const RuntimeOptions& options);
  ~RuntimeCore();
  RuntimeCore(const RuntimeCore&) = delete;
  RuntimeCore& operator=(const RuntimeCore&) = delete;

  absl::StatusOr<ProgramId> AddProgram(ProgramOptions options);
  absl::Status AddShapes(ProgramId program, absl::Span<const Key> keys, Mode mode);
  absl::Status Exclude(ProgramId program, const Key& key, bool excluded);
  absl::Status RemoveProgram(ProgramId program);
  absl::Status Record(ProgramId program, Stream& stream);

  DepId DeclareDep(std::string name);
  absl::Status Touch(DepId dep);
  // workspaces.cc
  DepId DeclareWorkspace(std::string name, AddressRange memory);
  absl::Status MoveWorkspace(DepId workspace, AddressRange memory);

  absl::StatusOr<Choice> Choose(ProgramId program, const Key& key, Modes allowed) const;
  absl::StatusOr<Vote> MakeVote(ProgramId program, const Key& key, Modes allowed,
                                uint32_t epoch) const;
  absl::StatusOr<Agreement> Agree(ProgramId program, const Key& key, Modes allowed, uint32_t epoch,
                                  absl::Span<const Vote> votes) const;
  absl::StatusOr<OpenStep*> Begin(ProgramId program, const Key& key, Stream& stream,
                                  const StepOptions& options);
  // REQUIRES: the step is open.
  absl::Status Run(OpenStep& step, Values* outputs);
  std::string Describe(const OpenStep& step) const;

  absl::StatusOr<const ProgramState*> Find(ProgramId id) const;
  const LaunchHistory& history(uint32_t lane) const;
  RuntimeStats stats() const;
  Tree* tree(uint32_t lane);

 private:
  absl::StatusOr<ProgramState*> FindMutable(ProgramId id);
  absl::StatusOr<Lane*> LaneFor(uint32_t number);
  // An error if a step is open in some lane: `what` cannot be done then.
  absl::Status CheckNoStep(absl::string_view what) const;
  absl::Status CheckDevice(const ProgramState& program, Stream& stream) const;
  absl::StatusOr<OpenStep*> Open(ProgramState& program, const Choice& choice, const Key& key,
                                 Stream& stream);
  // An error if the caller has not given all that the step needs.
  absl::Status CheckRunnable(OpenStep& step, const Values* outputs) const;
  // Runs the step's function of the tree.
  absl::Status Launch(OpenStep& step, Values* outputs);
  // What the tree made of the step, as its reason.
  void NoteRoute(OpenStep& step, const absl::Status& status);
  void NoteRecorded(OpenStep& step);
  std::string DescribeStale(const OpenStep& step) const;
  // Registers the dependency in every lane's tree.
  DepId Declared(uint32_t index);
  // The shapes whose recordings have this dependency as it is now: "'decode' for tokens=8".
  std::vector<std::string> RecordedWith(uint32_t dep) const;
  // "while 'decode' ran for tokens=8", "between steps".
  std::string WhoRuns() const;
  absl::Status RecordShape(ProgramState& program, uint32_t index, Stream& stream);

  Device& device_;
  const RuntimeOptions options_;
  const uint32_t number_;  // of this runtime among those of the process
  std::map<uint32_t, std::unique_ptr<Lane>> lanes_;
  std::vector<std::unique_ptr<ProgramState>> programs_;  // null: removed
  std::vector<std::string> names_;                       // of programs, also of those removed
  Dependencies dependencies_;
  uint64_t workspace_moves_ = 0;
  uint64_t stale_recordings_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_RUNTIME_CORE_H_
