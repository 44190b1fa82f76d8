// The estates of pools and trees that are destroyed while a capture is open. Nothing may be
// unmapped, waited for or destroyed then, and a pool's own queue of such work goes with the pool:
// so the memory, streams, graphs and executables wait here, in a list of the process.
//
//   ~Pool, ~Tree, a capture is open --> the estate waits here --> released when the next pool of
//                                                                 the device is made, closed or
//                                                                 destroyed, or ends a scope
//
// Whoever closes a device after its last pool is gone calls Release first. Threads: safe from
// several.
#ifndef GRAPHTREE_ALLOCATOR_MEMORY_LEFT_BEHIND_H_
#define GRAPHTREE_ALLOCATOR_MEMORY_LEFT_BEHIND_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "allocator/memory/piece_row.h"
#include "device/address.h"
#include "device/device.h"
#include "device/memory.h"
#include "device/stream.h"

namespace graphtree {

class LeftBehind {
 public:
  struct Estate {
    Device* device = nullptr;
    std::vector<std::shared_ptr<void>> graphs;  // and executables; none of them is running
    AddressRange reserved = {};                 // empty: there is no memory
    std::vector<PieceRow::Mapping> mappings;
    std::vector<std::unique_ptr<Stream>> streams;  // carry the last work on the memory
    std::vector<std::unique_ptr<HostBuffer>> buffers;  // that work may use these, too
  };

  static void Add(std::unique_ptr<Estate> estate);
  // Gives back this device's estates, unless a capture is open. An estate that fails stays for the
  // next time.
  static absl::Status Release(Device& device);
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_MEMORY_LEFT_BEHIND_H_
