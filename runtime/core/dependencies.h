// The dependencies of a runtime: declared in every lane's tree, touched, and moved when they grow;
// and which recordings that costs.
//
//   Declare   a workspace of each lane's tree, of those lanes too that come later (RegisterIn)
//   Touch     a generation goes up: recordings of before are made again by their next steps
//   Move      the same, with memory; told in words if there are recordings of before
//
// Whoever needs the most of a workspace is to be recorded first, since each move makes the
// recordings before it stale: Move checks that, and says whom it has cost what.
//
// Threads: dependencies are declared while no step is under way; a body may touch and move them
// while no other thread runs a step, and is refused else, as two bodies would wait for each other's
// lane. Names and generations are read by the thread of each lane.
#ifndef GRAPHTREE_RUNTIME_CORE_DEPENDENCIES_H_
#define GRAPHTREE_RUNTIME_CORE_DEPENDENCIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/address.h"
#include "runtime/core/dependency_table.h"
#include "runtime/core/lane.h"
#include "runtime/core/lanes.h"
#include "runtime/core/program_state.h"
#include "runtime/core/programs.h"
#include "runtime/program.h"
#include "runtime/runtime_options.h"
#include "runtime/watch/counter.h"

namespace graphtree {

class Dependencies {
 public:
  // `runtime` is in every id. The others outlive it.
  Dependencies(uint32_t runtime, const Lanes& lanes, const Programs& programs,
               const RuntimeOptions& options)
      : runtime_(runtime), lanes_(lanes), programs_(programs), options_(options) {}
  Dependencies(const Dependencies&) = delete;
  Dependencies& operator=(const Dependencies&) = delete;

  // A workspace if it has memory. An error if the name is taken, or a step is under way.
  absl::StatusOr<DepId> Declare(std::string name, std::optional<AddressRange> memory);
  // Makes all known to the tree of a lane that was just added.
  void RegisterIn(Lane& lane) const;
  absl::Status Touch(DepId dep);
  absl::Status Move(DepId workspace, AddressRange memory);

  bool IsOurs(DepId dep) const { return dep.runtime == runtime_ && dep.index < table_.size(); }
  const std::string& name(uint32_t index) const { return table_.name(index); }
  // Those of the program's dependencies, now.
  std::vector<uint64_t> GenerationsOf(const ProgramState& program) const {
    return table_.GenerationsOf(program.dependencies());
  }
  // Of the workspaces that the program depends on.
  uint64_t WorkspaceBytes(const ProgramState& program) const {
    return table_.MemoryBytesOf(program.dependencies());
  }
  // The program's dependencies that were touched since the shape was recorded.
  std::vector<uint32_t> TouchedSince(const ProgramState& program, const ShapeState& shape) const;

  // On any thread:
  uint64_t touches() const { return touches_.get(); }  // and moves
  uint64_t moves_with_cost() const { return moves_with_cost_.get(); }
  uint64_t stale_recordings() const { return stale_recordings_.get(); }
  uint64_t workspace_bytes() const { return workspace_bytes_.get(); }  // of all, now

 private:
  void Register(Lane& lane, uint32_t index) const;
  // The shapes whose recordings have this dependency as it is now: "'decode' for tokens=8".
  std::vector<std::string> RecordedWith(uint32_t index) const;
  absl::Status CheckMayChange(const std::string& what) const;
  void TellMove(uint32_t index, AddressRange before, const std::vector<std::string>& stale) const;

  const uint32_t runtime_;
  const Lanes& lanes_;
  const Programs& programs_;
  const RuntimeOptions& options_;
  DependencyTable table_;
  Counter touches_;
  Counter moves_with_cost_;   // after which recordings were stale
  Counter stale_recordings_;  // that were made so by moves
  Counter workspace_bytes_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_DEPENDENCIES_H_
