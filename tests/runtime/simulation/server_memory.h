// Device memory of the simulated server's own: dependencies, at two places each; what steps are
// staged from; the places of workspaces (library.h); what bodies write to without being given it.
// All of it in one piece:
//
//   | source 0..3 | dep 0, dep 0 elsewhere, dep 1, ... | places of workspace 0, of 1 |
//   | log and sum of program 0, of 1, ... |
#ifndef GRAPHTREE_TESTS_RUNTIME_SIMULATION_SERVER_MEMORY_H_
#define GRAPHTREE_TESTS_RUNTIME_SIMULATION_SERVER_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/device.h"
#include "device/memory.h"
#include "device/stream.h"
#include "tests/runtime/simulation/model.h"

namespace graphtree::runtime_simulation {

constexpr uint32_t kSources = 4;
constexpr uint64_t kSourceBytes = 8192;
constexpr uint32_t kWorkspacePlaces = 10;
constexpr uint64_t kWorkspaceBytes = 768;

class ServerMemory {
 public:
  explicit ServerMemory(Device& device) : device_(device) {}

  absl::Status Open();
  absl::Status Close();

  Address source(uint32_t number) const { return range_.base + number * kSourceBytes; }
  Address dep(uint32_t number, uint32_t place) const {
    return source(kSources) + (number * 2 + place) * kRoom;
  }
  Address workspace(uint32_t number, uint32_t place) const {
    return dep(kDeps, 0) + (number * kWorkspacePlaces + place) * kWorkspaceBytes;
  }
  Address log(uint32_t program) const { return workspace(kWorkspaces, 0) + program * 2 * kRoom; }
  Address sum(uint32_t program) const { return log(program) + kRoom; }

  // On a stream of its own. REQUIRES: no work on these bytes is under way.
  absl::Status Write(Address at, const void* data, uint64_t bytes);
  absl::Status Read(Address at, void* data, uint64_t bytes);

 private:
  static constexpr uint64_t kRoom = 256;

  Device& device_;
  std::unique_ptr<Stream> stream_;
  AddressRange range_;
  std::unique_ptr<PhysicalMemory> memory_;
  std::unique_ptr<HostBuffer> transfer_;
};

}  // namespace graphtree::runtime_simulation

#endif  // GRAPHTREE_TESTS_RUNTIME_SIMULATION_SERVER_MEMORY_H_
