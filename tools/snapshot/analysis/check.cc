// The rules, one function each.
#include "tools/snapshot/analysis/check.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/snapshot/analysis/address_map.h"
#include "tools/snapshot/analysis/history.h"

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
  void CheckLives(const DeviceHistory& history, const AddressMap& map, const std::string& name);
  void CheckReserved(const DeviceHistory& history, const AddressMap& map, const std::string& name);
  void CheckActions(const DeviceHistory& history, const AddressMap& map, const std::string& name);
  bool IsKnown(StringId action) const;
  void CheckLosses(const DeviceHistory& history, const std::string& name);
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
  for (const auto& [device, rows] : SegmentsByDevice(*side_)) {
    const AddressMap map(*side_, rows);
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
                         const std::string& name) {
  for (const Allocation& life : history.allocations) {
    if (life.freed != kNever || life.born == kNever) continue;
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
  const AddressMap map(*side_, history.segments);
  const std::string name =
      is_host_ ? "host_traces" : absl::StrCat("device_traces[", history.device, "]");
  CheckLives(history, map, name);
  CheckReserved(history, map, name);
  CheckActions(history, map, name);
  CheckLosses(history, name);
  const uint64_t segments = SegmentsOfOldMemory(history, map);
  if (segments != 0) {
    Say(Finding::kIncomplete, name,
        absl::StrCat(segments, " segments came before the first entry"));
  }
  if (history.losses.out_of_order) {
    Say(Finding::kIncomplete, name, "its entries are not in order of time");
  }
}

void Checker::CheckLosses(const DeviceHistory& history, const std::string& name) {
  const Losses& lost = history.losses;
  const auto incomplete = [&](uint64_t count, absl::string_view what) {
    if (count != 0) Say(Finding::kIncomplete, name, absl::StrCat(count, " ", what));
  };
  incomplete(lost.blocks_without_alloc, "live blocks were allocated before the first entry");
  incomplete(lost.frees_without_alloc, "frees of memory whose allocation is not in it");
  incomplete(lost.allocs_over_live, "allocations where something was live: frees are missing");
  incomplete(lost.notes_without_alloc, "notes on allocations that are not in it");
}

}  // namespace

CheckResult Check(const Snapshot& snapshot) { return Checker(snapshot).Run(); }

}  // namespace graphtree::snapshot
