// Collects the facts, decides the cause, runs the experiments.
#include "tools/snapshot/replay/oom.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"
#include "tools/snapshot/analysis/torch_rules.h"
#include "tools/snapshot/replay/caching_policy.h"
#include "tools/snapshot/replay/expandable_policy.h"
#include "tools/snapshot/replay/graphtree_policy.h"
#include "tools/snapshot/replay/replay.h"

namespace graphtree::snapshot {
namespace {

using PolicyMaker = std::function<std::unique_ptr<Policy>(uint64_t limit)>;

OomCause CauseOf(const OomCase& oom) {
  const uint64_t limit = oom.limit_above;
  const uint64_t block = oom.answer.block;
  if (block >= limit) return OomCause::kTooLarge;
  const uint64_t live = oom.held - oom.pending;
  if (live + block >= limit) return OomCause::kTooMuchHeld;
  if (oom.pending >= block && oom.answer.class_free + oom.pending >= block &&
      oom.answer.class_free < block) {
    return OomCause::kPending;
  }
  const bool elsewhere = oom.answer.other_pool_holes + oom.answer.other_stream_holes +
                             oom.answer.other_kind_holes != 0;
  if (elsewhere) return OomCause::kOtherPools;
  return OomCause::kFragmented;
}

Experiment Try(const Snapshot& snapshot, const Side& side, const DeviceHistory& history,
               const OomCase& oom, std::string setting, const PolicyMaker& make) {
  const auto fits = [&](uint64_t limit, ReplayResult* result) {
    const std::unique_ptr<Policy> policy = make(limit);
    *result = Replay(snapshot, side, history, *policy, {.until = oom.event});
    return result->failed == 0 && result->fits_failed_request.value_or(false);
  };
  Experiment experiment;
  experiment.setting = std::move(setting);
  ReplayResult result;
  experiment.verdict = fits(oom.limit_at_least, &result)     ? Experiment::kFits
                       : fits(oom.limit_above - 1, &result) ? Experiment::kMayFit
                                                            : Experiment::kDoesNotFit;
  fits(0, &result);
  experiment.name = result.policy;
  experiment.reserved = result.peak_reserved;
  return experiment;
}

void RunExperiments(const Snapshot& snapshot, const Side& side, const DeviceHistory& history,
                    OomCase& oom) {
  const auto add = [&](std::string setting, const PolicyMaker& make) {
    oom.experiments.push_back(
        Try(snapshot, side, history, oom, std::move(setting), make));
  };
  if (!oom.settings.expandable_segments) add("expandable_segments:True", MakeExpandablePolicy);
  if (oom.settings.max_split_size < 0) {
    for (uint64_t size : {uint64_t{64}, uint64_t{256}}) {
      add(absl::StrCat("max_split_size_mb:", size), [size](uint64_t limit) {
        return MakeCachingPolicy(limit, {.max_split_size = size * torch_rules::kMiB});
      });
    }
  }
  add("", MakeGraphtreePolicy);
}

}  // namespace

std::vector<uint32_t> OomEvents(const Snapshot& snapshot, const DeviceHistory& history) {
  std::vector<uint32_t> events;
  for (uint32_t event = 0; event < history.rows.size(); ++event) {
    if (history.Entry(snapshot, event).action == words::kOom) events.push_back(event);
  }
  return events;
}

OomCase ExplainOom(const Snapshot& snapshot, const Side& side, const DeviceHistory& history,
                   uint32_t event) {
  const TraceEntry& entry = history.Entry(snapshot, event);
  OomCase oom;
  oom.event = event;
  oom.asked = entry.size;
  oom.device_free = entry.addr;
  oom.settings = SettingsOf(snapshot);
  const std::vector<PlacedSegment> layout = LayoutAfter(snapshot, side, history, event);
  SegmentClass asked;
  asked.device = history.device;
  asked.pool = snapshot.Pool(entry.pool);
  asked.stream = IntegerText(snapshot.values, snapshot.details[entry.details].stream);
  oom.answer = AnswerRequest(layout, asked, entry.size);
  for (const PlacedSegment& segment : layout) {
    oom.reserved += segment.size;
    oom.held += segment.held();
    for (const Piece& piece : segment.pieces) {
      if (piece.state == Piece::kPending) oom.pending += piece.size;
      if (piece.state == Piece::kHeld) oom.requested += piece.requested;
    }
    const bool is_default = segment.pool == std::pair<uint64_t, uint64_t>{0, 0};
    (is_default ? oom.free_in_default_pool : oom.free_elsewhere) += segment.free();
  }
  oom.limited = oom.device_free >= oom.answer.new_segment;
  oom.limit_at_least = oom.reserved + (oom.limited ? 0 : oom.device_free);
  oom.limit_above = oom.limited ? oom.reserved + oom.answer.new_segment : oom.limit_at_least + 1;
  oom.cause = CauseOf(oom);
  const bool hopeless = oom.cause == OomCause::kTooLarge || oom.cause == OomCause::kTooMuchHeld;
  if (!hopeless) RunExperiments(snapshot, side, history, oom);
  return oom;
}

}  // namespace graphtree::snapshot
