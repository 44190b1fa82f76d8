// The estate of a pool that is destroyed while a capture is open: its memory and streams wait with
// their device (device/leftovers.h), as the pool's own queue of such work goes with the pool.
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
  absl::Status AwaitWork();

  Device& device;
  std::vector<std::shared_ptr<void>> graphs;  // and other objects; no work uses them
  AddressRange reserved = {};                 // empty: there is no memory
  std::vector<PieceRow::Mapping> mappings;
  std::vector<std::unique_ptr<Stream>> streams;      // carry the last work on the memory
  StreamLives users;                                 // have work on it that is not carried
  std::vector<std::unique_ptr<HostBuffer>> buffers;  // that work may use these, too
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_MEMORY_ESTATE_H_
