// From CUPTI's records to ours.
#include "profiler/cupti/record_decoder.h"

#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "profiler/cupti/record_layout.h"

namespace graphtree::cupti {
namespace {

using activity::Activity;
using activity::ActivityKind;

// CUPTI's numbers.
absl::string_view CopyName(uint8_t kind) {
  switch (kind) {
    case 1: return "host to device";
    case 2: return "device to host";
    case 8: return "device to device";
    case 9: return "host to host";
    case 10: return "device to other device";
    default: return "copy";
  }
}

// What all kinds have.
template <typename Record>
void SetCommon(const Record& record, Activity& op) {
  op.start_ns = static_cast<int64_t>(record.start);
  op.end_ns = static_cast<int64_t>(record.end);
  op.correlation = record.correlation;
  op.graph_node = record.graph_node;
  op.graph = record.graph;
  op.device = static_cast<int32_t>(record.device);
  op.context = record.context;
  op.stream = record.stream;
}

Dim3 DimOf(const int32_t (&size)[3]) {
  return {static_cast<uint32_t>(size[0]), static_cast<uint32_t>(size[1]),
          static_cast<uint32_t>(size[2])};
}

void SetRest(const KernelRecord& record, Activity& op) {
  op.kind = ActivityKind::kKernel;
  op.grid = DimOf(record.grid);
  op.block = DimOf(record.block);
  op.static_shared = static_cast<uint32_t>(record.static_shared);
  op.dynamic_shared = static_cast<uint32_t>(record.dynamic_shared);
  op.registers = record.registers;
  op.name = record.name != nullptr ? absl::string_view(record.name) : "(no name)";
}

void SetRest(const CopyRecord& record, Activity& op) {
  op.kind = ActivityKind::kCopy;
  op.bytes = static_cast<int64_t>(record.bytes);
  op.name = CopyName(record.copy_kind);
}

void SetRest(const FillRecord& record, Activity& op) {
  op.kind = ActivityKind::kFill;
  op.bytes = static_cast<int64_t>(record.bytes);
  op.name = "fill";
}

template <typename Record>
void Decode(const uint8_t* bytes, size_t prefix, size_t length,
            activity::ActivityListener& listener, DecodeCounts& counts) {
  if (length < prefix) {
    ++counts.cut_off;
    listener.Dropped(1);
    return;
  }
  Record record;
  std::memcpy(&record, bytes, prefix);
  if (record.start == 0 || record.end == 0) {
    ++counts.unfinished;
    listener.Dropped(1);
    return;
  }
  Activity op;
  SetCommon(record, op);
  SetRest(record, op);
  ++counts.ops;
  listener.Op(op);
}

}  // namespace

void DecodeRecord(const uint8_t* record, size_t bytes, activity::ActivityListener& listener,
                  DecodeCounts& counts) {
  uint32_t kind = 0;
  if (bytes < sizeof(kind)) {
    ++counts.cut_off;
    listener.Dropped(1);
    return;
  }
  std::memcpy(&kind, record, sizeof(kind));
  if (kind == static_cast<uint32_t>(RecordKind::kKernel)) {
    Decode<KernelRecord>(record, kKernelPrefix, bytes, listener, counts);
  } else if (kind == static_cast<uint32_t>(RecordKind::kCopy)) {
    Decode<CopyRecord>(record, kCopyPrefix, bytes, listener, counts);
  } else if (kind == static_cast<uint32_t>(RecordKind::kFill)) {
    Decode<FillRecord>(record, kFillPrefix, bytes, listener, counts);
  } else {
    ++counts.of_unknown_kind;
  }
}

void DecodeBuffer(CuptiApi& api, uint8_t* buffer, size_t valid_bytes,
                  activity::ActivityListener& listener, DecodeCounts& counts) {
  uint8_t* const end = buffer + valid_bytes;
  uint8_t* record = nullptr;
  CuptiApi::Step step = api.Next(buffer, valid_bytes, &record);
  while (step == CuptiApi::Step::kRecord) {
    uint8_t* next = record;
    step = api.Next(buffer, valid_bytes, &next);
    const bool has_next = step == CuptiApi::Step::kRecord;
    if (has_next && (next <= record || next >= end)) step = CuptiApi::Step::kBroken;
    const bool goes_on = step == CuptiApi::Step::kRecord;
    DecodeRecord(record, static_cast<size_t>((goes_on ? next : end) - record), listener, counts);
    record = next;
  }
  if (step == CuptiApi::Step::kBroken) ++counts.unreadable_buffers;
}

std::string WordsOf(const DecodeCounts& counts) {
  std::vector<std::string> parts;
  const auto add = [&](uint64_t count, absl::string_view what) {
    if (count > 0) parts.push_back(absl::StrCat(count, what));
  };
  add(counts.of_unknown_kind, " records of kinds that this version does not know were skipped");
  add(counts.cut_off, " records were cut off");
  add(counts.unfinished, " ops had not ended when recording did");
  add(counts.unreadable_buffers, " buffers could not be read to their end");
  return absl::StrJoin(parts, "; ");
}

}  // namespace graphtree::cupti
