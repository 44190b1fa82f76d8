// TreeWriter: walks a snapshot in the order of its file and tells a format what to write.
//
// A format is a class with Begin... and End... for dictionaries, lists and tuples (and for Pairs, a
// dictionary that NeedsPairs says the format cannot write as one), with Key, with Item before each
// element of a list, and with a method for each kind of leaf (Integer, Text, Pool and so on). Where
// FrameIsShared, StackIsShared or ObjectIsShared is true, the walk does not write the thing again.
// Known parts cannot nest; for the unknown ones the walk limits depth and count, since a file may
// hold parts that contain themselves or that grow to any size by sharing.
//
// One walk, no copies of rows.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_TREE_WRITER_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_TREE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "allocator/snapshot/fields.h"
#include "allocator/snapshot/snapshot.h"

namespace graphtree::snapshot {

template <typename Format>
class TreeWriter {
 public:
  TreeWriter(const Snapshot& snapshot, Format& format) : snapshot_(snapshot), format_(format) {}

  // The whole file.
  absl::Status WriteSnapshot() {
    if (snapshot_.segments_only) {
      WriteSegments(snapshot_.gpu.segments);
      return status_;
    }
    WriteRoot();
    return status_;
  }

  // One value of an unknown part.
  absl::Status WriteOne(Value value) {
    WriteValue(value);
    return status_;
  }

  void WriteFrame(FrameId id) {
    if (format_.FrameIsShared(id)) return;
    WriteRow(snapshot_.frames[id]);
    format_.FrameDone(id);
  }

 private:
  static constexpr size_t kMaxDepth = 500;
  static constexpr uint64_t kFreeValues = uint64_t{1} << 22;
  static constexpr uint64_t kValuesPerObject = 8;

  void Refuse(absl::string_view what) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(
        absl::StrCat("the file's unknown parts ", what, ", so they cannot be written"));
  }
  void Keep(const absl::Status& status) {
    if (status_.ok()) status_ = status;
  }

  void WriteValue(Value value) {
    if (++values_ > kFreeValues + kValuesPerObject * snapshot_.values.object_count()) {
      return Refuse("share their way to more than can be written");
    }
    switch (value.tag()) {
      case Value::kNone: format_.None(); break;
      case Value::kBool: format_.Bool(value.payload() != 0); break;
      case Value::kInteger:
      case Value::kWideInteger: format_.Integer(*snapshot_.values.AsInteger(value)); break;
      case Value::kWideUnsigned: format_.Unsigned(snapshot_.values.wide_bits(value)); break;
      case Value::kDouble: format_.Double(snapshot_.values.AsDouble(value)); break;
      case Value::kString: format_.Text(value.id()); break;
      case Value::kBytes: Keep(format_.Bytes(value.id())); break;
      case Value::kPair: format_.Pool(value.id()); break;
      case Value::kFrame: WriteFrame(value.id()); break;
      case Value::kObject: WriteObject(value, snapshot_.values.object(value)); break;
      case Value::kStack: WriteStack(value.id()); break;
      case Value::kRow: WriteObject(value, ObjectOfBareRow(value)); break;
    }
  }

  // A tuple is written like any other value, where the format has a place for it.
  void WriteKey(Value key) {
    Keep(format_.Key(key));
    if (status_.ok() && key.is(Value::kObject)) WriteValue(key);
  }

  template <typename WriteItem>
  void WritePairs(const std::vector<DictItem>& items, const WriteItem& write) {
    format_.BeginPairs();
    for (const DictItem& item : items) {
      if (!status_.ok()) return;
      format_.Item();
      format_.BeginList(2);
      format_.Item();
      WriteValue(item.key);
      format_.Item();
      write(item);
      format_.EndList();
    }
    format_.EndPairs();
  }

  void WriteRoot() {
    const auto write = [this](const DictItem& item) { WriteRootValue(item); };
    if (format_.NeedsPairs(snapshot_.root)) return WritePairs(snapshot_.root, write);
    format_.BeginDict(snapshot_.root.size());
    for (const DictItem& item : snapshot_.root) {
      WriteKey(item.key);
      write(item);
    }
    format_.EndDict();
  }

  void WriteRootValue(const DictItem& item) {
    const bool is_last = IsLast(item);
    if (item.key.is_string(words::kSegments) && is_last) {
      WriteSegments(snapshot_.gpu.segments);
    } else if (item.key.is_string(words::kHostSegments) && is_last) {
      WriteSegments(snapshot_.host.segments);
    } else if (item.key.is_string(words::kDeviceTraces) && is_last) {
      WriteTraces(snapshot_.gpu.traces);
    } else if (item.key.is_string(words::kHostTraces) && is_last) {
      WriteHostTraces();
    } else {
      WriteValue(item.value);
    }
  }

  // Of a key that stands twice only the last became rows.
  bool IsLast(const DictItem& item) const {
    for (size_t i = snapshot_.root.size(); i-- > 0;) {
      if (snapshot_.root[i].key == item.key) return &snapshot_.root[i] == &item;
    }
    return true;
  }

  template <typename Row>
  void WriteRow(const Row& row) {
    format_.BeginDict(1);
    VisitFields(snapshot_, row, [&](StringId key, const Field& field) {
      format_.Key(Value(Value::kString, key)).IgnoreError();
      WriteField(field);
    });
    format_.EndDict();
  }

  void WriteField(const Field& field) {
    switch (field.kind) {
      case Field::kUnsigned: return format_.Unsigned(field.number);
      case Field::kSigned: return format_.Integer(static_cast<int64_t>(field.number));
      case Field::kBool: return format_.Bool(field.number != 0);
      case Field::kString: return format_.Text(static_cast<StringId>(field.number));
      case Field::kPool: return format_.Pool(static_cast<PoolId>(field.number));
      case Field::kStack: return WriteStack(static_cast<StackId>(field.number));
      case Field::kBlocks: return WriteBlocks();
      case Field::kValue: return WriteValue(field.value);
    }
  }

  void WriteStack(StackId stack) {
    if (format_.StackIsShared(stack)) return;
    const auto frames = snapshot_.stacks[stack];
    format_.BeginList(frames.size());
    for (FrameId frame : frames) {
      format_.Item();
      WriteFrame(frame);
    }
    format_.EndList();
    format_.StackDone(stack);
  }

  void WriteBlocks() {
    const auto blocks = snapshot_.BlocksOf(*segment_);
    format_.BeginList(blocks.size());
    for (const Block& block : blocks) {
      format_.Item();
      WriteRow(block);
    }
    format_.EndList();
  }

  void WriteSegment(const Segment& segment) {
    const Segment* outer = segment_;
    segment_ = &segment;
    WriteRow(segment);
    segment_ = outer;
  }

  void WriteSegments(const std::vector<Segment>& segments) {
    format_.BeginList(segments.size());
    for (const Segment& segment : segments) {
      format_.Item();
      WriteSegment(segment);
    }
    format_.EndList();
  }

  void WriteEntries(const Trace& trace) {
    format_.BeginList(trace.entry_count);
    for (const TraceEntry& entry : snapshot_.EntriesOf(trace)) {
      format_.Item();
      WriteRow(entry);
    }
    format_.EndList();
  }

  void WriteTraces(const std::vector<Trace>& traces) {
    format_.BeginList(traces.size());
    for (const Trace& trace : traces) {
      format_.Item();
      WriteEntries(trace);
    }
    format_.EndList();
  }

  void WriteHostTraces() {
    const Trace none;
    WriteEntries(snapshot_.host.traces.empty() ? none : snapshot_.host.traces[0]);
  }

  void WriteObject(Value value, Object object) {
    if (depth_ == kMaxDepth) {
      Refuse("are nested too deep, or contain themselves");
      return format_.None();
    }
    ++depth_;
    switch (object.kind) {
      case Object::kFrameDict: WriteFrame(object.index); break;
      case Object::kStack:
      case Object::kUsedStack: WriteStack(object.index); break;
      case Object::kBlock: WriteRow(snapshot_.blocks[object.index]); break;
      case Object::kEntry: WriteRow(snapshot_.entries[object.index]); break;
      case Object::kSegment:
        values_ += SegmentAt(object.index).block_count;
        WriteSegment(SegmentAt(object.index));
        break;
      default: WriteContainer(value, object.kind);
    }
    --depth_;
  }

  void WriteContainer(Value value, Object::Kind kind) {
    if (format_.ObjectIsShared(value)) return;
    if (kind == Object::kTuple) return WriteTuple(value);
    if (kind == Object::kRun) return WriteRun(value);
    if (kind == Object::kList || kind == Object::kNewList) return WriteList(value);
    WriteDict(value);
  }

  void WriteList(Value value) {
    const std::vector<Value>& items = *snapshot_.values.ListItems(value);
    format_.BeginList(items.size());
    format_.ObjectBegun(value);
    for (Value item : items) {
      if (!status_.ok()) return;
      format_.Item();
      WriteValue(item);
    }
    format_.EndList();
  }

  // A known list of rows that an unknown part refers to as well.
  void WriteRun(Value value) {
    const RowRun run = snapshot_.values.run(snapshot_.values.object(value));
    format_.BeginList(run.count);
    format_.ObjectBegun(value);
    for (uint32_t i = 0; i < run.count && status_.ok(); ++i) {
      format_.Item();
      WriteValue(BareRow(run.kind, run.first + i));
    }
    format_.EndList();
  }

  void WriteTuple(Value value) {
    const std::vector<Value>& items = *snapshot_.values.ListItems(value);
    format_.BeginTuple(items.size());
    for (Value item : items) {
      if (!status_.ok()) return;
      format_.Item();
      WriteValue(item);
    }
    format_.EndTuple(items.size());
    format_.ObjectBegun(value);
  }

  void WriteDict(Value value) {
    const std::vector<DictItem>& items = *snapshot_.values.DictItems(value);
    if (format_.NeedsPairs(items)) {
      return WritePairs(items, [this](const DictItem& item) { WriteValue(item.value); });
    }
    format_.BeginDict(items.size());
    format_.ObjectBegun(value);
    for (const DictItem& item : items) {
      if (!status_.ok()) return;
      WriteKey(item.key);
      WriteValue(item.value);
    }
    format_.EndDict();
  }

  // Segments are numbered through both sides.
  const Segment& SegmentAt(uint32_t index) const {
    const size_t gpu = snapshot_.gpu.segments.size();
    return index < gpu ? snapshot_.gpu.segments[index] : snapshot_.host.segments[index - gpu];
  }

  const Snapshot& snapshot_;
  Format& format_;
  const Segment* segment_ = nullptr;
  size_t depth_ = 0;
  uint64_t values_ = 0;
  absl::Status status_;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_TREE_WRITER_H_
