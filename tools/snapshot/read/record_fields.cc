// What each kind of row takes from its dictionary.
//
// The keys without which a row has no meaning must have the right type, else the dictionary is no
// row. Any other key whose value does not fit its column is kept in the extras.
#include "tools/snapshot/read/record_builder.h"

namespace graphtree::snapshot {
namespace {

constexpr int64_t kMaxTime = int64_t{1} << 58;

}  // namespace

bool RecordBuilder::Size(Value value, uint64_t& to) const {
  const std::optional<uint64_t> size = snapshot_.values.AsUnsigned(value);
  if (!size.has_value() || *size > kMaxSize) return false;
  to = *size;
  return true;
}

bool RecordBuilder::Address(Value value, uint64_t& to) const {
  const std::optional<uint64_t> address = snapshot_.values.AsUnsigned(value);
  if (!address.has_value()) return false;
  to = *address;
  return true;
}

bool RecordBuilder::Text(Value value, StringId& to) const {
  if (!value.is(Value::kString)) return false;
  to = value.id();
  return true;
}

bool RecordBuilder::Stack(Value value, StackId& to) {
  if (value.is(Value::kStack)) {
    to = value.id();
    return true;
  }
  const std::optional<StackId> stack = UseStack(value);
  if (stack.has_value()) to = *stack;
  return stack.has_value();
}

bool RecordBuilder::IsInteger(Value value) const {
  return value.is(Value::kInteger) || value.is(Value::kWideInteger) ||
         value.is(Value::kWideUnsigned);
}

bool RecordBuilder::Pool(Value value, PoolId& to) {
  if (value.is(Value::kPair)) {
    to = value.id();
    return true;
  }
  const std::vector<Value>* items = snapshot_.values.ListItems(value);  // JSON has no tuples
  if (items == nullptr || items->size() != 2) return false;
  const std::optional<uint64_t> first = snapshot_.values.AsUnsigned((*items)[0]);
  const std::optional<uint64_t> second = snapshot_.values.AsUnsigned((*items)[1]);
  if (!first.has_value() || !second.has_value()) return false;
  to = snapshot_.values.Pair(*first, *second).id();
  return true;
}

bool RecordBuilder::FillFrame(ShapeId shape, const Value* items, size_t pairs, FrameId& id) {
  Frame frame;
  frame.shape = shape;
  bool ok = true;
  for (size_t i = 0; i < 2 * pairs; i += 2) {
    const Value value = items[i + 1];
    switch (items[i].id()) {
      case words::kName: ok &= Text(value, frame.name); break;
      case words::kFilename: ok &= Text(value, frame.filename); break;
      case words::kLine: {
        const std::optional<int64_t> line = snapshot_.values.AsInteger(value);
        ok &= line.has_value();
        frame.line = line.value_or(0);
        break;
      }
      default: AddExtra(items[i], value);
    }
  }
  if (!ok) return false;
  frame.extras = TakeExtras();
  id = snapshot_.frames.Intern(frame);
  return true;
}

bool RecordBuilder::FillBlock(ShapeId shape, const Value* items, size_t pairs) {
  Block block;
  block.shape = shape;
  bool ok = true;
  for (size_t i = 0; i < 2 * pairs; i += 2) {
    const Value value = items[i + 1];
    switch (items[i].id()) {
      case words::kAddress: ok &= Address(value, block.address); break;
      case words::kSize: ok &= Size(value, block.size); break;
      case words::kRequestedSize: ok &= Size(value, block.requested_size); break;
      case words::kState: ok &= Text(value, block.state); break;
      case words::kFrames:
        if (!Stack(value, block.stack)) AddExtra(items[i], value);
        break;
      default: AddExtra(items[i], value);
    }
  }
  if (!ok) return false;
  block.extras = TakeExtras();
  snapshot_.blocks.Push(block);
  return true;
}

bool RecordBuilder::FillEntry(ShapeId shape, const Value* items, size_t pairs) {
  TraceEntry entry;
  EntryDetails details;
  details.shape = shape;
  details.stream = Value(Value::kInteger, 0);
  bool ok = true;
  bool has_place = false;
  for (size_t i = 0; i < 2 * pairs; i += 2) {
    const Value value = items[i + 1];
    bool fits = true;
    switch (items[i].id()) {
      case words::kAction: ok &= Text(value, entry.action); break;
      case words::kAddr:
      case words::kDeviceFree:  // one column: no entry has both
        fits = !has_place;
        if (fits) ok &= Address(value, entry.addr);
        has_place = true;
        break;
      case words::kSize: ok &= Size(value, entry.size); break;
      case words::kTimeUs: {
        const std::optional<int64_t> time = snapshot_.values.AsInteger(value);
        ok &= time.has_value() && *time >= 0 && *time <= kMaxTime;
        entry.time_us = time.value_or(0);
        break;
      }
      case words::kStream:
        fits = IsInteger(value);
        if (fits) details.stream = value;
        break;
      case words::kFrames: fits = Stack(value, entry.stack); break;
      case words::kCompileContext: fits = Text(value, entry.compile_context); break;
      case words::kUserMetadata: fits = Text(value, entry.user_metadata); break;
      case words::kInternalMetadata: fits = Text(value, details.internal_metadata); break;
      case words::kPoolId: fits = Pool(value, entry.pool); break;
      default: fits = false;
    }
    if (!fits) AddExtra(items[i], value);
  }
  if (!ok) return false;
  details.extras = TakeExtras();
  entry.details = snapshot_.details.Intern(details);
  snapshot_.entries.Push(entry);
  return true;
}

bool RecordBuilder::FillSegment(ShapeId shape, const Value* items, size_t pairs) {
  Segment segment;
  segment.shape = shape;
  segment.stream = Value(Value::kInteger, 0);
  Value blocks;
  bool ok = true;
  for (size_t i = 0; i < 2 * pairs; i += 2) {
    const Value value = items[i + 1];
    bool fits = true;
    switch (items[i].id()) {
      case words::kDevice: {
        const std::optional<int64_t> device = snapshot_.values.AsInteger(value);
        ok &= device.has_value();
        segment.device = device.value_or(0);
        break;
      }
      case words::kAddress: ok &= Address(value, segment.address); break;
      case words::kTotalSize: ok &= Size(value, segment.total_size); break;
      case words::kAllocatedSize: ok &= Size(value, segment.allocated_size); break;
      case words::kActiveSize: ok &= Size(value, segment.active_size); break;
      case words::kRequestedSize: ok &= Size(value, segment.requested_size); break;
      case words::kStream:
        fits = IsInteger(value);
        if (fits) segment.stream = value;
        break;
      case words::kSegmentType: fits = Text(value, segment.type); break;
      case words::kSegmentPoolId: fits = Pool(value, segment.pool); break;
      case words::kIsExpandable:
        fits = value.is(Value::kBool);
        if (fits) segment.expandable = value.payload() != 0;
        break;
      case words::kFrames: fits = Stack(value, segment.stack); break;
      case words::kBlocks: blocks = value; break;
      default: fits = false;
    }
    if (!fits) AddExtra(items[i], value);
  }
  if (!ok || !blocks.is(Value::kObject)) return false;
  segment.extras = TakeExtras();
  AddSegment(segment, blocks);
  return true;
}

}  // namespace graphtree::snapshot
