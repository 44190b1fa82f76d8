// Who of the lanes may take how much memory, who gives some back, and who has it.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "allocator/pool.h"
#include "device/device.h"
#include "device/memory.h"
#include "graphs/reason.h"
#include "graphs/tree.h"
#include "graphs/tree_options.h"
#include "graphs/tree_stats.h"
#include "runtime/core/lanes.h"
#include "runtime/core/open_step.h"
#include "runtime/core/program_state.h"
#include "runtime/core/shared_memory.h"

namespace graphtree {
namespace {

// Unmaps what nobody uses, down to so many bytes. Waits for a call that another thread has in the
// tree, and for the tree's work. What could not be unmapped stays.
void Trim(Tree& tree, uint64_t goal_bytes) {
  tree.Inspect([&] { tree.pool().memory().Trim(goal_bytes).IgnoreError(); });
}

// In whole pieces, as memory is mapped.
uint64_t InPieces(Device& device, uint64_t bytes) {
  const uint64_t piece = std::max<uint64_t>(device.memory().granularity(), 1);
  const uint64_t rest = bytes % piece;
  return rest == 0 || bytes > UINT64_MAX - piece ? bytes : bytes - rest + piece;
}

}  // namespace

void Lanes::NoteGivenUp(Lane& own) const {
  if (options_.pool_bytes == 0) return;
  own.given_up = own.tree->stats().reasons[static_cast<size_t>(Reason::kMemoryEvicted)];
}

void Lanes::MakeRoomFor(const OpenStep& step, bool takes_recordings) {
  if (options_.pool_bytes == 0) return;
  Lane& own = step.program->lane();
  const ShapeState& shape = *step.shape;
  const uint64_t guess = own.asked_bytes == 0 ? options_.pool_bytes : 2 * own.asked_bytes;
  // What eager parts of it ask for is not known.
  const uint64_t wanted = shape.has_found_none ? options_.pool_bytes
                          : shape.has_run      ? shape.asked_bytes
                                               : std::max(guess, shape.asked_bytes);
  MakeRoom(own, wanted);
  const uint64_t lacks =
      shape.lacks_bytes + (IsReplay(step.choice.why) ? shape.recording_lacks_bytes : 0);
  const uint64_t known = std::min(shape.asked_bytes + lacks, options_.pool_bytes);
  if (!takes_recordings || known == 0) return;
  MakeRoom(own, known,
           absl::StrCat("'", step.program->name(), "' in lane ", own.number, " lacked memory"));
}

void Lanes::NoteAsked(const OpenStep& step, bool has_found_none) {
  if (options_.pool_bytes == 0) return;
  Lane& own = step.program->lane();
  own.asked_bytes = std::max(own.asked_bytes, step.shape->asked_bytes);
  own.is_short |= has_found_none;
  if (!has_found_none || step.choice.why != Why::kFailed) return;
  step.shape->has_found_none = true;
  step.shape->lacks_bytes =
      std::min(step.shape->lacks_bytes + own.tree->stats().lacked_bytes, options_.pool_bytes);
}

void Lanes::NoteRecordingLacked(Lane& own, ShapeState* shape) {
  if (options_.pool_bytes == 0) return;
  const std::optional<Reason> reason = own.tree->last_call().reason;
  const bool is_other_budget = reason == Reason::kOverBudget || reason == Reason::kShapeLimit ||
                               reason == Reason::kGivenUp;
  if (is_other_budget) return;
  own.is_short = true;
  const uint64_t more = shape->recording_lacks_bytes + InPieces(own.device, 1);
  shape->recording_lacks_bytes = std::min(more, options_.pool_bytes);
}

// What a recording holds is free in the books: a later recording may be placed there, a run at once
// not, and it cannot be unmapped. How much that is shows a trim, which is made anew only where
// recordings came or went.
uint64_t Lanes::InUseBy(Lane& own) const {
  TreeStats stats = own.tree->stats();
  const std::pair<uint64_t, uint64_t> by = {stats.recordings, stats.nodes};
  // Nothing is unmapped while a capture is open, which would say nothing.
  if (by != own.pinned_by && own.device.open_captures() == 0) {
    if (stats.nodes > 0) {
      Trim(*own.tree, 0);
      stats = own.tree->stats();
    }
    const uint64_t held = stats.pool_reserved_bytes - std::min(stats.pool_reserved_bytes,
                                                               stats.pool_live_bytes);
    own.pinned_bytes = stats.nodes > 0 ? held : 0;
    own.pinned_by = by;
  }
  return std::min(stats.pool_reserved_bytes, stats.pool_live_bytes + own.pinned_bytes);
}

bool Lanes::MakeRoom(Lane& own, uint64_t bytes, const std::string& for_whom) {
  const uint64_t wanted = InPieces(own.device, bytes);
  const uint64_t taken = shared(own).taken(), has = own.mapped_bytes();
  const uint64_t others = taken - std::min(taken, has);
  // Nearly always there is room, and nobody has to know what the lane can use again.
  if (others == 0 || LackOf(options_.pool_bytes, taken, wanted) == 0) return false;
  uint64_t lacks = LackOf(options_.pool_bytes, others + InUseBy(own), wanted);
  bool any = false;
  for (auto& [place, lane] : lanes_) {
    if (place.first != own.device_number || lane.get() == &own || lacks == 0) continue;
    const uint64_t had = lane->mapped_bytes();
    if (had == 0 || lane->IsBusy()) continue;
    if (for_whom.empty()) {
      Trim(*lane->tree, had - std::min(had, lacks));
    } else {
      lane->tree->GiveMemory(lacks, for_whom);
      NoteGivenUp(*lane);
    }
    const uint64_t given = had - std::min(had, lane->mapped_bytes());
    lacks -= std::min(lacks, given);
    any |= given > 0;
  }
  return any;
}

absl::Status Lanes::MakeRoomToWake(Lane& own, uint64_t bytes) {
  if (options_.pool_bytes == 0) return absl::OkStatus();
  MakeRoom(own, bytes);
  const uint64_t left = shared(own).free();
  if (bytes <= left) return absl::OkStatus();
  return Explained(own, absl::ResourceExhaustedError(absl::StrCat(
                            "to wake lane ", own.number, " takes ", bytes, " bytes, which are ",
                            bytes - left, " more than are left")));
}

bool Lanes::GiveBackIdle(absl::Span<Lane* const> own) {
  bool any = false;
  for (auto& [place, lane] : lanes_) {
    if (!absl::c_linear_search(own, lane.get()) && lane->IsBusy()) continue;
    const uint64_t had = lane->mapped_bytes();
    Trim(*lane->tree, 0);
    any |= lane->mapped_bytes() < had;
  }
  return any;
}

void Lanes::GiveBack(Lane& own) { Trim(*own.tree, 0); }

absl::Status Lanes::Explained(const Lane& own, const absl::Status& status) const {
  if (options_.pool_bytes == 0 || !absl::IsResourceExhausted(status)) return status;
  std::vector<std::string> have;
  for (const auto& [place, lane] : lanes_) {
    if (place.first != own.device_number) continue;
    const bool is_busy = lane.get() != &own && lane->under_way.load() != nullptr;
    have.push_back(absl::StrCat("lane ", lane->number, " has ", lane->mapped_bytes(),
                                is_busy ? ", and a step that is under way" : ""));
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(status.message(), "\n  The lanes of device ", own.device_number, " share ",
                   options_.pool_bytes, " bytes (RuntimeOptions::pool_bytes): ",
                   absl::StrJoin(have, "; "), ". A lane may take what no other has, and who has no "
                   "step gives back what nobody holds there"));
}

}  // namespace graphtree
