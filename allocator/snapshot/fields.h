// VisitFields: shows a row as the dictionary that it was in the file, key by key in the row's own
// order.
//
//   VisitFields(snapshot, block, [&](StringId key, const Field& field) { ... });
//
// The shape says which keys there were. A value is in the extras where it did not fit its column,
// else in the column. Every writer goes through here, so all of them write the same dictionaries.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_FIELDS_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_FIELDS_H_

#include <cstdint>
#include <optional>

#include "allocator/snapshot/snapshot.h"
#include "allocator/snapshot/value.h"
#include "allocator/snapshot/words.h"

namespace graphtree::snapshot {

struct Field {
  enum Kind { kUnsigned, kSigned, kBool, kString, kPool, kStack, kBlocks, kValue };
  Kind kind;
  uint64_t number = 0;  // the number, or the id of what the kind names
  Value value;

  static Field Of(Kind kind, uint64_t number) { return {kind, number, Value()}; }
  static Field Of(Value value) { return {kValue, 0, value}; }
};

inline std::optional<Field> ColumnOf(const Frame& frame, StringId key) {
  switch (key) {
    case words::kName: return Field::Of(Field::kString, frame.name);
    case words::kFilename: return Field::Of(Field::kString, frame.filename);
    case words::kLine: return Field::Of(Field::kSigned, static_cast<uint64_t>(frame.line));
    default: return std::nullopt;
  }
}

inline std::optional<Field> ColumnOf(const Block& block, StringId key) {
  switch (key) {
    case words::kAddress: return Field::Of(Field::kUnsigned, block.address);
    case words::kSize: return Field::Of(Field::kUnsigned, block.size);
    case words::kRequestedSize: return Field::Of(Field::kUnsigned, block.requested_size);
    case words::kState: return Field::Of(Field::kString, block.state);
    case words::kFrames: return Field::Of(Field::kStack, block.stack);
    default: return std::nullopt;
  }
}

inline std::optional<Field> ColumnOf(const Segment& segment, StringId key) {
  switch (key) {
    case words::kDevice: return Field::Of(Field::kSigned, static_cast<uint64_t>(segment.device));
    case words::kAddress: return Field::Of(Field::kUnsigned, segment.address);
    case words::kTotalSize: return Field::Of(Field::kUnsigned, segment.total_size);
    case words::kAllocatedSize: return Field::Of(Field::kUnsigned, segment.allocated_size);
    case words::kActiveSize: return Field::Of(Field::kUnsigned, segment.active_size);
    case words::kRequestedSize: return Field::Of(Field::kUnsigned, segment.requested_size);
    case words::kStream: return Field::Of(segment.stream);
    case words::kSegmentType: return Field::Of(Field::kString, segment.type);
    case words::kSegmentPoolId: return Field::Of(Field::kPool, segment.pool);
    case words::kIsExpandable: return Field::Of(Field::kBool, segment.expandable ? 1 : 0);
    case words::kFrames: return Field::Of(Field::kStack, segment.stack);
    case words::kBlocks: return Field::Of(Field::kBlocks, 0);
    default: return std::nullopt;
  }
}

inline std::optional<Field> ColumnOf(const Snapshot& snapshot, const TraceEntry& entry,
                                     StringId key) {
  const EntryDetails& details = snapshot.details[entry.details];
  switch (key) {
    case words::kAction: return Field::Of(Field::kString, entry.action);
    case words::kAddr:
    case words::kDeviceFree: return Field::Of(Field::kUnsigned, entry.addr);
    case words::kSize: return Field::Of(Field::kUnsigned, entry.size);
    case words::kTimeUs: return Field::Of(Field::kSigned, static_cast<uint64_t>(entry.time_us));
    case words::kStream: return Field::Of(details.stream);
    case words::kFrames: return Field::Of(Field::kStack, entry.stack);
    case words::kCompileContext: return Field::Of(Field::kString, entry.compile_context);
    case words::kUserMetadata: return Field::Of(Field::kString, entry.user_metadata);
    case words::kInternalMetadata: return Field::Of(Field::kString, details.internal_metadata);
    case words::kPoolId: return Field::Of(Field::kPool, entry.pool);
    default: return std::nullopt;
  }
}

template <typename ColumnFor, typename Visit>
void VisitKeys(const Snapshot& snapshot, ShapeId shape, ExtrasId extras, ColumnFor column,
               Visit visit) {
  for (StringId key : snapshot.shapes[shape]) {
    if (extras != 0) {
      const std::optional<Value> extra = snapshot.extras.Get(extras, key);
      if (extra.has_value()) {
        visit(key, Field::Of(*extra));
        continue;
      }
    }
    const std::optional<Field> field = column(key);
    visit(key, field.has_value() ? *field : Field::Of(Value()));
  }
}

template <typename Row, typename Visit>
void VisitFields(const Snapshot& snapshot, const Row& row, Visit visit) {
  VisitKeys(snapshot, row.shape, row.extras, [&](StringId key) { return ColumnOf(row, key); },
            visit);
}

template <typename Visit>
void VisitFields(const Snapshot& snapshot, const TraceEntry& entry, Visit visit) {
  const EntryDetails& details = snapshot.details[entry.details];
  VisitKeys(snapshot, details.shape, details.extras,
            [&](StringId key) { return ColumnOf(snapshot, entry, key); }, visit);
}

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_FIELDS_H_
