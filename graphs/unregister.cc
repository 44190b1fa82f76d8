// Functions that leave: those that are unregistered, and those that are not recorded any more
// because their sizes vary. Their recordings go, with what was recorded behind them, as soon as the
// path in force does not need them; what was handed out stays good until its step ends.
//
//   path in force   root - A - B       A leaves: A and B stay until the path ends
//   other nodes          |   `- A'     A' goes at once, and so do D and E
//                        `- D(A) - E
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphs/tree_core.h"

namespace graphtree {

absl::Status TreeCore::NotRegistered(FunctionId id) const {
  if (!functions_.WasRegistered(id)) {
    return absl::InvalidArgumentError(
        absl::StrCat("function ", id, " is not registered; there are ", functions_.ids()));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      history_->NameOf(id), " (function ", id, ") was unregistered: register it again, and use the "
      "id that it gets then"));
}

// What the body holds goes when nobody is kept out any more: its end may call the tree.
absl::Status TreeCore::Unregister(FunctionId id) {
  std::unique_ptr<TreeCore> closed;  // by what the function let go
  Body body;
  const Looking looking(gate_);
  if (!looking.is_outermost()) {
    const char* where = gate_.is_looked_at() ? "by what is passed to Tree::Inspect"
                        : IsInOwnBody()      ? "inside of a body of its tree"
                                             : "by what a call of its tree told or let go";
    return absl::FailedPreconditionError(
        absl::StrCat(history_->NameOf(id), " was not unregistered: that was asked for ", where,
                     "; unregister it between calls"));
  }
  Function* function = functions_.Find(id);
  if (function == nullptr) return NotRegistered(id);
  const StepMemory::InCall in_call(*memory_);
  body = std::move(function->body);
  functions_.Retire(function);
  any_checked_ = options_.check;
  for (const Function* other : functions_.Registered()) any_checked_ |= other->options.check;
  LetLeave();
  if (!functions_.leaving().empty() && path_.Held().empty()) EndPathIfDead();
  // Twice: where no work is under way all of it goes now.
  keeper_.graveyard().Tidy(order_.last());
  keeper_.graveyard().Tidy(order_.last());
  closed = std::move(closed_inside_);
  return absl::OkStatus();
}

void TreeCore::LetLeave() {
  const std::vector<Function*> leaving = functions_.leaving();
  for (Function* function : leaving) {
    if (!keeper_.EvictFunction(function)) continue;
    if (function->is_retired) tally_.Forget(function->id);
    functions_.Left(function);
  }
}

// A size that may be recorded? Lists come first: what is not on one says nothing of the others.
bool TreeCore::MayRecordSize(const Call& call, Reason* reason) {
  Function& function = call.function;
  if (!options_.enabled || function.options.exclude) return true;
  if (!IsRecordedSize(function, call.inputs)) {
    *reason = Reason::kSizeNotListed;
    return false;
  }
  const bool skips = function.options.skip_varying_sizes || options_.skip_varying_sizes;
  if (!skips) return true;
  const bool varied_before = function.sizes.any();
  if (!function.sizes.SeenIn(call.inputs)) return true;
  if (!varied_before) {
    functions_.Leave(&function);
    LetLeave();
  }
  *reason = Reason::kSizesVary;
  return false;
}

CallEdge TreeCore::EdgeTo(const Function& function) const {
  const Node* last = path_.current();
  return {last == &root_ ? kPathBegin : last->variant->function->id, function.id};
}

void TreeCore::Count(const Function& function, Reason reason, uint64_t times) {
  stats_.reasons[static_cast<size_t>(reason)] += times;
  tally_.Count(EdgeTo(function), reason, times);
}

std::vector<EdgeStats> TreeCore::Edges() {
  const Looking looking(gate_);
  CallTally tally = tally_;
  std::vector<const Node*> open = {&root_};
  while (!open.empty()) {
    const Node& node = *open.back();
    open.pop_back();
    if (&node != &root_) tally.On(EdgeOf(node)).replays += node.replays;
    for (const std::unique_ptr<Node>& child : node.children) open.push_back(child.get());
  }
  std::vector<EdgeStats> edges;
  for (const auto& [edge, counts] : tally.all()) {
    edges.push_back({edge, edge.from == kPathBegin ? "" : *history_->FindName(edge.from),
                     *history_->FindName(edge.to), counts});
  }
  std::sort(edges.begin(), edges.end(),
            [](const EdgeStats& a, const EdgeStats& b) { return a.edge < b.edge; });
  return edges;
}

std::vector<FunctionStats> TreeCore::PerFunction() {
  const Looking looking(gate_);
  const std::vector<EdgeStats> edges = Edges();
  std::vector<FunctionStats> rows;
  for (const Function* function : functions_.Registered()) {
    FunctionStats& row = rows.emplace_back();
    row.id = function->id;
    row.name = function->name;
    row.shapes = function->variant_count;
    for (const EdgeStats& edge : edges) {
      if (edge.edge.to == row.id) row.counts.Add(edge.counts);
    }
  }
  return rows;
}

}  // namespace graphtree
