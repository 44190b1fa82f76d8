// Filters are tried cheapest first; a stack is searched once however often it occurs.
#include "tools/snapshot/analysis/query.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "tools/snapshot/analysis/address_map.h"
#include "tools/snapshot/analysis/frames.h"

namespace graphtree::snapshot {
namespace {

class Searcher {
 public:
  Searcher(const Snapshot& snapshot, const Filter& filter) : snapshot_(snapshot), filter_(filter) {}

  bool SizeAndPlace(uint64_t address, uint64_t size) const {
    if (size < filter_.least_size || size > filter_.most_size) return false;
    if (!filter_.addresses.has_value()) return true;
    const auto [begin, end] = *filter_.addresses;
    return address < end && (size == 0 ? address >= begin : address + size > begin);
  }
  bool Pool(PoolId pool) const {
    return !filter_.pool.has_value() || snapshot_.Pool(pool) == *filter_.pool;
  }
  bool Stream(Value stream) const {
    return filter_.stream.empty() || IntegerText(snapshot_.values, stream) == filter_.stream;
  }
  bool Tag(StringId tag) const {
    return filter_.tag_text.empty() || absl::StrContains(snapshot_.Text(tag), filter_.tag_text);
  }
  bool Word(const std::string& wanted, StringId word) const {
    return wanted.empty() || snapshot_.Text(word) == wanted;
  }
  bool Stack(StackId stack) {
    if (filter_.stack_text.empty()) return true;
    const auto [known, is_new] = stacks_.try_emplace(stack, false);
    if (is_new) {
      for (FrameId frame : snapshot_.stacks[stack]) {
        if (!absl::StrContains(FrameText(snapshot_, frame), filter_.stack_text)) continue;
        known->second = true;
        break;
      }
    }
    return known->second;
  }

 private:
  const Snapshot& snapshot_;
  const Filter& filter_;
  absl::flat_hash_map<StackId, bool> stacks_;
};

void FindBlocks(const Snapshot& snapshot, const Side& side,
                const std::vector<DeviceHistory>& histories, const Filter& filter,
                Searcher& searcher, Found& found) {
  absl::flat_hash_map<uint32_t, StringId> tags;
  for (const DeviceHistory& history : histories) {
    for (const Allocation& life : history.allocations) {
      if (life.block != kNever && life.born != kNever) tags[life.block] = life.user_metadata;
    }
  }
  for (const Segment& segment : side.segments) {
    if (!searcher.Pool(segment.pool) || !searcher.Stream(segment.stream)) continue;
    for (size_t row = segment.first_block; row < segment.first_block + segment.block_count;
         ++row) {
      const Block& block = snapshot.blocks[row];
      const auto tag = tags.find(static_cast<uint32_t>(row));
      const StringId tag_id = tag == tags.end() ? StringId{words::kEmpty} : tag->second;
      if (searcher.SizeAndPlace(block.address, block.size) &&
          searcher.Word(filter.state, block.state) && searcher.Tag(tag_id) &&
          searcher.Stack(block.stack)) {
        found.blocks.push_back({&segment, static_cast<uint32_t>(row), tag_id});
      }
    }
  }
}

void FindEntries(const Snapshot& snapshot, const Side& side, const DeviceHistory& history,
                 const Filter& filter, Searcher& searcher, Found& found) {
  if (history.rows.empty()) return;
  const AddressMap map(side, history.segments);
  const int64_t start = history.Entry(snapshot, 0).time_us;
  for (uint32_t event = filter.first_entry;
       event < history.rows.size() && event <= filter.last_entry; ++event) {
    const TraceEntry& entry = history.Entry(snapshot, event);
    const int64_t time = entry.time_us - start;
    if (time < filter.least_time || time > filter.most_time) continue;
    // An out-of-memory event has no address: its column holds what the device had free.
    const bool placed = entry.action != words::kOom;
    if (!placed && filter.addresses.has_value()) continue;
    const EntryDetails& details = snapshot.details[entry.details];
    PoolId pool = entry.pool;
    if (pool == kNoId && filter.pool.has_value()) {
      const Segment* segment = map.Find(entry.addr);
      if (segment == nullptr) continue;
      pool = segment->pool;
    }
    if (searcher.Word(filter.action, entry.action) &&
        searcher.SizeAndPlace(placed ? entry.addr : 0, entry.size) && searcher.Pool(pool) &&
        searcher.Stream(details.stream) && searcher.Tag(entry.user_metadata) &&
        searcher.Stack(entry.stack)) {
      found.entries.push_back({history.device, event, history.rows[event], time});
    }
  }
}

}  // namespace

Found Query(const Snapshot& snapshot, const Side& side,
            const std::vector<DeviceHistory>& histories, const Filter& filter) {
  Found found;
  Searcher searcher(snapshot, filter);
  if (!filter.asks_for_entries_only()) {
    FindBlocks(snapshot, side, histories, filter, searcher, found);
  }
  if (!filter.asks_for_blocks_only()) {
    for (const DeviceHistory& history : histories) {
      FindEntries(snapshot, side, history, filter, searcher, found);
    }
  }
  return found;
}

}  // namespace graphtree::snapshot
