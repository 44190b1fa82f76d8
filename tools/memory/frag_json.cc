// Classes, holes, pinned segments, pinners, and the answer to a request.
#include "tools/memory/frag_json.h"

#include "device/base/json_writer.h"
#include "tools/memory/stack_text.h"

namespace graphtree::memory {
namespace {

using snapshot::Fragments;
using snapshot::PinnedSegment;
using snapshot::Pinner;
using snapshot::PlacedSegment;
using snapshot::RequestAnswer;
using snapshot::SegmentClass;
using snapshot::Snapshot;

void WriteClass(const SegmentClass& key, JsonWriter& json) {
  json.Key("device").Integer(key.device).Key("pool").BeginArray();
  json.Unsigned(key.pool.first).Unsigned(key.pool.second).EndArray();
  json.Key("stream").Raw(key.stream).Key("small").Bool(key.small);
}

void WriteClasses(const Fragments& fragments, JsonWriter& json) {
  json.Key("classes").BeginArray();
  for (const auto& [key, sum] : fragments.classes) {
    json.BeginObject();
    WriteClass(key, json);
    json.Key("segments").Unsigned(sum.segments).Key("reserved_bytes").Unsigned(sum.reserved);
    json.Key("held_bytes").Unsigned(sum.held).Key("pending_bytes").Unsigned(sum.pending);
    json.Key("holes").Unsigned(sum.holes).Key("largest_hole_bytes").Unsigned(sum.largest_hole);
    json.Key("stranded_bytes").Unsigned(sum.stranded);
    json.Key("releasable_bytes").Unsigned(sum.releasable).EndObject();
  }
  json.EndArray().Key("holes").BeginArray();
  for (const auto& [size, sum] : fragments.holes) {
    json.BeginObject().Key("up_to").Unsigned(size).Key("count").Unsigned(sum.first);
    json.Key("bytes").Unsigned(sum.second).EndObject();
  }
  json.EndArray();
}

void WritePins(const Snapshot& snapshot, const std::vector<PlacedSegment>& layout,
               const Fragments& fragments, JsonWriter& json) {
  json.Key("pinned").BeginArray();
  for (const PinnedSegment& pinned : fragments.pinned) {
    const PlacedSegment& segment = layout[pinned.segment];
    json.BeginObject().Key("address").Unsigned(segment.address);
    json.Key("size").Unsigned(segment.size).Key("stranded_bytes").Unsigned(pinned.stranded);
    json.Key("held_bytes").Unsigned(pinned.held);
    json.Key("largest_hole_bytes").Unsigned(pinned.largest_hole).Key("pins").BeginArray();
    for (const snapshot::Piece& pin : pinned.pins) {
      json.BeginObject().Key("address").Unsigned(pin.address).Key("size").Unsigned(pin.size);
      json.Key("stack");
      WriteStack(snapshot, pin.stack, json);
      json.EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().Key("pinners").BeginArray();
  for (const Pinner& pinner : fragments.pinners) {
    json.BeginObject().Key("stack");
    WriteStack(snapshot, pinner.stack, json);
    json.Key("alone_bytes").Unsigned(pinner.alone).Key("shared_bytes").Unsigned(pinner.shared);
    json.Key("segments").Unsigned(pinner.segments).Key("blocks").Unsigned(pinner.blocks);
    json.Key("bytes").Unsigned(pinner.bytes).EndObject();
  }
  json.EndArray();
}

void WriteAnswer(const RequestAnswer& answer, JsonWriter& json) {
  json.Key("request").BeginObject();
  json.Key("device").Integer(answer.asked.device).Key("stream").String(answer.asked.stream);
  json.Key("small").Bool(answer.asked.small).Key("block_bytes").Unsigned(answer.block);
  json.Key("fits").Bool(answer.fits).Key("hole_address");
  if (answer.fits) {
    json.Unsigned(answer.hole_address).Key("hole_bytes").Unsigned(answer.hole_size);
  } else {
    json.Null().Key("hole_bytes").Null();
  }
  json.Key("new_segment_bytes").Unsigned(answer.fits ? 0 : answer.new_segment);
  json.Key("largest_hole_bytes").Unsigned(answer.largest_hole);
  json.Key("free_of_its_kind_bytes").Unsigned(answer.class_free);
  json.Key("free_bytes").Unsigned(answer.all_free);
  json.Key("holes_in_other_pools").Unsigned(answer.other_pool_holes);
  json.Key("holes_of_other_streams").Unsigned(answer.other_stream_holes);
  json.Key("holes_of_other_kinds").Unsigned(answer.other_kind_holes).EndObject();
}

}  // namespace

std::string FragJson(const Snapshot& snapshot, const std::vector<PlacedSegment>& layout,
                     const Fragments& fragments, const RequestAnswer* answer) {
  JsonWriter json;
  json.BeginObject();
  WriteClasses(fragments, json);
  WritePins(snapshot, layout, fragments, json);
  if (answer != nullptr) WriteAnswer(*answer, json);
  return json.EndObject().text();
}

}  // namespace graphtree::memory
