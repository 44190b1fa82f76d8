// From what was noted at recording to rows of a trace's tables.
#include "profiler/live/identity_names.h"

#include <utility>

namespace graphtree::live {
namespace {

trace::Extent ExtentOf(const Dim3& dim) { return {dim.x, dim.y, dim.z}; }

bool IsDeviceWork(OpKind kind) {
  return kind == OpKind::kKernel || kind == OpKind::kCopy || kind == OpKind::kFill;
}

}  // namespace

trace::OpKind TraceKindOf(OpKind kind) {
  switch (kind) {
    case OpKind::kKernel: return trace::OpKind::kKernel;
    case OpKind::kCopy: return trace::OpKind::kCopy;
    case OpKind::kFill: return trace::OpKind::kFill;
    case OpKind::kHost: return trace::OpKind::kHostCall;
    case OpKind::kEventRecord:
    case OpKind::kEventWait: return trace::OpKind::kEvent;
    case OpKind::kChildGraph: return trace::OpKind::kWholeGraph;
    case OpKind::kEmpty:
    case OpKind::kAllocate:
    case OpKind::kFree:
    case OpKind::kConditional:
    case OpKind::kOther: return trace::OpKind::kOther;
  }
  return trace::OpKind::kOther;
}

trace::IdentityId IdentityNames::Of(const OpIdentity& op, absl::string_view function,
                                    int64_t tree_node) {
  trace::Identity identity;
  identity.tree_node = tree_node;
  identity.bytes_read = op.bytes_read == kUnknownBytes ? trace::kUnknown : op.bytes_read;
  identity.bytes_written = op.bytes_written == kUnknownBytes ? trace::kUnknown : op.bytes_written;
  identity.name = tables_.Text(op.name);
  identity.function = tables_.Text(function);
  identity.scope = tables_.Text(op.scope);
  identity.backend = tables_.Text(op.backend);
  identity.file = tables_.Text(op.file);
  identity.hash = tables_.Text(op.hash);
  identity.arguments = tables_.Text(op.arguments);
  identity.input_dims = tables_.Text(op.input_dims);
  identity.input_types = tables_.Text(op.input_types);
  if (op.kind == OpKind::kKernel) {
    identity.shared_memory = op.shape.shared_bytes;
    identity.grid = ExtentOf(op.shape.grid);
    identity.block = ExtentOf(op.shape.block);
  }
  return tables_.Intern(identity);
}

trace::IdentityId IdentityNames::OfWhole(absl::string_view function, int64_t tree_node) {
  trace::Identity identity;
  identity.tree_node = tree_node;
  identity.name = tables_.Text(function);
  identity.function = identity.name;
  return tables_.Intern(identity);
}

std::shared_ptr<const NamedGraph> IdentityNames::Of(
    const std::shared_ptr<const GraphIdentity>& graph) {
  if (graph == nullptr) return nullptr;
  const auto found = known_.find(graph.get());
  if (found != known_.end()) return found->second.named;
  auto named = std::make_shared<NamedGraph>();
  named->is_complete = graph->is_complete;
  named->ops.resize(graph->op_count, 0);
  named->is_work.resize(graph->op_count, false);
  for (const OpIdentity& op : graph->ops) {
    if (op.op >= graph->op_count) continue;
    // What an unknown op is, the device may tell; that it runs cannot be expected of it.
    named->is_work[op.op] = IsDeviceWork(op.kind) || !op.is_known();
    if (!op.is_known()) continue;
    named->ops[op.op] = Of(op, graph->function, static_cast<int64_t>(graph->recording));
    named->work += IsDeviceWork(op.kind) ? 1 : 0;
  }
  if (known_.size() >= kMostGraphs) {
    known_.erase(order_.front());
    order_.pop_front();
  }
  known_.emplace(graph.get(), Known{graph, named});
  order_.push_back(graph.get());
  return named;
}

}  // namespace graphtree::live
