// An allocator in front of torch's own. It gives a tree's memory to a thread that is in a region,
// and forwards everything else, so that torch's statistics, snapshots and caches stay its own.
//
//   torch --allocate--> Shim --in a region?--> Region::Allocate     the storage holds a Hold
//                         `---otherwise------> torch's allocator    as before
//
// Threads: any.
#ifndef GRAPHTREE_RUNTIME_TORCH_SHIM_H_
#define GRAPHTREE_RUNTIME_TORCH_SHIM_H_

#include <string>

namespace graphtree::torch_adaptor {

// From here on torch's allocations come through the shim. Raises, with the name of the allocator
// that is there, where that is not torch's own caching one. A second time does nothing.
void InstallShim();
// Torch's allocator is back. Memory of trees stays valid, as it knows how to go.
void UninstallShim();
bool IsShimInstalled();
// Of whatever allocator is in force.
std::string AllocatorName();

}  // namespace graphtree::torch_adaptor

#endif  // GRAPHTREE_RUNTIME_TORCH_SHIM_H_
