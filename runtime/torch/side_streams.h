// Streams beside the caller's that use a tree's outputs (Tensor.record_stream outside of a body).
// The tree's next call waits for what they have by then, since it may write to the same bytes.
//
// Threads: any; a lock. Cost where nobody does that: a load in each call.
#ifndef GRAPHTREE_RUNTIME_TORCH_SIDE_STREAMS_H_
#define GRAPHTREE_RUNTIME_TORCH_SIDE_STREAMS_H_

#include <c10/cuda/CUDAStream.h>

namespace graphtree::torch_adaptor {

class HoldList;

void NoteSideStream(const HoldList* tree, c10::cuda::CUDAStream side);
// `stream` goes on after all that was noted for the tree.
void AwaitSideStreams(const HoldList* tree, c10::cuda::CUDAStream stream);

}  // namespace graphtree::torch_adaptor

#endif  // GRAPHTREE_RUNTIME_TORCH_SIDE_STREAMS_H_
