// Nodes, edges and their order.
#include "device/cuda/graph_listing.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/base/status_macros.h"
#include "device/cuda/cuda_status.h"
#include "device/cuda/node_params.h"
#include "device/cuda/op_order.h"

namespace graphtree {
namespace {

struct NativeEdges {
  std::vector<cudaGraphNode_t> from;
  std::vector<cudaGraphNode_t> to;
  std::vector<cudaGraphEdgeData> data;
};

std::string Listing() { return "listing the ops of a graph"; }

absl::StatusOr<std::vector<cudaGraphNode_t>> Nodes(Context& context, cudaGraph_t graph) {
  GRAPHTREE_ASSIGN_OR_RETURN(size_t count, CountNodes(context, graph));
  std::vector<cudaGraphNode_t> nodes(count);
  if (count > 0) {
    GRAPHTREE_RETURN_IF_ERROR(
        ToStatus(context.health(), cudaGraphGetNodes(graph, nodes.data(), &count), Listing));
    nodes.resize(count);
  }
  return nodes;
}

absl::StatusOr<NativeEdges> Edges(Context& context, cudaGraph_t graph) {
  size_t count = 0;
  GRAPHTREE_RETURN_IF_ERROR(ToStatus(
      context.health(), cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count), Listing));
  NativeEdges edges;
  if (count == 0) return edges;
  edges.from.resize(count);
  edges.to.resize(count);
  edges.data.resize(count);
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context.health(), cudaGraphGetEdges(graph, edges.from.data(), edges.to.data(),
                                                   edges.data.data(), &count),
               Listing));
  return edges;
}

Edge EdgeOf(OpId from, const cudaGraphEdgeData& data) {
  const bool early = data.type == cudaGraphDependencyTypeProgrammatic;
  return {from, early ? EdgeKind::kProgrammatic : EdgeKind::kFull, data.from_port, data.to_port};
}

using Positions = absl::flat_hash_map<cudaGraphNode_t, uint32_t>;

Positions PositionsOf(const std::vector<cudaGraphNode_t>& nodes) {
  Positions positions;
  positions.reserve(nodes.size());
  for (uint32_t i = 0; i < nodes.size(); ++i) positions.emplace(nodes[i], i);
  return positions;
}

// The nodes in the order of their capture.
std::vector<cudaGraphNode_t> Ordered(std::vector<cudaGraphNode_t> nodes,
                                     const NativeEdges& edges) {
  const Positions positions = PositionsOf(nodes);
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  pairs.reserve(edges.from.size());
  bool in_order = true;
  for (size_t i = 0; i < edges.from.size(); ++i) {
    pairs.emplace_back(positions.at(edges.from[i]), positions.at(edges.to[i]));
    in_order = in_order && pairs.back().first < pairs.back().second;
  }
  if (in_order) return nodes;
  std::vector<cudaGraphNode_t> ordered;
  ordered.reserve(nodes.size());
  for (uint32_t position : CaptureOrder(static_cast<uint32_t>(nodes.size()), pairs)) {
    ordered.push_back(nodes[position]);
  }
  return ordered;
}

// An op that starts early shows it in its shape, as the launch that made it did.
void AddEdges(const NativeEdges& edges, const Positions& ids, std::vector<Op>* ops) {
  for (size_t i = 0; i < edges.from.size(); ++i) {
    Op& op = (*ops)[ids.at(edges.to[i])];
    op.dependencies.push_back(EdgeOf(ids.at(edges.from[i]), edges.data[i]));
    if (op.dependencies.back().kind == EdgeKind::kProgrammatic) op.shape.programmatic = true;
  }
  for (Op& op : *ops) {
    std::sort(op.dependencies.begin(), op.dependencies.end(),
              [](const Edge& a, const Edge& b) { return a.from < b.from; });
  }
}

}  // namespace

absl::StatusOr<size_t> CountNodes(Context& context, cudaGraph_t graph) {
  size_t count = 0;
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context.health(), cudaGraphGetNodes(graph, nullptr, &count), Listing));
  return count;
}

absl::StatusOr<std::vector<cudaGraphNode_t>> ListNodes(Context& context, cudaGraph_t graph) {
  GRAPHTREE_ASSIGN_OR_RETURN(std::vector<cudaGraphNode_t> nodes, Nodes(context, graph));
  GRAPHTREE_ASSIGN_OR_RETURN(const NativeEdges edges, Edges(context, graph));
  return Ordered(std::move(nodes), edges);
}

absl::StatusOr<std::vector<Op>> ListGraph(Context& context, cudaGraph_t graph) {
  GRAPHTREE_ASSIGN_OR_RETURN(std::vector<cudaGraphNode_t> nodes, Nodes(context, graph));
  GRAPHTREE_ASSIGN_OR_RETURN(const NativeEdges edges, Edges(context, graph));
  const std::vector<cudaGraphNode_t> ordered = Ordered(std::move(nodes), edges);
  std::vector<Op> ops(ordered.size());
  ParameterLayouts layouts;
  for (OpId id = 0; id < ordered.size(); ++id) {
    ops[id].id = id;
    GRAPHTREE_RETURN_IF_ERROR(ReadNode(context, ordered[id], layouts, &ops[id]));
  }
  AddEdges(edges, PositionsOf(ordered), &ops);
  return ops;
}

}  // namespace graphtree
