// What a device has given since somebody last looked, told apart from what the pools mapped and
// workspaces grew: code when a shape runs first, executables when it is recorded.
//
//   Look ---- a run ---- Look: the device has 2 MiB less, pools and workspaces have 0 more
//
// Others that use the device meanwhile disturb that, and so does a workspace whose memory its owner
// had already. Asking the device may fail, and costs up to a
// millisecond on CUDA: so nobody looks at every recording.
#ifndef GRAPHTREE_RUNTIME_CORE_TAKEN_BYTES_H_
#define GRAPHTREE_RUNTIME_CORE_TAKEN_BYTES_H_

#include <cstdint>
#include <optional>

#include "device/device.h"
#include "runtime/core/dependencies.h"
#include "runtime/core/lanes.h"

namespace graphtree {

class TakenBytes {
 public:
  // The device's number among the runtime's. All outlive it.
  TakenBytes(const Lanes& lanes, const Dependencies& dependencies, Device& device,
             uint32_t number)
      : lanes_(lanes), dependencies_(dependencies), device_(device), number_(number) {}

  struct Held {
    uint64_t pools = 0;        // mapped
    uint64_t executables = 0;  // by the device's own figure
    uint64_t workspaces = 0;   // the caller's
  };
  Held HeldNow() const;
  std::optional<uint64_t> FreeNow() const;

  struct Since {
    uint64_t graphs = 0;       // that the device has less, but for workspaces
    uint64_t executables = 0;  // by its own figure
    uint64_t beside_pools = 0;  // of `graphs`, what is no pool's
  };
  // Since the last call; none if the device could not be asked now or then.
  std::optional<Since> Look();

 private:
  const Lanes& lanes_;
  const Dependencies& dependencies_;
  Device& device_;
  const uint32_t number_;
  Held held_;
  std::optional<uint64_t> free_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_TAKEN_BYTES_H_
