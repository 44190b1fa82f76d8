// A DevicePlace names the memory that a tree's tensors lie in, by an id that is compared in one
// instruction. All devices that open one GPU share its place; each host device has a place of its
// own.
//
// Threads: safe from several. Cost: DevicePlaceOf takes a lock; comparing two ids takes none.
#ifndef GRAPHTREE_GRAPHS_MEMORY_DEVICE_PLACE_H_
#define GRAPHTREE_GRAPHS_MEMORY_DEVICE_PLACE_H_

#include <string>

#include "device/device.h"

namespace graphtree {

struct DevicePlace {
  const void* id = nullptr;  // null: on no device
  std::string name = {};     // for error messages
};

DevicePlace DevicePlaceOf(const Device& device);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_DEVICE_PLACE_H_
