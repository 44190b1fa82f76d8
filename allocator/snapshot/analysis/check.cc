// The rules, one function each.
#include "allocator/snapshot/analysis/check.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "allocator/snapshot/analysis/address_map.h"
#include "allocator/snapshot/analysis/history.h"

namespace graphtree::snapshot {
namespace {

constexpr uint64_t kMostOfAKind = 200;

// What our own pools write beside the words of the schema.
constexpr absl::string_view kRestoreWord = "checkpoint_restore";
constexpr absl::string_view kParkWord = "park";
constexpr absl::string_view kWakeWord = "wake";

// Disjoint ranges of addresses, each with the event that brought it.
class Ranges {
 public:
  struct Rest {
    uint64_t end;
    uint32_t event;
  };
  void Add(uint64_t begin, uint64_t end, uint32_t event) {
    Remove(begin, end);
    if (begin < end) ranges_[begin] = {end, event};
  }
  void Remove(uint64_t begin, uint64_t end) {
    auto at = ranges_.lower_bound(begin);
    if (at != ranges_.begin() && std::prev(at)->second.end > begin) --at;
    while (at != ranges_.end() && at->first < end) {
      const auto [from, rest] = *at;
      at = ranges_.erase(at);
      if (from < begin) ranges_[from] = {begin, rest.event};
      if (rest.end > end) ranges_[end] = rest;
    }
  }
  bool Covers(uint64_t address) const {
    const auto after = ranges_.upper_bound(address);
    return after != ranges_.begin() && std::prev(after)->second.end > address;
  }
  const std::map<uint64_t, Rest>& all() const { return ranges_; }

 private:
  std::map<uint64_t, Rest> ranges_;
};

// What the restores of a history explain.
class Restores {
 public:
  Restores(const Snapshot& snapshot, const DeviceHistory& history) {
    for (uint32_t event = 0; event < history.rows.size(); ++event) {
      const TraceEntry& entry = history.Entry(snapshot, event);
      if (entry.action < words::kCount || snapshot.Text(entry.action) != kRestoreWord) continue;
      events_[entry.pool].push_back(event);
    }
    if (events_.empty()) return;
    for (const Allocation& life : history.allocations) {
      if (life.born != kNever) births_[life.address].push_back(&life);
    }
  }
  // Whether one came after `after` (kNever: the beginning) and before `before` (kNever: the end).
  bool Between(uint32_t after, uint32_t before, PoolId pool) const {
    return std::any_of(events_.begin(), events_.end(), [&](const auto& of_pool) {
      if (pool != kNoId && of_pool.first != kNoId && of_pool.first != pool) return false;
      const std::vector<uint32_t>& events = of_pool.second;
      const auto next = after == kNever ? events.begin()
                                        : std::upper_bound(events.begin(), events.end(), after);
      return next != events.end() && *next < before;
    });
  }
  // Whether what `life` shows before `event` without a birth was born earlier and came back.
  bool BroughtBack(const Allocation& life, uint32_t event) const {
    return CameBack(life.address, event, life.pool,
                    [&](const Allocation& birth) { return birth.size == life.size; });
  }
  bool BroughtBackAt(uint64_t address, uint32_t event) const {
    return CameBack(address, event, kNoId, [](const Allocation&) { return true; });
  }

 private:
  // The first birth that fits leaves most room for a restore behind it.
  template <typename Fits>
  bool CameBack(uint64_t address, uint32_t event, PoolId pool, Fits fits) const {
    const auto births = births_.find(address);
    if (births == births_.end()) return false;
    for (const Allocation* birth : births->second) {
      if (fits(*birth)) return birth->born < event && Between(birth->born, event, pool);
    }
    return false;
  }

  std::map<PoolId, std::vector<uint32_t>> events_;
  absl::flat_hash_map<uint64_t, std::vector<const Allocation*>> births_;
};

class Checker {
 public:
  explicit Checker(const Snapshot& snapshot) : snapshot_(snapshot) {}

  CheckResult Run() {
    for (const auto& [side, name] : {std::pair{&snapshot_.gpu, "segments"},
                                     std::pair{&snapshot_.host, "host_segments"}}) {
      side_ = side;
      is_host_ = side == &snapshot_.host;
      for (size_t i = 0; i < side->segments.size(); ++i) {
        where_ = absl::StrCat(name, "[", i, "]");
        CheckTiling(side->segments[i]);
        CheckTotals(side->segments[i]);
      }
      CheckOverlaps();
      for (const DeviceHistory& history : BuildHistories(snapshot_, *side)) CheckHistory(history);
    }
    return std::move(result_);
  }

 private:
  void Say(Finding::Kind kind, std::string where, std::string what) {
    uint64_t& count = kind == Finding::kWrong        ? result_.wrong
                      : kind == Finding::kIncomplete ? result_.incomplete
                                                     : result_.unknown;
    if (++count <= kMostOfAKind) {
      result_.findings.push_back({kind, std::move(where), std::move(what)});
    }
  }
  void CheckTiling(const Segment& segment);
  void CheckTotals(const Segment& segment);
  void CheckBlock(const Block& block, const std::string& where);
  void CheckOverlaps();
  void CheckHistory(const DeviceHistory& history);
  void CheckLives(const DeviceHistory& history, const AddressMap& map, const Restores& restores,
                  const std::string& name);
  void CheckReserved(const DeviceHistory& history, const AddressMap& map, const std::string& name);
  void CheckActions(const DeviceHistory& history, const AddressMap& map, const std::string& name);
  bool IsKnown(StringId action) const;
  void CheckLosses(const DeviceHistory& history, const Restores& restores,
                   const std::string& name);
  uint64_t SegmentsOfOldMemory(const DeviceHistory& history, const AddressMap& map) const;

  const Snapshot& snapshot_;
  const Side* side_ = nullptr;
  bool is_host_ = false;
  std::string where_;
  CheckResult result_;
};

void Checker::CheckBlock(const Block& block, const std::string& where) {
  if (!block.allocated() && !block.pending() && block.state != words::kInactive) {
    Say(Finding::kUnknown, where,
        absl::StrCat("state '", snapshot_.Text(block.state), "' is not known; counted as free"));
  }
  if (block.allocated() && block.requested_size > block.size) {
    Say(Finding::kWrong, where,
        absl::StrCat(block.requested_size, " bytes were requested in a block of ", block.size));
  }
}

void Checker::CheckTiling(const Segment& segment) {
  ++result_.segments;
  uint64_t expected = segment.address;
  size_t i = 0;
  for (const Block& block : snapshot_.BlocksOf(segment)) {
    const std::string where = absl::StrCat(where_, ".blocks[", i++, "]");
    ++result_.blocks;
    if (block.address > expected) {
      Say(Finding::kWrong, where,
          absl::StrCat("a gap of ", block.address - expected, " bytes in front of it"));
    } else if (block.address < expected) {
      Say(Finding::kWrong, where,
          absl::StrCat("overlaps what is in front of it by ", expected - block.address, " bytes"));
    }
    expected = block.address + block.size;
    CheckBlock(block, where);
  }
  const uint64_t end = segment.address + segment.total_size;
  if (expected != end) {
    Say(Finding::kWrong, where_,
        absl::StrCat("its blocks end ", expected < end ? "before" : "behind", " its end, by ",
                     expected < end ? end - expected : expected - end, " bytes"));
  }
}

void Checker::CheckTotals(const Segment& segment) {
  uint64_t allocated = 0, active = 0, requested = 0;
  for (const Block& block : snapshot_.BlocksOf(segment)) {
    if (block.allocated()) allocated += block.size;
    if (block.allocated() || block.pending()) {
      active += block.size;
      requested += block.requested_size;
    }
  }
  const auto compare = [&](StringId key, uint64_t said, uint64_t counted) {
    if (!snapshot_.HasKey(segment.shape, key) || said == counted) return;
    Say(Finding::kWrong, where_,
        absl::StrCat(snapshot_.Text(key), " is ", said, ", but its blocks add up to ", counted));
  };
  compare(words::kAllocatedSize, segment.allocated_size, allocated);
  compare(words::kActiveSize, segment.active_size, active);
  // Host segments keep the size of their block there, in use or not.
  if (!is_host_) compare(words::kRequestedSize, segment.requested_size, requested);
}

void Checker::CheckOverlaps() {
  std::map<int64_t, bool> devices;
  for (const Segment& segment : side_->segments) devices[segment.device] = true;
  for (const auto& [device, unused] : devices) {
    const AddressMap map(*side_, device);
    const auto& sorted = map.segments();
    for (size_t i = 1; i < sorted.size(); ++i) {
      const uint64_t end = sorted[i - 1]->address + sorted[i - 1]->total_size;
      if (end <= sorted[i]->address) continue;
      Say(Finding::kWrong, absl::StrCat("device ", device),
          absl::StrCat("the segments at 0x", absl::Hex(sorted[i - 1]->address), " and 0x",
                       absl::Hex(sorted[i]->address), " overlap by ", end - sorted[i]->address,
                       " bytes"));
    }
  }
}

void Checker::CheckLives(const DeviceHistory& history, const AddressMap& map,
                         const Restores& restores, const std::string& name) {
  for (const Allocation& life : history.allocations) {
    if (life.freed != kNever || life.born == kNever) continue;
    // It may have gone by a restore, and another block of before have come back in its place.
    if (restores.Between(life.born, kNever, life.pool)) continue;
    const std::string where = absl::StrCat(name, "[", life.born, "]");
    if (life.block == kNever) {
      // Host memory pinned outside the allocator is in the history only.
      const bool outside = is_host_ && map.Find(life.address) == nullptr;
      Say(outside ? Finding::kIncomplete : Finding::kWrong, where,
          absl::StrCat(life.size, " bytes at 0x", absl::Hex(life.address),
                       " were allocated and never freed, but no live block begins there"));
    } else if (snapshot_.blocks[life.block].requested_size != life.size &&
               snapshot_.HasKey(snapshot_.blocks[life.block].shape, words::kRequestedSize)) {
      Say(Finding::kWrong, where,
          absl::StrCat("allocated ", life.size, " bytes at 0x", absl::Hex(life.address),
                       ", but its block was requested with ",
                       snapshot_.blocks[life.block].requested_size));
    }
  }
}

void Checker::CheckReserved(const DeviceHistory& history, const AddressMap& map,
                            const std::string& name) {
  Ranges there;
  for (uint32_t event = 0; event < history.rows.size(); ++event) {
    const TraceEntry& entry = history.Entry(snapshot_, event);
    if (entry.action == words::kSegmentAlloc || entry.action == words::kSegmentMap) {
      there.Add(entry.addr, entry.addr + entry.size, event);
    } else if (entry.action == words::kSegmentFree || entry.action == words::kSegmentUnmap) {
      there.Remove(entry.addr, entry.addr + entry.size);
    }
  }
  for (const auto& [address, rest] : there.all()) {
    const Segment* segment = map.Find(address);
    const bool covered =
        segment != nullptr && rest.end <= segment->address + segment->total_size;
    if (covered || is_host_) continue;
    Say(Finding::kWrong, absl::StrCat(name, "[", rest.event, "]"),
        absl::StrCat("a segment of ", rest.end - address, " bytes at 0x", absl::Hex(address),
                     " came and never went, but is not among the segments"));
  }
}

// Segments of which nothing in the history says that their memory ever came. One that begins inside
// of what came is what a trim or a park left of it.
uint64_t Checker::SegmentsOfOldMemory(const DeviceHistory& history, const AddressMap& map) const {
  Ranges ever;
  for (uint32_t event = 0; event < history.rows.size(); ++event) {
    const TraceEntry& entry = history.Entry(snapshot_, event);
    if (entry.action != words::kSegmentAlloc && entry.action != words::kSegmentMap) continue;
    ever.Add(entry.addr, entry.addr + entry.size, event);
  }
  uint64_t count = 0;
  for (const Segment* segment : map.segments()) count += ever.Covers(segment->address) ? 0 : 1;
  return count;
}

bool Checker::IsKnown(StringId action) const {
  if (action >= words::kAlloc && action <= words::kUserDefined) return true;
  const absl::string_view text = snapshot_.Text(action);
  return text == kRestoreWord || text == kParkWord || text == kWakeWord;
}

void Checker::CheckActions(const DeviceHistory& history, const AddressMap& map,
                           const std::string& name) {
  std::map<StringId, uint64_t> unknown;
  for (uint32_t event = 0; event < history.rows.size(); ++event) {
    const TraceEntry& entry = history.Entry(snapshot_, event);
    if (!IsKnown(entry.action)) ++unknown[entry.action];
    if (entry.action != words::kAlloc || entry.pool == kNoId) continue;
    const Allocation& life = history.allocations[history.allocation[event]];
    const Segment* segment = life.block == kNever ? nullptr : map.Find(entry.addr);
    if (segment != nullptr && segment->pool != kNoId && segment->pool != entry.pool) {
      Say(Finding::kWrong, absl::StrCat(name, "[", event, "]"),
          "it names another pool than the segment that holds it");
    }
  }
  for (const auto& [action, count] : unknown) {
    Say(Finding::kUnknown, name,
        absl::StrCat(count, " entries have the action '", snapshot_.Text(action),
                     "', which is not known; they change no figure"));
  }
}

void Checker::CheckHistory(const DeviceHistory& history) {
  result_.entries += history.rows.size();
  if (history.rows.empty()) return;
  const AddressMap map(*side_, history.device);
  const Restores restores(snapshot_, history);
  const std::string name =
      is_host_ ? "host_traces" : absl::StrCat("device_traces[", history.device, "]");
  CheckLives(history, map, restores, name);
  CheckReserved(history, map, name);
  CheckActions(history, map, name);
  CheckLosses(history, restores, name);
  const uint64_t segments = SegmentsOfOldMemory(history, map);
  if (segments != 0) {
    Say(Finding::kIncomplete, name,
        absl::StrCat(segments, " segments came before the first entry"));
  }
  if (history.losses.out_of_order) {
    Say(Finding::kIncomplete, name, "its entries are not in order of time");
  }
}

// What a restore explains is no loss.
void Checker::CheckLosses(const DeviceHistory& history, const Restores& restores,
                          const std::string& name) {
  const Losses& lost = history.losses;
  uint64_t live = lost.blocks_without_alloc, frees = lost.frees_without_alloc;
  uint64_t over = lost.allocs_over_live, notes = lost.notes_without_alloc;
  for (const Allocation& life : history.allocations) {
    if (life.ends != kNever) {
      const Allocation& old = history.allocations[life.ends];
      if (restores.Between(old.born, life.born, old.pool)) --over;
    }
    if (life.born != kNever || !restores.BroughtBack(life, life.freed)) continue;
    if (life.freed != kNever) {
      --frees;
    } else if (life.block != kNever && snapshot_.blocks[life.block].allocated()) {
      --live;
    }
  }
  for (const Note& note : history.notes) {
    if (note.allocation != kNever) continue;
    const uint64_t address = history.Entry(snapshot_, note.event).addr;
    if (restores.BroughtBackAt(address, note.event)) --notes;
  }
  const auto incomplete = [&](uint64_t count, absl::string_view what) {
    if (count != 0) Say(Finding::kIncomplete, name, absl::StrCat(count, " ", what));
  };
  incomplete(live, "live blocks were allocated before the first entry");
  incomplete(frees, "frees of memory whose allocation is not in it");
  incomplete(over, "allocations where something was live: frees are missing");
  incomplete(notes, "notes on allocations that are not in it");
}

}  // namespace

CheckResult Check(const Snapshot& snapshot) { return Checker(snapshot).Run(); }

}  // namespace graphtree::snapshot
