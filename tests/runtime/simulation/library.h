// A library of the simulated server's with workspaces, which grow when a body asks for more than
// they have. Each place that a workspace has had is another one:
//
//   | left: rubbish | left: rubbish | now | ready for later | ready | left ... |
//
//   a place   | head, which the library has written | scratch of lane 0 | ... 1 | ... 2 |
//
// What was left is overwritten once the steps before are over, and is looked at from then on:
// nobody writes there. A recording that still points there shows rubbish.
#ifndef GRAPHTREE_TESTS_RUNTIME_SIMULATION_LIBRARY_H_
#define GRAPHTREE_TESTS_RUNTIME_SIMULATION_LIBRARY_H_

#include <array>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "device/address.h"
#include "tests/runtime/simulation/model.h"
#include "tests/runtime/simulation/script.h"
#include "tests/runtime/simulation/server_memory.h"

namespace graphtree::runtime_simulation {

// The words of a workspace's head in the place that it has after so many moves.
Words HeadOf(uint32_t workspace, uint64_t moves);

class Library {
 public:
  // Tells the runtime where a workspace is now.
  using Tell = std::function<absl::Status(uint32_t workspace, AddressRange memory)>;

  Library(ServerMemory& memory, Tell tell);

  AddressRange memory(uint32_t workspace) const;
  Address scratch(uint32_t workspace, uint32_t lane) const;
  uint64_t moves(uint32_t workspace) const { return workspaces_[workspace].moves; }
  uint32_t room(uint32_t workspace) const { return workspaces_[workspace].room; }

  // By a body: so many words for each lane are needed.
  absl::Status Ask(uint32_t workspace, uint32_t words);
  absl::Status Move(uint32_t workspace, uint32_t room);
  // An error if somebody has written to what was left. REQUIRES: no work is under way.
  absl::Status Settle();

 private:
  struct Workspace {
    uint64_t moves = 0;
    uint32_t room = kLeastRoom;  // words for each lane
    std::array<bool, kWorkspacePlaces> is_rubbish = {};
    std::array<uint64_t, kWorkspacePlaces> ready_for = {};  // the move that it has a head for
  };

  absl::Status CheckRubbish(uint32_t workspace);
  absl::Status Prepare(uint32_t workspace);

  ServerMemory& memory_;
  const Tell tell_;
  std::array<Workspace, kWorkspaces> workspaces_;
};

}  // namespace graphtree::runtime_simulation

#endif  // GRAPHTREE_TESTS_RUNTIME_SIMULATION_LIBRARY_H_
