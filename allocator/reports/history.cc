// Reading the ring back, with times.
#include "allocator/reports/history.h"

#include <bit>
#include <chrono>

namespace graphtree {
namespace {

int64_t WallNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

const char* HistoryActionName(HistoryAction action) {
  switch (action) {
    case HistoryAction::kAllocate: return "alloc";
    case HistoryAction::kFreeRequested: return "free_requested";
    case HistoryAction::kFreeCompleted: return "free_completed";
    case HistoryAction::kMap: return "segment_map";
    case HistoryAction::kUnmap: return "segment_unmap";
    case HistoryAction::kSnapshot: return "snapshot";
    case HistoryAction::kOutOfMemory: return "oom";
    case HistoryAction::kNote: return "annotate";
    case HistoryAction::kRestoreGone: return "restore_gone";
    case HistoryAction::kRestoreBack: return "restore_back";
    case HistoryAction::kCheckpointRestore: return "checkpoint_restore";
    case HistoryAction::kPark: return "park";
    case HistoryAction::kWake: return "wake";
  }
  return "unknown";
}

uint64_t TicksOfTheClock() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

History::History(size_t capacity)
    : ring_(capacity == 0 ? 0 : std::bit_ceil(capacity)),
      mask_(ring_.empty() ? 0 : ring_.size() - 1),
      start_ticks_(Ticks()),
      start_ns_(WallNanoseconds()) {}

std::vector<HistoryEntry> History::Entries() const {
  std::vector<HistoryEntry> entries;
  entries.reserve(static_cast<size_t>(written_ - lost()));
  for (uint64_t i = lost(); i < written_; ++i) entries.push_back(ring_[i & mask_]);
  return entries;
}

// The counter's rate is what it did between the ring's start and now.
int64_t History::MicrosecondsOf(uint64_t ticks) const {
  const double passed_ticks = static_cast<double>(Ticks() - start_ticks_);
  const double passed_ns = static_cast<double>(WallNanoseconds() - start_ns_);
  const double rate = passed_ticks > 0 ? passed_ns / passed_ticks : 0;
  const double ns = static_cast<double>(static_cast<int64_t>(ticks - start_ticks_)) * rate;
  return (start_ns_ + static_cast<int64_t>(ns)) / 1000;
}

}  // namespace graphtree
