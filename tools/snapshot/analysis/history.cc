// Follows every address through the trace, then explains the blocks that are there at the end.
#include "tools/snapshot/analysis/history.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "tools/snapshot/analysis/address_map.h"

namespace graphtree::snapshot {
namespace {

class HistoryBuilder {
 public:
  HistoryBuilder(const Snapshot& snapshot, const Side& side, int64_t device,
                 std::vector<uint32_t> segments)
      : snapshot_(snapshot),
        map_(side, segments),
        restore_(snapshot.strings.Find("checkpoint_restore")) {
    history_.device = device;
    history_.segments = std::move(segments);
  }

  void AddTrace(const Trace& trace);
  DeviceHistory Finish();

 private:
  void SortByTime();
  void Step(uint32_t event);
  void Born(uint32_t event, const TraceEntry& entry);
  void Freed(uint32_t event, const TraceEntry& entry, bool requested, bool completed);
  void Noted(uint32_t event, const TraceEntry& entry);
  void Restored(uint32_t event, const TraceEntry& entry);
  void WentByRestore(uint32_t event, const TraceEntry& entry, uint64_t address, uint64_t size);
  void CameByRestore(uint32_t event, const TraceEntry& entry, uint64_t address, uint64_t size);
  uint32_t EndAt(uint32_t event, uint64_t address);
  using ByAddress = absl::flat_hash_map<uint64_t, uint32_t>;  // to allocation
  uint32_t Take(ByAddress& from, uint64_t address);
  uint32_t AddUnborn(uint64_t address, uint64_t size, PoolId pool);
  PoolId PoolOf(uint64_t address, PoolId said);
  bool IsInternal(const TraceEntry& entry) const;
  void ExplainBlocks();
  void CountReserved();
  void FindPeaks();

  const Snapshot& snapshot_;
  AddressMap map_;
  const StringId restore_;  // kNoId where the file has no restores
  DeviceHistory history_;
  ByAddress live_;
  ByAddress pending_;  // freed, not yet completed
  // By address and size the last allocation, in a file that has restores.
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, uint32_t> last_;
};

void HistoryBuilder::AddTrace(const Trace& trace) {
  const size_t before = history_.rows.size();
  history_.rows.resize(before + trace.entry_count);
  std::iota(history_.rows.begin() + before, history_.rows.end(),
            static_cast<uint32_t>(trace.first_entry));
}

void HistoryBuilder::SortByTime() {
  const auto earlier = [&](uint32_t a, uint32_t b) {
    return snapshot_.entries[a].time_us < snapshot_.entries[b].time_us;
  };
  if (std::is_sorted(history_.rows.begin(), history_.rows.end(), earlier)) return;
  history_.losses.out_of_order = true;
  std::stable_sort(history_.rows.begin(), history_.rows.end(), earlier);
}

bool HistoryBuilder::IsInternal(const TraceEntry& entry) const {
  return snapshot_.details[entry.details].internal_metadata != words::kEmpty;
}

PoolId HistoryBuilder::PoolOf(uint64_t address, PoolId said) {
  if (said != kNoId) {
    ++history_.pools.from_entry;
    return said;
  }
  const Segment* segment = map_.Find(address);
  ++(segment != nullptr ? history_.pools.from_address : history_.pools.unknown);
  return segment != nullptr ? segment->pool : kNoId;
}

void HistoryBuilder::Born(uint32_t event, const TraceEntry& entry) {
  const uint32_t index = static_cast<uint32_t>(history_.allocations.size());
  Allocation allocation;
  allocation.address = entry.addr;
  allocation.size = entry.size;
  allocation.born = allocation.alloc = event;
  allocation.stack = entry.stack;
  allocation.user_metadata = entry.user_metadata;
  allocation.compile_context = entry.compile_context;
  allocation.pool = PoolOf(entry.addr, entry.pool);
  allocation.ends = EndAt(event, entry.addr);
  live_[entry.addr] = index;
  if (restore_ != kNoId) last_[{entry.addr, entry.size}] = index;
  history_.allocations.push_back(allocation);
  history_.allocation[event] = index;
}

// Something new lies at the address: what the history still holds there was freed unseen.
uint32_t HistoryBuilder::EndAt(uint32_t event, uint64_t address) {
  auto& from = live_.contains(address) ? live_ : pending_;
  const auto found = from.find(address);
  if (found == from.end()) return kNever;
  const uint32_t index = found->second;
  ++history_.losses.allocs_over_live;
  Allocation& old = history_.allocations[index];
  if (old.freed == kNever) old.freed = event;
  old.gone = event;
  from.erase(found);
  return index;
}

// What ends at an address; kNever, and that is counted, if nothing is known to be there.
uint32_t HistoryBuilder::Take(ByAddress& from, uint64_t address) {
  const auto found = from.find(address);
  if (found == from.end()) {
    ++history_.losses.frees_without_alloc;
    return kNever;
  }
  const uint32_t index = found->second;
  from.erase(found);
  return index;
}

uint32_t HistoryBuilder::AddUnborn(uint64_t address, uint64_t size, PoolId pool) {
  Allocation allocation;
  allocation.address = address;
  allocation.size = size;
  allocation.pool = pool;
  history_.allocations.push_back(allocation);
  return static_cast<uint32_t>(history_.allocations.size() - 1);
}

void HistoryBuilder::Freed(uint32_t event, const TraceEntry& entry, bool requested,
                           bool completed) {
  ByAddress& from = requested || !pending_.contains(entry.addr) ? live_ : pending_;
  uint32_t index = Take(from, entry.addr);
  if (index == kNever) {
    if (!requested) return;  // the user had freed it before the history begins
    index = AddUnborn(entry.addr, entry.size, PoolOf(entry.addr, entry.pool));
  }
  Allocation& allocation = history_.allocations[index];
  history_.allocation[event] = index;
  if (allocation.freed == kNever) allocation.freed = event;
  if (completed) {
    allocation.gone = event;
  } else {
    pending_[entry.addr] = index;
  }
  if (requested && allocation.born != kNever && IsInternal(entry) &&
      IsInternal(history_.Entry(snapshot_, allocation.born))) {
    allocation.placeholder = true;
  }
}

void HistoryBuilder::Noted(uint32_t event, const TraceEntry& entry) {
  const auto found = live_.find(entry.addr);
  history_.notes.push_back({found == live_.end() ? kNever : found->second, event});
  if (found != live_.end()) history_.allocation[event] = found->second;
}

void HistoryBuilder::WentByRestore(uint32_t event, const TraceEntry& entry, uint64_t address,
                                   uint64_t size) {
  uint32_t index = Take(live_.contains(address) ? live_ : pending_, address);
  if (index == kNever) index = AddUnborn(address, size, entry.pool);
  Allocation& allocation = history_.allocations[index];
  if (allocation.freed == kNever) allocation.freed = event;
  allocation.gone = event;
  history_.moved.push_back({event, index});
}

void HistoryBuilder::CameByRestore(uint32_t event, const TraceEntry& entry, uint64_t address,
                                   uint64_t size) {
  const uint32_t index = static_cast<uint32_t>(history_.allocations.size());
  Allocation allocation;
  const auto last = last_.find({address, size});
  if (last != last_.end()) {
    allocation = history_.allocations[last->second];
    allocation.freed = allocation.gone = allocation.ends = kNever;
  } else {
    allocation.address = address;
    allocation.size = size;
    allocation.pool = entry.pool;
  }
  allocation.born = event;
  EndAt(event, address);
  live_[address] = last_[{address, size}] = index;
  history_.allocations.push_back(allocation);
  history_.moved.push_back({event, index});
}

void HistoryBuilder::Restored(uint32_t event, const TraceEntry& entry) {
  const ExtrasId extras = snapshot_.details[entry.details].extras;
  const auto for_each = [&](absl::string_view key, auto what) {
    const StringId id = snapshot_.strings.Find(key);
    const auto list = id == kNoId ? std::nullopt : snapshot_.extras.Get(extras, id);
    const std::vector<Value>* blocks =
        list.has_value() ? snapshot_.values.ListItems(*list) : nullptr;
    if (blocks == nullptr) return;
    for (const Value block : *blocks) {
      const auto range = TwoIntegers(snapshot_.values, block);
      if (range.has_value()) (this->*what)(event, entry, range->first, range->second);
    }
  };
  for_each("gone", &HistoryBuilder::WentByRestore);
  for_each("back", &HistoryBuilder::CameByRestore);
}

void HistoryBuilder::Step(uint32_t event) {
  const TraceEntry& entry = history_.Entry(snapshot_, event);
  switch (entry.action) {
    case words::kAlloc: return Born(event, entry);
    case words::kFreeRequested: return Freed(event, entry, true, false);
    case words::kFreeCompleted: return Freed(event, entry, false, true);
    case words::kFree: return Freed(event, entry, true, true);
    case words::kAnnotate: return Noted(event, entry);
    default: break;
  }
  if (entry.action == restore_) Restored(event, entry);
}

// Ties what is alive at the end to its block; blocks without a life were allocated before.
void HistoryBuilder::ExplainBlocks() {
  for (const Segment* segment : map_.segments()) {
    for (size_t row = segment->first_block; row < segment->first_block + segment->block_count;
         ++row) {
      const Block& block = snapshot_.blocks[row];
      if (!block.allocated() && !block.pending()) continue;
      auto& from = block.allocated() ? live_ : pending_;
      const auto found = from.find(block.address);
      uint32_t index;
      if (found != from.end()) {
        index = found->second;
      } else {
        index = AddUnborn(block.address, block.requested_size, segment->pool);
        history_.allocations[index].stack = block.stack;
        if (block.pending()) continue;
        ++history_.losses.blocks_without_alloc;
        history_.losses.blocks_without_alloc_bytes += block.size;
      }
      history_.allocations[index].block = static_cast<uint32_t>(row);
      if (history_.allocations[index].stack == 0) history_.allocations[index].stack = block.stack;
    }
  }
  absl::flat_hash_map<uint64_t, uint32_t> unborn;
  for (uint32_t i = 0; i < history_.allocations.size(); ++i) {
    const Allocation& allocation = history_.allocations[i];
    if (allocation.born == kNever && allocation.block != kNever) unborn[allocation.address] = i;
  }
  for (Note& note : history_.notes) {
    if (note.allocation != kNever) continue;
    const auto found = unborn.find(history_.Entry(snapshot_, note.event).addr);
    if (found == unborn.end()) {
      ++history_.losses.notes_without_alloc;
    } else {
      note.allocation = found->second;
    }
  }
}

void HistoryBuilder::CountReserved() {
  uint64_t now = 0;
  absl::flat_hash_set<uint64_t> born;
  for (const Segment* segment : map_.segments()) now += segment->total_size;
  int64_t net = 0;
  int64_t lowest = 0;
  for (uint32_t event = 0; event < history_.rows.size(); ++event) {
    const TraceEntry& entry = history_.Entry(snapshot_, event);
    if (entry.action == words::kSegmentAlloc) born.insert(entry.addr);
    if (entry.action == words::kSegmentMap) born.insert(entry.addr);
    net += ChangeOf(snapshot_, history_, event).reserved;
    lowest = std::min(lowest, net);
  }
  for (const Segment* segment : map_.segments()) {
    if (!born.contains(segment->address)) ++history_.losses.segments_without_alloc;
  }
  const int64_t start = std::max(static_cast<int64_t>(now) - net, -lowest);
  history_.reserved_at_start = static_cast<uint64_t>(std::max<int64_t>(start, 0));
}

void HistoryBuilder::FindPeaks() {
  for (const Allocation& allocation : history_.allocations) {
    if (allocation.born == kNever) history_.allocated_at_start += allocation.size;
  }
  int64_t allocated = static_cast<int64_t>(history_.allocated_at_start);
  int64_t reserved = static_cast<int64_t>(history_.reserved_at_start);
  history_.allocated_peak = {history_.allocated_at_start, kNever};
  history_.reserved_peak = {history_.reserved_at_start, kNever};
  for (uint32_t event = 0; event < history_.rows.size(); ++event) {
    const Change change = ChangeOf(snapshot_, history_, event);
    allocated += change.allocated;
    reserved += change.reserved;
    if (allocated > static_cast<int64_t>(history_.allocated_peak.bytes)) {
      history_.allocated_peak = {static_cast<uint64_t>(allocated), event};
    }
    if (reserved > static_cast<int64_t>(history_.reserved_peak.bytes)) {
      history_.reserved_peak = {static_cast<uint64_t>(reserved), event};
    }
  }
}

DeviceHistory HistoryBuilder::Finish() {
  SortByTime();
  history_.allocation.assign(history_.rows.size(), kNever);
  for (uint32_t event = 0; event < history_.rows.size(); ++event) Step(event);
  ExplainBlocks();
  CountReserved();
  FindPeaks();
  return std::move(history_);
}

void AddEnd(const Allocation& allocation, uint32_t event, Change& change) {
  const int64_t bytes = static_cast<int64_t>(allocation.size);
  if (event == allocation.freed) change.allocated -= bytes;
  if (event == allocation.gone) change.active -= bytes;
}

Change ChangeOfMoved(const DeviceHistory& history, uint32_t event) {
  Change change;
  for (const Moved& moved : history.MovedAt(event)) {
    const Allocation& allocation = history.allocations[moved.allocation];
    if (allocation.placeholder) continue;
    if (event == allocation.born) {
      change.allocated += static_cast<int64_t>(allocation.size);
      change.active += static_cast<int64_t>(allocation.size);
    } else {
      AddEnd(allocation, event, change);
    }
  }
  return change;
}

}  // namespace

absl::Span<const Moved> DeviceHistory::MovedAt(uint32_t event) const {
  const auto first = std::lower_bound(
      moved.begin(), moved.end(), event,
      [](const Moved& one, uint32_t wanted) { return one.event < wanted; });
  auto end = first;
  while (end != moved.end() && end->event == event) ++end;
  return absl::MakeConstSpan(moved.data() + (first - moved.begin()), end - first);
}

Change ChangeOf(const Snapshot& snapshot, const DeviceHistory& history, uint32_t event) {
  const TraceEntry& entry = history.Entry(snapshot, event);
  const int64_t size = static_cast<int64_t>(entry.size);
  switch (entry.action) {
    case words::kSegmentAlloc:
    case words::kSegmentMap: return {.reserved = size};
    case words::kSegmentFree:
    case words::kSegmentUnmap: return {.reserved = -size};
    default: break;
  }
  if (history.allocation[event] == kNever) return ChangeOfMoved(history, event);
  if (entry.action == words::kAnnotate) return {};
  const Allocation& allocation = history.allocations[history.allocation[event]];
  if (allocation.placeholder) return {};
  Change change;
  if (event == allocation.born) {
    change.allocated = change.active = static_cast<int64_t>(allocation.size);
  }
  AddEnd(allocation, event, change);
  if (allocation.ends != kNever) AddEnd(history.allocations[allocation.ends], event, change);
  return change;
}

std::vector<DeviceHistory> BuildHistories(const Snapshot& snapshot, const Side& side) {
  std::map<int64_t, std::vector<uint32_t>> segments = SegmentsByDevice(side);
  std::map<int64_t, std::vector<const Trace*>> devices;
  for (const auto& [device, rows] : segments) devices[device];
  for (const Trace& trace : side.traces) {
    if (trace.entry_count != 0) devices[trace.device].push_back(&trace);
  }
  std::vector<DeviceHistory> histories;
  for (const auto& [device, traces] : devices) {
    HistoryBuilder builder(snapshot, side, device, std::move(segments[device]));
    for (const Trace* trace : traces) builder.AddTrace(*trace);
    histories.push_back(builder.Finish());
  }
  return histories;
}

}  // namespace graphtree::snapshot
