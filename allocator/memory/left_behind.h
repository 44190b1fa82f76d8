// What pools and trees leave behind that are destroyed while a capture is open: memory may not be
// unmapped then, streams not waited for, graphs and executables not destroyed, and whatever queue
// they had goes with them.
//
//   ~Pool, ~Tree, a capture is open --> the estate waits here --> the next pool of the device that
//                                                                 is made, closed or destroyed, or
//                                                                 ends a scope
//
// Who closes the device behind its last pool calls Release first. Threads: safe from several.
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
    std::vector<std::shared_ptr<void>> graphs;  // and executables; no work of theirs is under way
    AddressRange reserved = {};                 // empty: there is no memory
    std::vector<PieceRow::Mapping> mappings;
    std::vector<std::unique_ptr<Stream>> streams;  // carry the last work on the memory
    std::vector<std::unique_ptr<HostBuffer>> buffers;  // which that work may use, too
  };

  static void Add(std::unique_ptr<Estate> estate);
  // Gives back what pools of this device left, unless a capture is open. What fails stays for the
  // next time.
  static absl::Status Release(Device& device);
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_MEMORY_LEFT_BEHIND_H_
