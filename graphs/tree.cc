// Passes each public method on to the tree's core.
#include "graphs/tree.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/guarded_call.h"
#include "device/base/status_macros.h"
#include "graphs/history/stack_marks.h"
#include "graphs/recording/node_memory.h"
#include "graphs/recording/node_walk.h"
#include "graphs/recording/outline_of.h"
#include "graphs/run/tree_core.h"

namespace graphtree {
namespace {

absl::Status MustBeAtHome(const std::string& elsewhere, const std::string& home) {
  if (elsewhere.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("it lies on another device, ", elsewhere, "; this tree's is ", home));
}

// Appends the ops of a section. Those that wait for no op of the section wait for op `before`; -1:
// for none.
void AppendOps(const Section& section, int64_t before, std::vector<Op>* ops) {
  if (section.graph == nullptr) return;
  const OpId first = static_cast<OpId>(ops->size());
  for (Op op : section.graph->ops()) {
    op.id += first;
    for (Edge& edge : op.dependencies) edge.from += first;
    if (op.dependencies.empty() && before >= 0) {
      op.dependencies.push_back({static_cast<OpId>(before)});
    }
    ops->push_back(std::move(op));
  }
}

std::vector<Op> OpsOfNode(const Node& node) {
  std::vector<Op> ops;
  AppendOps(node.section, -1, &ops);
  int64_t last_part = -1;  // its op
  for (const Cut& cut : node.cuts) {
    std::vector<bool> awaited(ops.size(), false);
    for (const Op& op : ops) {
      for (const Edge& edge : op.dependencies) awaited[edge.from] = true;
    }
    Op part;
    part.id = static_cast<OpId>(ops.size());
    part.kind = OpKind::kHost;
    part.name = absl::StrCat("eager part: ", cut.part.why);
    for (const Op& op : ops) {
      if (!awaited[op.id]) part.dependencies.push_back({op.id});
    }
    last_part = part.id;
    ops.push_back(std::move(part));
    AppendOps(cut.next_section, last_part, &ops);
  }
  return ops;
}

}  // namespace

Tree::Tree(std::unique_ptr<TreeCore> core) : core_(std::move(core)) {}
Tree::~Tree() {
  const DoorMark door;
  TreeCore::Close(std::move(core_));
}

absl::StatusOr<std::unique_ptr<Tree>> Tree::Create(Device& device, const TreeOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<TreeCore> core, TreeCore::Create(device, options));
  return std::unique_ptr<Tree>(new Tree(std::move(core)));
}

FunctionId Tree::Register(std::string name, FunctionOptions options, Body body) {
  return core_->between_calls().Register(std::move(name), std::move(options), std::move(body));
}

absl::Status Tree::Unregister(FunctionId function) {
  const DoorMark door;
  return core_->between_calls().Unregister(function);
}

void Tree::GiveUp(const Share& beyond) {
  const DoorMark door;
  core_->between_calls().GiveUp(beyond);
}

uint64_t Tree::GiveMemory(uint64_t bytes, const std::string& for_whom) {
  const DoorMark door;
  return core_->between_calls().GiveMemory(bytes, for_whom);
}

bool Tree::IsInside() const { return core_->gate().is_mine(); }
bool Tree::IsOthers() const { return core_->gate().IsOthers(); }

void Tree::EndPause(FunctionId function) { core_->between_calls().EndPause(function); }

absl::Status Tree::Run(FunctionId function, absl::Span<Value> inputs, Stream& stream,
                       Values* outputs) {
  return core_->Run(function, inputs, stream, outputs, __builtin_frame_address(0));
}

absl::StatusOr<Values> Tree::Run(FunctionId function, Values inputs, Stream& stream) {
  Values outputs;
  GRAPHTREE_RETURN_IF_ERROR(core_->Run(function, absl::MakeSpan(inputs), stream, &outputs,
                                       __builtin_frame_address(0)));
  return outputs;
}

absl::Status Tree::RunCompared(FunctionId function, absl::Span<Value> inputs, Stream& stream,
                               Values* outputs, const Tolerance& tolerance, ParityResult* result,
                               bool must_replay) {
  *result = {Parity::kNotCompared, "no recording served the call", ""};
  const CompareWith compared{tolerance, result};
  return core_->Run(function, inputs, stream, outputs, __builtin_frame_address(0), &compared,
                    must_replay);
}

absl::Status Tree::RunReplay(FunctionId function, absl::Span<Value> inputs, Stream& stream,
                             Values* outputs) {
  return core_->Run(function, inputs, stream, outputs, __builtin_frame_address(0),
                    /*compared=*/nullptr, /*must_replay=*/true);
}

absl::Status Tree::Record(FunctionId function, Values inputs, Stream& stream) {
  return core_->Record(function, std::move(inputs), stream, __builtin_frame_address(0));
}

Tree::Keeping::Keeping(Tree& tree) : tree_(tree) { tree_.core_->gate().Keep(); }
Tree::Keeping::~Keeping() { tree_.core_->gate().LetGo(); }

bool Tree::WouldReplayFirst(FunctionId function, absl::Span<Value> inputs, Stream& stream) {
  return core_->foresight().WouldReplayFirst(function, inputs, stream);
}

bool Tree::WouldReplay(FunctionId function, absl::Span<Value> inputs, Stream& stream,
                       bool begins_step) {
  return core_->foresight().WouldReplay(function, inputs, stream, begins_step);
}

bool Tree::Made(const Tensor& tensor) const {
  return tensor.storage() != nullptr &&
         tensor.storage()->owner() == core_->ground().memory->owner();
}

absl::Status Tree::MayRead(const Tensor& tensor) {
  if (tensor.storage() != nullptr) {
    const absl::Status may = MayBeUsed(*tensor.storage(), tensor.raw_bytes().bytes);
    if (!may.ok()) return may;
  }
  auto& home = core_->ground().home;
  return MustBeAtHome(home.OtherHomeOf(tensor), home.place().name);
}

absl::Status Tree::MayRead(Address memory) {
  auto& home = core_->ground().home;
  return MustBeAtHome(home.OtherHomeOf(memory), home.place().name);
}

WorkspaceId Tree::RegisterWorkspace(std::string name, AddressRange memory) {
  const Looking looking(core_->gate());
  return core_->ground().workspaces.Register(std::move(name), memory);
}

absl::Status Tree::MoveWorkspace(WorkspaceId id, AddressRange memory) {
  const Looking looking(core_->gate());
  return core_->ground().workspaces.Move(id, memory);
}

void Tree::BeginStep() { core_->between_calls().BeginStep(__builtin_frame_address(0)); }

absl::Status Tree::TouchWorkspace(WorkspaceId id) {
  const Looking looking(core_->gate());
  return core_->ground().workspaces.Touch(id);
}

LastCall Tree::last_call() { return core_->figures().last_call(); }

TreeStats Tree::stats() { return core_->figures().Stats(); }

std::vector<FunctionStats> Tree::function_stats() { return core_->figures().PerFunction(); }

std::vector<EdgeStats> Tree::edge_stats() { return core_->figures().Edges(); }

std::vector<uint64_t> Tree::descendants() const {
  const Looking looking(core_->gate());
  std::vector<uint64_t> counts;
  for (const std::unique_ptr<Node>& root : core_->books().root().children) {
    uint64_t nodes = 0;
    VisitNodes(*root, [&nodes](const Node&) { ++nodes; });
    counts.push_back(nodes - 1);
  }
  return counts;
}

Outline Tree::outline() const {
  const Looking looking(core_->gate());
  return OutlineOf(core_->books().root());
}

ForeignAllocator& Tree::foreign_allocator() { return *core_->ground().foreign; }

Observers& Tree::observers() { return core_->observers(); }

ScopeStack& Tree::scopes() { return core_->ground().scopes; }

absl::StatusOr<std::vector<Op>> Tree::OpsOf(uint64_t recording) const {
  const Looking looking(core_->gate());
  const Node* const root = &core_->books().root();
  const Node* found = nullptr;
  VisitNodes(*root, [&](const Node& node) {
    if (&node != root && node.id == recording) found = &node;
  });
  if (found != nullptr) return OpsOfNode(*found);
  return absl::NotFoundError(absl::StrCat("the tree has no recording ", recording));
}

std::vector<uint64_t> Tree::RecordingsOf(FunctionId function) const {
  const Looking looking(core_->gate());
  std::vector<uint64_t> recordings;
  VisitNodes(core_->books().root(), [&](const Node& node) {
    if (node.variant != nullptr && !node.warm_up && node.variant->function->id == function) {
      recordings.push_back(node.id);
    }
  });
  std::sort(recordings.begin(), recordings.end());
  return recordings;
}

std::vector<SnapshotNode> Tree::memory_of_nodes() {
  const Looking looking(core_->gate());
  return NodeMemoryOf(core_->books().root(), core_->books().path());
}

Pool& Tree::pool() { return core_->ground().memory->pool(); }

void Tree::Inspect(const std::function<void()>& look) {
  std::exception_ptr thrown;
  {
    const DoorMark door;
    thrown = core_->Inspect(look);
  }
  ThrowOn(std::move(thrown));
}

bool Tree::ComesLast(const Stream& stream) const {
  const StreamLife* const last = core_->ground().order.last();
  return last == nullptr || last == stream.life().get();
}

const char* Tree::state() const {
  const Looking looking(core_->gate());
  return PathStateName(core_->books().path().state());
}

}  // namespace graphtree
