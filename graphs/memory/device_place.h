// Which memory a tensor of a tree's lies in, to be compared in one instruction: a GPU's is the same
// whoever opened the GPU, a host device's is its own.
//
// Threads: safe from several. Cost: DevicePlaceOf takes a lock; comparing two ids takes none.
#ifndef GRAPHTREE_GRAPHS_MEMORY_DEVICE_PLACE_H_
#define GRAPHTREE_GRAPHS_MEMORY_DEVICE_PLACE_H_

#include <string>

#include "device/device.h"

namespace graphtree {

struct DevicePlace {
  const void* id = nullptr;  // null: nowhere in particular
  std::string name = {};     // for sentences
};

DevicePlace DevicePlaceOf(const Device& device);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_DEVICE_PLACE_H_
