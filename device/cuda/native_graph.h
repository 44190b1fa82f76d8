// A graph of the driver's, and which of its nodes is which op.
//
//   what is asked                    what the driver is asked                        kept
//   how many ops                     one call, when the capture ends                 a number
//   the op of a token, its node      four calls for all nodes and edges, once        8 bytes an op
//   what every op is (the listing)   some calls for every op, about 1 us an op       400 bytes
//   is it plain (plain_graph.h)      some calls for every op, about 0.5 us an op     a bit
//
// Only the first caller who asks a question pays for the driver's calls; Forget gives the memory of
// the answers back.
//
// Tokens: while a capture is open an op's token is its node's address with the low bits of the
// capture's id above it, so that a token of an earlier capture is not taken for one of this, even
// where the driver uses an address again.
//
// Shared by the graph that was captured, by executables made from it, whose ops CUDA names by its
// nodes, and by executables that were updated to it, which must know which function an op runs now.
// REQUIRES: the device's context is current in every call, and in the destructor. Threads: safe
// from several, but for Forget.
#ifndef GRAPHTREE_DEVICE_CUDA_NATIVE_GRAPH_H_
#define GRAPHTREE_DEVICE_CUDA_NATIVE_GRAPH_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/cuda/context.h"
#include "device/cuda/handles.h"
#include "device/cuda/open_captures.h"
#include "device/graph.h"

namespace graphtree {

OpToken TokenOf(cudaGraphNode_t node, uint64_t capture_id);

class NativeGraph {
 public:
  static absl::StatusOr<std::shared_ptr<NativeGraph>> Make(Context& context, GraphHandle handle,
                                                           uint64_t capture_id,
                                                           KeptByGraph kept);
  NativeGraph(const NativeGraph&) = delete;
  NativeGraph& operator=(const NativeGraph&) = delete;

  cudaGraph_t get() const { return handle_.get(); }
  size_t op_count() const { return op_count_; }
  // What executables of the graph must keep, too.
  const KeptByGraph& kept() const { return kept_; }

  // REQUIRES: op < op_count().
  absl::StatusOr<cudaGraphNode_t> NodeOf(Context& context, OpId op);
  absl::StatusOr<OpId> Find(Context& context, OpToken token);
  absl::StatusOr<const std::vector<Op>*> Ops(Context& context);
  absl::StatusOr<bool> IsPlain(Context& context);
  void Forget();

 private:
  NativeGraph(GraphHandle handle, uint64_t capture_id, size_t op_count, KeptByGraph kept)
      : kept_(std::move(kept)),
        handle_(std::move(handle)),
        capture_id_(capture_id),
        op_count_(op_count) {}
  // With the lock.
  absl::Status LearnNodes(Context& context);

  const KeptByGraph kept_;  // goes after the handle
  const GraphHandle handle_;
  const uint64_t capture_id_;
  const size_t op_count_;
  std::mutex mutex_;
  std::vector<cudaGraphNode_t> nodes_;            // by op; empty until they are asked for
  OpId found_last_ = 0;
  std::unique_ptr<const std::vector<Op>> ops_;    // likewise
  std::optional<bool> is_plain_;                  // likewise
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_NATIVE_GRAPH_H_
