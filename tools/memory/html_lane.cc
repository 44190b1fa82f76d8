// Turns a history into columns: numbers events, sorts allocations by age, follows segments.
#include "tools/memory/html_lane.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tools/memory/html_pieces.h"
#include "tools/memory/html_ranges.h"
#include "tools/snapshot/analysis/address_map.h"

namespace graphtree::memory {
namespace {

namespace words = snapshot::words;
using snapshot::Allocation;
using snapshot::DeviceHistory;
using snapshot::kNever;
using snapshot::Segment;
using snapshot::Side;
using snapshot::Snapshot;
using snapshot::TraceEntry;

// The numbers of lane.js.
enum Kind : uint64_t {
  kAlloc, kFreeRequested, kFreeCompleted, kFreeAssumed, kSegmentAlloc, kSegmentFree, kSegmentMap,
  kSegmentUnmap, kSnapshotMark, kOom, kAnnotate, kOther
};

Kind KindOf(snapshot::StringId action) {
  switch (action) {
    case words::kAlloc: return kAlloc;
    case words::kFreeRequested: return kFreeRequested;
    case words::kFreeCompleted: return kFreeCompleted;
    case words::kFree: return kFreeCompleted;
    case words::kSegmentAlloc: return kSegmentAlloc;
    case words::kSegmentFree: return kSegmentFree;
    case words::kSegmentMap: return kSegmentMap;
    case words::kSegmentUnmap: return kSegmentUnmap;
    case words::kSnapshot: return kSnapshotMark;
    case words::kOom: return kOom;
    case words::kAnnotate: return kAnnotate;
    default: return kOther;
  }
}

// How often each kind of number is stored as a column of its own.
struct Placed {
  std::vector<uint64_t> start, end, address, size, stack, pool, stream;
};

class LaneWriter {
 public:
  LaneWriter(const HtmlShared& shared, const Side& side, const DeviceHistory& history)
      : shared_(shared), snapshot_(shared.snapshot), history_(history),
        segments_(side, history.segments) {}

  void Write(const std::string& name, JsonWriter& json);

 private:
  void NumberEvents();
  void SortAllocations();
  void FollowSegments();
  void FindAddressUnit();
  void WriteEvents(JsonWriter& json);
  void WriteAllocations(JsonWriter& json);
  void WritePieces(JsonWriter& json);
  void WriteMarkers(JsonWriter& json);
  void WriteNotes(JsonWriter& json);
  void WritePlaced(absl::string_view prefix, const Placed& placed, JsonWriter& json);

  const TraceEntry& Entry(uint32_t event) const { return history_.Entry(snapshot_, event); }
  snapshot::Value StreamOf(const TraceEntry& entry) const {
    return snapshot_.details[entry.details].stream;
  }
  uint64_t StreamOf(const Allocation& allocation);
  uint64_t NodeOf(const Allocation& allocation);
  HtmlPieceTags TagsOf(const TraceEntry& entry, bool expandable);
  HtmlPieceTags TagsOf(const Segment& segment);
  uint64_t Place(uint64_t address) const { return (address - base_) >> unit_shift_; }

  const HtmlShared& shared_;
  const Snapshot& snapshot_;
  const DeviceHistory& history_;
  snapshot::AddressMap segments_;
  std::vector<int64_t> number_;   // of each event on the page
  std::vector<uint64_t> kinds_;   // by number
  std::vector<uint64_t> times_;
  std::vector<uint32_t> order_;   // allocations, oldest first
  std::vector<uint64_t> place_;   // of each allocation in that order; kNever for placeholders
  std::vector<HtmlPiece> pieces_;
  int64_t first_time_ = 0;
  uint64_t base_ = 0;
  int unit_shift_ = 0;
};

// A life that was cut short by another at its address has no event of its own: it gets one.
void LaneWriter::NumberEvents() {
  const size_t count = history_.rows.size();
  if (count != 0) first_time_ = Entry(0).time_us;
  number_.resize(count);
  for (uint32_t event = 0; event < count; ++event) {
    const uint64_t time = static_cast<uint64_t>(Entry(event).time_us - first_time_);
    const uint32_t about = history_.allocation[event];
    const bool born = about != kNever && history_.allocations[about].born == event;
    if (born && history_.allocations[about].ends != kNever) {
      kinds_.push_back(kFreeAssumed);
      times_.push_back(time);
    }
    number_[event] = static_cast<int64_t>(kinds_.size());
    const bool hidden = about != kNever && history_.allocations[about].placeholder;
    kinds_.push_back(hidden ? kOther : KindOf(Entry(event).action));
    times_.push_back(time);
  }
}

void LaneWriter::SortAllocations() {
  const auto& allocations = history_.allocations;
  for (uint32_t i = 0; i < allocations.size(); ++i) {
    if (!allocations[i].placeholder) order_.push_back(i);
  }
  const auto key = [&](uint32_t i) {
    const Allocation& a = allocations[i];
    return a.born == kNever ? std::make_pair(uint64_t{0}, a.address)
                            : std::make_pair(uint64_t{a.born} + 1, uint64_t{0});
  };
  std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  place_.assign(allocations.size(), kNever);
  for (uint64_t at = 0; at < order_.size(); ++at) place_[order_[at]] = at;
}

HtmlPieceTags LaneWriter::TagsOf(const TraceEntry& entry, bool expandable) {
  const Segment* segment = segments_.Find(entry.addr);
  snapshot::PoolId pool = entry.pool;
  if (pool == snapshot::kNoId && segment != nullptr) pool = segment->pool;
  return {shared_.tables.Pool(pool), shared_.tables.Stream(StreamOf(entry)),
          shared_.stacks.NumberOf(entry.stack), expandable ? uint64_t{2} : uint64_t{1}};
}

HtmlPieceTags LaneWriter::TagsOf(const Segment& segment) {
  const uint64_t type = segment.expandable ? 2 : segment.type == words::kSmall ? 0 : 1;
  return {shared_.tables.Pool(segment.pool), shared_.tables.Stream(segment.stream),
          shared_.stacks.NumberOf(segment.stack), type};
}

void LaneWriter::FollowSegments() {
  HtmlPieces pieces;
  for (uint32_t event = 0; event < history_.rows.size(); ++event) {
    const TraceEntry& entry = Entry(event);
    const bool expandable =
        entry.action == words::kSegmentMap || entry.action == words::kSegmentUnmap;
    const bool held = entry.action == words::kSegmentAlloc || entry.action == words::kSegmentMap;
    if (held) pieces.Hold(entry.addr, entry.size, number_[event], TagsOf(entry, expandable));
    if (entry.action == words::kSegmentFree || entry.action == words::kSegmentUnmap) {
      pieces.Release(entry.addr, entry.size, number_[event], TagsOf(entry, expandable));
    }
  }
  for (const Segment* segment : segments_.segments()) {
    pieces.HeldAtEnd(segment->address, segment->total_size, TagsOf(*segment));
  }
  pieces_ = pieces.Take();
}

// Addresses are multiples of 512 in most files: what all have in common need not be stored.
void LaneWriter::FindAddressUnit() {
  uint64_t lowest = ~uint64_t{0};
  for (const uint32_t i : order_) lowest = std::min(lowest, history_.allocations[i].address);
  for (const HtmlPiece& piece : pieces_) lowest = std::min(lowest, piece.address);
  base_ = order_.empty() && pieces_.empty() ? 0 : lowest;
  uint64_t bits = uint64_t{1} << 12;
  for (const uint32_t i : order_) bits |= history_.allocations[i].address - base_;
  for (const HtmlPiece& piece : pieces_) bits |= piece.address - base_;
  while (((bits >> unit_shift_) & 1) == 0) ++unit_shift_;
}

void LaneWriter::WriteEvents(JsonWriter& json) {
  shared_.columns.Delta("event_time", times_, json);
  shared_.columns.Plain("event_kind", kinds_, json);
}

uint64_t LaneWriter::StreamOf(const Allocation& allocation) {
  for (const uint32_t event : {allocation.alloc, allocation.freed, allocation.gone}) {
    if (event != kNever) return shared_.tables.Stream(StreamOf(Entry(event)));
  }
  const Segment* segment = segments_.Find(allocation.address);
  return shared_.tables.Stream(segment == nullptr ? snapshot::Value() : segment->stream);
}

uint64_t LaneWriter::NodeOf(const Allocation& allocation) {
  if (allocation.alloc != kNever) {
    const TraceEntry& entry = Entry(allocation.alloc);
    const uint64_t node = shared_.tables.Node(snapshot_.details[entry.details].extras);
    if (node != 0) return node;
  }
  if (allocation.block == kNever) return 0;
  return shared_.tables.Node(snapshot_.blocks[allocation.block].extras);
}

void LaneWriter::WritePlaced(absl::string_view prefix, const Placed& placed, JsonWriter& json) {
  HtmlColumns& columns = shared_.columns;
  const auto name = [&](absl::string_view what) { return std::string(prefix) + std::string(what); };
  columns.Delta(name("_start"), placed.start, json);
  columns.Plain(name("_end"), placed.end, json);
  columns.Delta(name("_address"), placed.address, json);
  columns.Plain(name("_size"), placed.size, json);
  columns.Plain(name("_stack"), placed.stack, json);
  columns.Plain(name("_pool"), placed.pool, json);
  columns.Plain(name("_stream"), placed.stream, json);
}

void LaneWriter::WriteAllocations(JsonWriter& json) {
  Placed placed;
  std::vector<uint64_t> requested, context, metadata, node;
  for (const uint32_t i : order_) {
    const Allocation& a = history_.allocations[i];
    const int64_t start = a.born == kNever ? -1 : number_[a.born];
    const uint32_t ender = a.gone == kNever ? kNever : history_.allocation[a.gone];
    const bool assumed = ender != kNever && ender != i;
    const int64_t end = a.gone == kNever ? start : number_[a.gone] - (assumed ? 1 : 0);
    const bool asked = a.freed != kNever && a.freed != a.gone;
    placed.start.push_back(static_cast<uint64_t>(start + 1));
    placed.end.push_back(static_cast<uint64_t>(end - start));
    placed.address.push_back(Place(a.address));
    placed.size.push_back(a.size);
    placed.stack.push_back(shared_.stacks.NumberOf(a.stack));
    placed.pool.push_back(shared_.tables.Pool(a.pool));
    placed.stream.push_back(StreamOf(a));
    requested.push_back(asked ? static_cast<uint64_t>(number_[a.freed] - start) : 0);
    const bool said = a.compile_context != words::kNotAvailable;
    context.push_back(said ? shared_.texts.NumberOf(snapshot_.Text(a.compile_context)) : 0);
    metadata.push_back(shared_.texts.NumberOf(snapshot_.Text(a.user_metadata)));
    node.push_back(NodeOf(a));
  }
  WritePlaced("allocation", placed, json);
  shared_.columns.Plain("allocation_requested", requested, json);
  shared_.columns.Plain("allocation_context", context, json);
  shared_.columns.Plain("allocation_metadata", metadata, json);
  shared_.columns.Plain("allocation_node", node, json);
}

void LaneWriter::WritePieces(JsonWriter& json) {
  Placed placed;
  std::vector<uint64_t> type;
  for (const HtmlPiece& piece : pieces_) {
    placed.start.push_back(static_cast<uint64_t>(piece.start + 1));
    placed.end.push_back(
        piece.end == HtmlPiece::kNever ? 0 : static_cast<uint64_t>(piece.end - piece.start));
    placed.address.push_back(Place(piece.address));
    placed.size.push_back(piece.size);
    placed.stack.push_back(piece.tags.stack);
    placed.pool.push_back(piece.tags.pool);
    placed.stream.push_back(piece.tags.stream);
    type.push_back(piece.tags.type);
  }
  WritePlaced("piece", placed, json);
  shared_.columns.Plain("piece_type", type, json);
}

// What is neither about an allocation nor about a segment: failures, snapshots, unknown actions.
void LaneWriter::WriteMarkers(JsonWriter& json) {
  json.Key("markers").BeginArray();
  for (uint32_t event = 0; event < history_.rows.size(); ++event) {
    const TraceEntry& entry = Entry(event);
    if (KindOf(entry.action) < kSnapshotMark) continue;
    const bool failed = entry.action == words::kOom;
    json.BeginObject().Key("event").Integer(number_[event]);
    json.Key("kind").String(snapshot_.Text(entry.action));
    json.Key("size").Unsigned(entry.size).Key("free");
    failed ? json.Unsigned(entry.addr) : json.Null();
    json.Key("text").String(snapshot_.Text(entry.user_metadata));
    json.Key("stack").Unsigned(shared_.stacks.NumberOf(entry.stack)).EndObject();
  }
  json.EndArray();
}

// Pairs of an allocation and its notes.
void LaneWriter::WriteNotes(JsonWriter& json) {
  std::map<uint64_t, std::vector<uint32_t>> events;  // sorted: the same file, the same page
  for (const snapshot::Note& note : history_.notes) {
    if (note.allocation == kNever || place_[note.allocation] == kNever) continue;
    events[place_[note.allocation]].push_back(note.event);
  }
  json.Key("notes").BeginArray();
  for (const auto& [place, of_allocation] : events) {
    json.BeginArray().Unsigned(place).BeginArray();
    for (const uint32_t event : of_allocation) {
      json.String(snapshot_.Text(Entry(event).user_metadata));
    }
    json.EndArray().EndArray();
  }
  json.EndArray();
}

void LaneWriter::Write(const std::string& name, JsonWriter& json) {
  NumberEvents();
  SortAllocations();
  FollowSegments();
  FindAddressUnit();
  json.BeginObject().Key("name").String(name).Key("device").Integer(history_.device);
  json.Key("address_base").String(std::to_string(base_));
  json.Key("address_unit").Unsigned(uint64_t{1} << unit_shift_);
  json.Key("time_base").Integer(first_time_);
  WriteMarkers(json);
  WriteNotes(json);
  WriteHtmlRanges(snapshot_, history_.device, first_time_, json);
  json.Key("columns").BeginObject();
  WriteEvents(json);
  WriteAllocations(json);
  WritePieces(json);
  json.EndObject().EndObject();
}

}  // namespace

void WriteHtmlLane(const HtmlShared& shared, const Side& side, const DeviceHistory& history,
                   const std::string& name, JsonWriter& json) {
  LaneWriter(shared, side, history).Write(name, json);
}

}  // namespace graphtree::memory
