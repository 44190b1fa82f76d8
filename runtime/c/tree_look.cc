// What a tree of graphtree.h tells: figures, drawings, reasons, pointers.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphs/reason.h"
#include "graphs/reports/call_counts.h"
#include "graphs/reports/graph_export.h"
#include "graphs/reports/outline.h"
#include "graphs/reports/tree_snapshot.h"
#include "graphs/tree.h"
#include "runtime/c/entry.h"
#include "runtime/c/stats_of.h"
#include "runtime/c/texts.h"
#include "runtime/c/tree_objects.h"

namespace graphtree::c {
namespace {

std::string FunctionsText(Tree& tree) {
  std::string text;
  for (const FunctionStats& row : tree.function_stats()) {
    absl::StrAppend(&text, row.name, ": ", row.shapes, " shapes, ", ToString(row.counts), "\n");
  }
  return text;
}

std::string Described(Tree& tree, gt_tree_text what) {
  switch (what) {
    case GT_OUTLINE: return DrawOutline(tree.outline());
    case GT_OUTLINE_JSON: return OutlineAsJson(tree.outline());
    case GT_OUTLINE_GRAPHVIZ: return OutlineAsGraphviz(tree.outline());
    case GT_EDGES: return DrawEdges(tree.edge_stats());
    case GT_FUNCTIONS: return FunctionsText(tree);
    default: return tree.state();
  }
}

}  // namespace
}  // namespace graphtree::c

using graphtree::c::Entry;
using graphtree::c::FunctionObject;
using graphtree::c::GiveText;
using graphtree::c::Ref;
using graphtree::c::TreeObject;
using graphtree::c::Within;

int32_t gt_reason_count() noexcept { return static_cast<int32_t>(graphtree::kReasonCount); }

const char* gt_reason_name(gt_reason reason) noexcept {
  if (reason < 0 || reason >= gt_reason_count()) return "?";
  return graphtree::ReasonName(static_cast<graphtree::Reason>(reason));
}

const char* gt_reason_sentence(gt_reason reason) noexcept {
  if (reason < 0 || reason >= gt_reason_count()) return "?";
  return graphtree::ReasonSentence(static_cast<graphtree::Reason>(reason));
}

gt_error gt_tree_last_call(gt_tree tree, gt_route* route, gt_reason* reason) noexcept {
  return Within("gt_tree_last_call", [&](Entry& entry) -> gt_error {
    const Ref<TreeObject> of = entry.Get<TreeObject>(tree, "tree");
    entry.Sets(route, "route");
    if (!entry.Sets(reason, "reason") || !entry.ok()) return entry.Failed();
    const graphtree::LastCall last = of->tree().last_call();
    *route = static_cast<gt_route>(last.route);
    *reason = last.reason.has_value() ? static_cast<gt_reason>(*last.reason) : GT_NO_REASON;
    return nullptr;
  });
}

gt_error gt_tree_look(gt_tree tree, gt_tree_stats* out) noexcept {
  return Within("gt_tree_look", [&](Entry& entry) -> gt_error {
    const Ref<TreeObject> of = entry.Get<TreeObject>(tree, "tree");
    if (!entry.ok()) return entry.Failed();
    return entry.Return(graphtree::c::WriteFigures(graphtree::c::StatsOf(of->tree().stats()),
                                                   "gt_tree_stats", out));
  });
}

gt_error gt_function_look(gt_function function, gt_function_stats* out) noexcept {
  return Within("gt_function_look", [&](Entry& entry) -> gt_error {
    const Ref<FunctionObject> of = entry.Get<FunctionObject>(function, "function");
    if (!entry.ok()) return entry.Failed();
    gt_function_stats found = GT_INIT(gt_function_stats);
    for (const graphtree::FunctionStats& row : of->tree().function_stats()) {
      if (row.id == of->id()) found = graphtree::c::StatsOf(row);
    }
    return entry.Return(graphtree::c::WriteFigures(found, "gt_function_stats", out));
  });
}

gt_error gt_tree_describe(gt_tree tree, gt_tree_text what, gt_text* out) noexcept {
  return Within("gt_tree_describe", [&](Entry& entry) -> gt_error {
    const Ref<TreeObject> of = entry.Get<TreeObject>(tree, "tree");
    entry.Fail(graphtree::c::CheckEnum("text", what, GT_STATE));
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    return GiveText(entry, graphtree::c::Described(of->tree(), what), out);
  });
}

gt_error gt_function_recordings(gt_function function, uint64_t* recordings, size_t capacity,
                                size_t* count) noexcept {
  return Within("gt_function_recordings", [&](Entry& entry) -> gt_error {
    const Ref<FunctionObject> of = entry.Get<FunctionObject>(function, "function");
    entry.HasArray(recordings, capacity, "recordings");
    if (!entry.Sets(count, "count") || !entry.ok()) return entry.Failed();
    const std::vector<uint64_t> found = of->tree().RecordingsOf(of->id());
    *count = found.size();
    std::copy_n(found.begin(), std::min(capacity, found.size()), recordings);
    return nullptr;
  });
}

gt_error gt_recording_describe(gt_tree tree, uint64_t recording, gt_ops_text form,
                               gt_text* out) noexcept {
  return Within("gt_recording_describe", [&](Entry& entry) -> gt_error {
    const Ref<TreeObject> of = entry.Get<TreeObject>(tree, "tree");
    entry.Fail(graphtree::c::CheckEnum("form", form, GT_OPS_GRAPHVIZ));
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    const absl::StatusOr<std::vector<graphtree::Op>> ops = of->tree().OpsOf(recording);
    if (!ops.ok()) return entry.Return(ops.status());
    const std::string name = absl::StrCat("#", recording);
    return GiveText(entry,
                    form == GT_OPS_JSON ? graphtree::OpsAsJson(name, *ops)
                                        : graphtree::OpsAsGraphviz(name, *ops),
                    out);
  });
}

gt_error gt_recording_pointers(gt_tree tree, uint64_t recording, gt_range range,
                               gt_pointer* pointers, size_t capacity, size_t* count,
                               uint64_t* hidden_ops) noexcept {
  return Within("gt_recording_pointers", [&](Entry& entry) -> gt_error {
    const Ref<TreeObject> of = entry.Get<TreeObject>(tree, "tree");
    entry.HasArray(pointers, capacity, "pointers");
    if (!entry.Sets(count, "count") || !entry.ok()) return entry.Failed();
    const absl::StatusOr<std::vector<graphtree::Op>> ops = of->tree().OpsOf(recording);
    if (!ops.ok()) return entry.Return(ops.status());
    const graphtree::CapturedPointers found =
        graphtree::PointersInto({range.address, range.bytes}, recording, *ops);
    *count = graphtree::c::CopyPointers(found, pointers, capacity);
    if (hidden_ops != nullptr) *hidden_ops = found.hidden_ops;
    return nullptr;
  });
}

gt_error gt_tree_write_snapshot(gt_tree tree, const char* path) noexcept {
  return Within("gt_tree_write_snapshot", [&](Entry& entry) -> gt_error {
    const Ref<TreeObject> of = entry.Get<TreeObject>(tree, "tree");
    if (!entry.Has(path, "path") || !entry.ok()) return entry.Failed();
    return entry.Return(graphtree::WriteTreeSnapshot(of->tree(), path));
  });
}

gt_error gt_tree_who(gt_tree tree, int32_t* this_thread, int32_t* others) noexcept {
  return Within("gt_tree_who", [&](Entry& entry) -> gt_error {
    const Ref<TreeObject> of = entry.Get<TreeObject>(tree, "tree");
    if (!entry.ok()) return entry.Failed();
    if (this_thread != nullptr) *this_thread = of->tree().IsInside() ? 1 : 0;
    if (others != nullptr) *others = of->tree().IsOthers() ? 1 : 0;
    return nullptr;
  });
}

gt_error gt_tree_made(gt_tree tree, const gt_value* tensor, int32_t* out) noexcept {
  return Within("gt_tree_made", [&](Entry& entry) -> gt_error {
    const Ref<TreeObject> of = entry.Get<TreeObject>(tree, "tree");
    graphtree::Tensor made;
    if (!entry.Sets(out, "out") || !entry.ok() ||
        !graphtree::c::CopyTensor(tensor, "tensor", &entry, &made)) {
      return entry.Failed();
    }
    *out = of->tree().Made(made) ? 1 : 0;
    return nullptr;
  });
}

gt_error gt_tree_may_read(gt_tree tree, const gt_value* tensor) noexcept {
  return Within("gt_tree_may_read", [&](Entry& entry) -> gt_error {
    const Ref<TreeObject> of = entry.Get<TreeObject>(tree, "tree");
    graphtree::Tensor read;
    if (!entry.ok() || !graphtree::c::CopyTensor(tensor, "tensor", &entry, &read)) {
      return entry.Failed();
    }
    return entry.Return(of->tree().MayRead(read));
  });
}
