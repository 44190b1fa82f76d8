// Fields of packets. Compiled with exceptions, which protozero's headers mention and its writer
// never throws.
#include "profiler/trace/perfetto_packets.h"

#include <protozero/pbf_writer.hpp>

#include "device/base/json_writer.h"

namespace graphtree::trace {
namespace {

using protozero::pbf_writer;

constexpr size_t kFlushBytes = 1 << 18;
constexpr uint32_t kSequence = 1;

namespace packet {
constexpr uint32_t kOfTrace = 1, kTimestamp = 8, kSequenceId = 10, kEvent = 11, kInterned = 12,
                   kSequenceFlags = 13, kTrack = 60, kFirst = 87;
constexpr uint32_t kStateCleared = 1, kNeedsState = 2;
}  // namespace packet

namespace track {
constexpr uint32_t kId = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8;
constexpr uint32_t kPid = 1, kProcessName = 6, kThreadPid = 1, kTid = 2, kThreadName = 5;
}  // namespace track

namespace event {
constexpr uint32_t kCategory = 3, kFact = 4, kType = 9, kNameId = 10, kTrack = 11, kName = 23,
                   kDouble = 44, kFlow = 47, kLastOfFlow = 48, kCorrelation = 52;
enum Type { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };
}  // namespace event

namespace fact {
constexpr uint32_t kNameId = 1, kUnsigned = 3, kSigned = 4, kJson = 9, kTextId = 17;
}

namespace interned {
constexpr uint32_t kCategory = 1, kName = 2, kFactName = 3, kText = 29;
constexpr uint32_t kId = 1, kValue = 2;
}  // namespace interned

// Interned ids count from 1.
uint64_t IdOf(TextId id) { return uint64_t{id} + 1; }

// A protobuf's texts are UTF-8.
void AddText(pbf_writer& into, uint32_t field, absl::string_view text) {
  if (IsUtf8(text)) {
    into.add_string(field, text.data(), text.size());
  } else {
    into.add_string(field, Utf8Of(text));
  }
}

void AddEntry(pbf_writer& into, uint32_t table, uint64_t id, absl::string_view text) {
  pbf_writer entry(into, table);
  entry.add_uint64(interned::kId, id);
  AddText(entry, interned::kValue, text);
}

}  // namespace

uint64_t PerfettoPackets::NumberOf(std::vector<absl::string_view>& names, absl::string_view name,
                                   bool& is_new) {
  for (size_t i = 0; i < names.size(); ++i) {
    is_new = false;
    if (names[i] == name) return i + 1;
  }
  is_new = true;
  names.push_back(name);
  return names.size();
}

bool PerfettoPackets::IsNew(std::vector<bool>& written, TextId id) {
  if (id >= written.size()) written.resize(id + 1);
  if (written[id]) return false;
  written[id] = true;
  return true;
}

void PerfettoPackets::BeginPacket() {
  packet_.clear();
  pbf_writer writer(packet_);
  writer.add_uint32(packet::kSequenceId, kSequence);
  writer.add_uint32(packet::kSequenceFlags,
                    is_first_ ? packet::kStateCleared : packet::kNeedsState);
  if (is_first_) writer.add_bool(packet::kFirst, true);
  is_first_ = false;
}

void PerfettoPackets::EndPacket() {
  pbf_writer writer(out_);
  writer.add_message(packet::kOfTrace, packet_);
  if (out_.size() >= kFlushBytes) Flush();
}

void PerfettoPackets::Flush() {
  sink_.Write(out_);
  out_.clear();
}

void PerfettoPackets::Track(const PerfettoTrack& wanted) {
  BeginPacket();
  pbf_writer writer(packet_);
  {
    pbf_writer into(writer, packet::kTrack);
    into.add_uint64(track::kId, wanted.id);
    if (wanted.parent != 0) into.add_uint64(track::kParent, wanted.parent);
    if (wanted.process == kUnknown) {
      AddText(into, track::kName, wanted.name);
    } else if (wanted.thread == kUnknown) {
      pbf_writer process(into, track::kProcess);
      process.add_int32(track::kPid, static_cast<int32_t>(wanted.process));
      AddText(process, track::kProcessName, wanted.name);
    } else {
      pbf_writer thread(into, track::kThread);
      thread.add_int32(track::kThreadPid, static_cast<int32_t>(wanted.process));
      thread.add_int64(track::kTid, wanted.thread);
      AddText(thread, track::kThreadName, wanted.name);
    }
    if (wanted.is_counter) into.add_message(track::kCounter, std::string());
  }
  EndPacket();
}

void PerfettoPackets::WriteFact(const PerfettoFact& given, std::string& event_bytes, Fresh& fresh) {
  bool is_new = false;
  const uint64_t number = NumberOf(fact_names_, given.name, is_new);
  if (is_new) fresh.facts.emplace_back(given.name, number);
  pbf_writer into(event_bytes);
  pbf_writer one(into, event::kFact);
  one.add_uint64(fact::kNameId, number);
  switch (given.kind) {
    case PerfettoFact::Kind::kUnsigned: one.add_uint64(fact::kUnsigned, given.number); break;
    case PerfettoFact::Kind::kSigned:
      one.add_int64(fact::kSigned, static_cast<int64_t>(given.number));
      break;
    case PerfettoFact::Kind::kJson: AddText(one, fact::kJson, given.json); break;
    case PerfettoFact::Kind::kText: {
      const TextId id = static_cast<TextId>(given.number);
      one.add_uint64(fact::kTextId, IdOf(id));
      if (IsNew(written_texts_, id)) fresh.texts.push_back(id);
    }
  }
}

void PerfettoPackets::WriteFresh(const PerfettoSlice& slice, const Fresh& fresh) {
  if (!fresh.name && fresh.category == 0 && fresh.facts.empty() && fresh.texts.empty()) return;
  pbf_writer writer(packet_);
  pbf_writer into(writer, packet::kInterned);
  if (fresh.category != 0) AddEntry(into, interned::kCategory, fresh.category, slice.category);
  if (fresh.name) AddEntry(into, interned::kName, IdOf(slice.name), tables_.text(slice.name));
  for (const auto& [name, number] : fresh.facts) {
    AddEntry(into, interned::kFactName, number, name);
  }
  for (TextId id : fresh.texts) AddEntry(into, interned::kText, IdOf(id), tables_.text(id));
}

void PerfettoPackets::Slice(const PerfettoSlice& slice, const std::vector<PerfettoFact>& facts) {
  BeginPacket();
  Fresh fresh;
  bool is_new = false;
  const uint64_t category = NumberOf(categories_, slice.category, is_new);
  if (is_new) fresh.category = category;
  fresh.name = IsNew(written_names_, slice.name);
  event_.clear();
  pbf_writer into(event_);
  into.add_uint64(event::kCategory, category);
  for (const PerfettoFact& given : facts) WriteFact(given, event_, fresh);
  into.add_enum(event::kType, event::kBegin);
  into.add_uint64(event::kNameId, IdOf(slice.name));
  into.add_uint64(event::kTrack, slice.track);
  if (slice.flow_from != 0) into.add_fixed64(event::kFlow, slice.flow_from);
  if (slice.flow_to != 0) into.add_fixed64(event::kLastOfFlow, slice.flow_to);
  if (slice.correlation != 0) into.add_uint64(event::kCorrelation, slice.correlation);
  pbf_writer writer(packet_);
  writer.add_uint64(packet::kTimestamp, static_cast<uint64_t>(slice.start_ns));
  writer.add_message(packet::kEvent, event_);
  WriteFresh(slice, fresh);
  EndPacket();

  BeginPacket();
  pbf_writer end(packet_);
  end.add_uint64(packet::kTimestamp, static_cast<uint64_t>(slice.start_ns + slice.duration_ns));
  {
    pbf_writer last(end, packet::kEvent);
    last.add_enum(event::kType, event::kEnd);
    last.add_uint64(event::kTrack, slice.track);
  }
  EndPacket();
}

void PerfettoPackets::Instant(uint64_t track, int64_t time_ns, TextId name) {
  Note(track, time_ns, tables_.text(name));
}

void PerfettoPackets::Note(uint64_t track, int64_t time_ns, absl::string_view text) {
  BeginPacket();
  pbf_writer writer(packet_);
  writer.add_uint64(packet::kTimestamp, static_cast<uint64_t>(time_ns));
  {
    pbf_writer into(writer, packet::kEvent);
    into.add_enum(event::kType, event::kInstant);
    into.add_uint64(event::kTrack, track);
    AddText(into, event::kName, text);
  }
  EndPacket();
}

void PerfettoPackets::Counter(uint64_t track, int64_t time_ns, double value) {
  BeginPacket();
  pbf_writer writer(packet_);
  writer.add_uint64(packet::kTimestamp, static_cast<uint64_t>(time_ns));
  {
    pbf_writer into(writer, packet::kEvent);
    into.add_enum(event::kType, event::kCounter);
    into.add_uint64(event::kTrack, track);
    into.add_double(event::kDouble, value);
  }
  EndPacket();
}

}  // namespace graphtree::trace
