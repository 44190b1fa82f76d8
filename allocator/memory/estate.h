// The estate of a pool or tree that is destroyed while a capture is open: its memory, streams,
// graphs and executables wait with their device (device/leftovers.h), as the owner's own queue of
// such work goes with the owner.
//
// Threads: one at a time.
#ifndef GRAPHTREE_ALLOCATOR_MEMORY_ESTATE_H_
#define GRAPHTREE_ALLOCATOR_MEMORY_ESTATE_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "allocator/memory/piece_row.h"
#include "device/address.h"
#include "device/device.h"
#include "device/leftovers.h"
#include "device/memory.h"
#include "device/stream.h"
#include "device/stream_life.h"

namespace graphtree {

struct Estate : Leftover {
  // The device outlives the estate.
  explicit Estate(Device& owner) : device(owner) {}
  absl::Status GiveBack() override;

  Device& device;
  std::vector<std::shared_ptr<void>> graphs;  // and executables; none of them is running
  AddressRange reserved = {};                 // empty: there is no memory
  std::vector<PieceRow::Mapping> mappings;
  std::vector<std::unique_ptr<Stream>> streams;      // carry the last work on the memory
  std::vector<std::unique_ptr<HostBuffer>> buffers;  // that work may use these, too
  std::shared_ptr<StreamLife> last;                  // has the graphs' last work; may be null
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_MEMORY_ESTATE_H_
