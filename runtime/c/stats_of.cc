// Copies figures field by field.
#include "runtime/c/stats_of.h"

#include <algorithm>

namespace graphtree::c {
namespace {

static_assert(kReasonCount <= GT_MOST_REASONS);

gt_durations DurationsOf(const DurationCounts& counts) { return {counts.count(), counts.total_ns}; }

}  // namespace

gt_tree_stats StatsOf(const TreeStats& stats) {
  gt_tree_stats made = {.size = sizeof(gt_tree_stats),
                        .calls = stats.calls,
                        .replays = stats.replays,
                        .recordings = stats.recordings,
                        .sections = stats.sections,
                        .eager_parts = stats.eager_parts,
                        .warm_ups = stats.warm_ups,
                        .eager = stats.eager,
                        .thrown = stats.thrown,
                        .restores = stats.restores,
                        .copied_inputs = stats.copied_inputs,
                        .patched_inputs = stats.patched_inputs,
                        .pads_in_place = stats.pads_in_place,
                        .pads_copied = stats.pads_copied,
                        .pad_room_bytes = stats.pad_room_bytes,
                        .nodes = stats.nodes,
                        .executables = stats.executables,
                        .executable_bytes = stats.executable_bytes,
                        .shapes = stats.shapes,
                        .instantiated_again = stats.instantiated_again,
                        .spares = stats.spares,
                        .live_blocks = stats.live_blocks,
                        .pool_reserved_bytes = stats.pool_reserved_bytes,
                        .pool_live_bytes = stats.pool_live_bytes,
                        .kept_bytes = stats.kept_bytes,
                        .foreign_held_bytes = stats.foreign_held_bytes,
                        .lacked_bytes = stats.lacked_bytes,
                        .captures = DurationsOf(stats.captures),
                        .instantiations = DurationsOf(stats.instantiations),
                        .updates = DurationsOf(stats.updates),
                        .reasons = {}};
  std::copy(stats.reasons.begin(), stats.reasons.end(), made.reasons);
  return made;
}

gt_function_stats StatsOf(const FunctionStats& stats) {
  gt_function_stats made = {.size = sizeof(gt_function_stats),
                            .shapes = stats.shapes,
                            .replays = stats.counts.replays,
                            .recordings = stats.counts.recordings,
                            .warm_ups = stats.counts.warm_ups,
                            .eager = stats.counts.eager,
                            .reasons = {}};
  std::copy(stats.counts.reasons.begin(), stats.counts.reasons.end(), made.reasons);
  return made;
}

gt_pool_stats StatsOf(const PoolStats& stats) {
  return {.size = sizeof(gt_pool_stats),
          .live_blocks = stats.live_blocks,
          .live_bytes = stats.live_bytes,
          .requested_bytes = stats.requested_bytes,
          .peak_live_bytes = stats.peak_live_bytes,
          .mapped_bytes = stats.mapped_bytes,
          .peak_mapped_bytes = stats.peak_mapped_bytes,
          .pinned_bytes = stats.pinned_bytes,
          .lasting_bytes = stats.lasting_bytes,
          .parked_bytes = stats.parked_bytes,
          .limit_bytes = stats.limit_bytes,
          .address_bytes = stats.address_bytes,
          .checkpoints = stats.checkpoints,
          .restores = stats.restores,
          .out_of_memory = stats.out_of_memory,
          .initial_shortfall = stats.initial_shortfall,
          .bookkeeping_bytes = stats.bookkeeping_bytes};
}

size_t CopyPointers(const CapturedPointers& from, gt_pointer* into, size_t capacity) {
  const size_t given = std::min(capacity, from.found.size());
  for (size_t i = 0; i < given; ++i) {
    const CapturedPointer& pointer = from.found[i];
    into[i] = {pointer.recording, pointer.address, pointer.op,
               pointer.argument,  pointer.byte,    0};
  }
  return from.found.size();
}

}  // namespace graphtree::c
