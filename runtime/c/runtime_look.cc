// What a runtime of graphtree.h tells: texts, figures, reasons.
#include <algorithm>
#include <string>

#include "runtime/c/entry.h"
#include "runtime/c/runtime_objects.h"
#include "runtime/c/texts.h"
#include "runtime/configuration.h"
#include "runtime/explain.h"
#include "runtime/ledger_text.h"
#include "runtime/metrics.h"
#include "runtime/runtime.h"
#include "runtime/watch_json.h"
#include "runtime/why.h"

namespace graphtree::c {
namespace {

static_assert(kWhyCount <= GT_MOST_WHYS);
static_assert(GT_COVER == static_cast<int>(Why::kCover));

std::string Described(const Runtime& runtime, gt_runtime_text what,
                      const ExplainOptions& options) {
  switch (what) {
    case GT_EXPLAIN: return ToString(runtime.Explain(options), options.steps);
    case GT_EXPLAIN_JSON: return ExplanationAsJson(runtime.Explain(options));
    case GT_EXPLAIN_GRAPHVIZ: return ExplanationAsGraphviz(runtime.Explain(options));
    case GT_METRICS_PROMETHEUS: return MetricsAsPrometheus(runtime.metrics());
    case GT_METRICS_JSON: return MetricsAsJson(runtime.metrics());
    case GT_LEDGER: return LedgerText(runtime.ledger());
    case GT_LEDGER_JSON: return LedgerAsJson(runtime.ledger());
    case GT_LEDGER_PROMETHEUS: return LedgerAsPrometheus(runtime.ledger());
    case GT_PLAN_JSON: return PlanAsJson(runtime.last_plan());
    case GT_SETTINGS: return ToString(runtime.Settings());
    default: return runtime.DebugJson(options);
  }
}

gt_runtime_stats StatsOf(const Runtime& runtime) {
  const RuntimeStats stats = runtime.stats();
  gt_runtime_stats made = {.size = sizeof(gt_runtime_stats),
                           .steps = stats.steps,
                           .staging_waits = stats.staging_waits,
                           .staging_told = stats.staging_told,
                           .recordings = stats.recordings,
                           .failed_recordings = stats.failed_recordings,
                           .workspace_moves = stats.workspace_moves,
                           .stale_recordings = stats.stale_recordings,
                           .slot_bytes = stats.slot_bytes,
                           .staging_bytes = stats.staging_bytes,
                           .touches = runtime.touches(),
                           .whys = {}};
  std::copy(stats.why.begin(), stats.why.end(), made.whys);
  return made;
}

bool IsWhy(gt_why why) { return why >= 0 && why < gt_why_count(); }

}  // namespace
}  // namespace graphtree::c

using graphtree::c::Entry;
using graphtree::c::Ref;
using graphtree::c::RuntimeObject;
using graphtree::c::Within;

int32_t gt_why_count() noexcept { return static_cast<int32_t>(graphtree::kWhyCount); }

const char* gt_why_name(gt_why why) noexcept {
  return graphtree::c::IsWhy(why) ? graphtree::WhyName(static_cast<graphtree::Why>(why)) : "?";
}

const char* gt_why_sentence(gt_why why) noexcept {
  return graphtree::c::IsWhy(why) ? graphtree::WhySentence(static_cast<graphtree::Why>(why)) : "?";
}

gt_error gt_runtime_describe(gt_runtime runtime, gt_runtime_text what,
                             const gt_describe_options* options, gt_text* out) noexcept {
  return Within("gt_runtime_describe", [&](Entry& entry) -> gt_error {
    const Ref<RuntimeObject> of = entry.Get<RuntimeObject>(runtime, "runtime");
    gt_describe_options read;
    entry.Read(options, "gt_describe_options", &read);
    entry.Fail(graphtree::c::CheckEnum("text", what, GT_EVERYTHING_JSON));
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    graphtree::ExplainOptions made;
    made.program = std::string(graphtree::c::WordOf(read.program));
    if (read.steps != 0) made.steps = read.steps;
    made.trees = read.no_trees == 0;
    return graphtree::c::GiveText(entry, graphtree::c::Described(of->runtime(), what, made), out);
  });
}

gt_error gt_runtime_look(gt_runtime runtime, gt_runtime_stats* out) noexcept {
  return Within("gt_runtime_look", [&](Entry& entry) -> gt_error {
    const Ref<RuntimeObject> of = entry.Get<RuntimeObject>(runtime, "runtime");
    if (!entry.ok()) return entry.Failed();
    return entry.Return(graphtree::c::WriteFigures(graphtree::c::StatsOf(of->runtime()),
                                                   "gt_runtime_stats", out));
  });
}
