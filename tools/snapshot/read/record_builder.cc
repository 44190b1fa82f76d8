// Shapes and the objects they turn into; what the rows take from a dictionary is in
// record_fields.cc.
#include "tools/snapshot/read/record_builder.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace graphtree::snapshot {
namespace {

// The known words among some keys. Every word that a kind is told by is a bit.
class KeySet {
 public:
  static_assert(words::kCount <= 64);

  explicit KeySet(absl::Span<const StringId> keys) {
    for (size_t i = 0; i < keys.size(); ++i) {
      const uint64_t bit = keys[i] < words::kCount ? uint64_t{1} << keys[i] : 0;
      twice_ |= (bits_ & bit) != 0;
      // Words of the file's own are few in a row.
      if (bit == 0) twice_ |= absl::c_linear_search(keys.subspan(i + 1), keys[i]);
      bits_ |= bit;
    }
  }
  bool twice() const { return twice_; }
  bool Has(std::initializer_list<StringId> words) const {
    uint64_t wanted = 0;
    for (StringId word : words) wanted |= uint64_t{1} << word;
    return (bits_ & wanted) == wanted;
  }

 private:
  uint64_t bits_ = 0;
  bool twice_ = false;
};

}  // namespace

std::optional<ShapeId> RecordBuilder::FindShape(const Value* items, size_t pairs) {
  if (pairs == 0 || pairs > kMaxKeys) return std::nullopt;
  ShapeId& last = last_shape_[pairs];
  const absl::Span<const StringId> guess = snapshot_.shapes[last];
  if (guess.size() == pairs) {
    uint64_t differ = 0;
    for (size_t i = 0; i < pairs; ++i) {
      differ |= items[2 * i].bits() ^ Value(Value::kString, guess[i]).bits();
    }
    if (differ == 0) return last;
  }
  ids_.Truncate(0);
  for (size_t i = 0; i < pairs; ++i) {
    if (!items[2 * i].is(Value::kString)) return std::nullopt;
    ids_.Push(items[2 * i].id());
  }
  last = snapshot_.shapes.Intern(ids_.span());
  return last;
}

RecordBuilder::Kind RecordBuilder::KindOfShape(ShapeId shape) {
  while (__builtin_expect(kinds_.size() <= shape, false)) {
    const KeySet keys(snapshot_.shapes[kinds_.size()]);
    Kind kind = Kind::kOther;
    if (keys.twice()) {
      kind = Kind::kOther;
    } else if (keys.Has({words::kAction})) {
      kind = Kind::kEntry;
    } else if (keys.Has({words::kBlocks, words::kTotalSize})) {
      kind = Kind::kSegment;
    } else if (keys.Has({words::kState, words::kSize})) {
      kind = Kind::kBlock;
    } else if (keys.Has({words::kName, words::kFilename, words::kLine})) {
      kind = Kind::kFrame;
    }
    kinds_.push_back(kind);
  }
  return kinds_[shape];
}

std::optional<Value> RecordBuilder::Record(const Value* items, size_t pairs) {
  const std::optional<ShapeId> shape = FindShape(items, pairs);
  if (!shape.has_value()) return std::nullopt;
  extras_.Truncate(0);
  const auto last_of = [](const auto& rows) { return static_cast<uint32_t>(rows.size() - 1); };
  switch (KindOfShape(*shape)) {
    case Kind::kFrame: {
      FrameId frame = 0;
      if (!FillFrame(*shape, items, pairs, frame)) return std::nullopt;
      return Value(Value::kFrame, frame);
    }
    case Kind::kEntry:
      if (!FillEntry(*shape, items, pairs)) return std::nullopt;
      return BareRow(Object::kEntry, last_of(snapshot_.entries));
    case Kind::kBlock:
      if (!FillBlock(*shape, items, pairs)) return std::nullopt;
      return BareRow(Object::kBlock, last_of(snapshot_.blocks));
    case Kind::kSegment:
      if (!FillSegment(*shape, items, pairs)) return std::nullopt;
      return BareRow(Object::kSegment, last_of(segments_));
    case Kind::kOther: return std::nullopt;
  }
  return std::nullopt;
}

Value RecordBuilder::FillDict(Value dict, const Value* items, size_t pairs) {
  const std::optional<Value> record = Record(items, pairs);
  Object& object = snapshot_.values.object(dict);
  if (!record.has_value()) {
    for (size_t i = 0; i < pairs; ++i) {
      snapshot_.values.AddItem(object, items[2 * i], items[2 * i + 1]);
    }
    return dict;
  }
  if (record->is(Value::kFrame)) {
    object = {Object::kFrameDict, record->id()};
    return *record;
  }
  object = ObjectOfBareRow(*record);
  return dict;
}

bool RecordBuilder::FillList(Value list, const Value* items, size_t count) {
  if (snapshot_.values.AddRun(list, items, count)) return true;
  if (snapshot_.values.object(list).kind == Object::kRun) snapshot_.values.ExpandRun(list);
  if (std::any_of(items, items + count, [](Value item) { return item.is(Value::kRow); })) {
    GrowingArray<Value> settled;
    for (size_t i = 0; i < count; ++i) settled.Push(snapshot_.values.Settled(items[i]));
    return FillList(list, settled.data(), count);
  }
  Object& object = snapshot_.values.object(list);
  if (object.kind == Object::kNewList && count < kPickleBatch &&
      std::all_of(items, items + count, [](Value item) { return item.is(Value::kFrame); })) {
    ids_.Truncate(0);
    for (size_t i = 0; i < count; ++i) ids_.Push(items[i].id());
    object = {Object::kStack, snapshot_.stacks.Intern(ids_.span())};
    return true;
  }
  if (object.kind == Object::kStack) {
    GrowingArray<Value> frames;
    for (FrameId frame : snapshot_.stacks[object.index]) frames.Push(Value(Value::kFrame, frame));
    object = {Object::kNewList, 0};
    snapshot_.values.AddItems(object, frames.data(), frames.size());
  }
  if (object.kind != Object::kNewList && object.kind != Object::kList) return false;
  snapshot_.values.AddItems(object, items, count);
  return true;
}

std::optional<uint32_t> RecordBuilder::UseRow(Value value, Object::Kind kind) {
  if (!value.is(Value::kObject)) return std::nullopt;
  const Object object = snapshot_.values.object(value);
  if (object.kind == kind) return object.index;
  const std::vector<DictItem>* items = snapshot_.values.DictItems(value);
  if (items == nullptr || items->empty() || items->size() > kMaxKeys) return std::nullopt;
  GrowingArray<Value> flat;
  for (const DictItem& item : *items) {
    flat.Push(item.key);
    flat.Push(item.value);
  }
  // This may happen in the middle of another dictionary (a frame of its stack): its extras wait.
  GrowingArray<DictItem> outer;
  std::swap(outer, extras_);
  const Value retry = snapshot_.values.NewObject(Object::kNewDict);
  FillDict(retry, flat.data(), flat.size() / 2);
  std::swap(outer, extras_);
  const Object filled = snapshot_.values.object(retry);
  if (filled.kind != kind) return std::nullopt;
  snapshot_.values.object(value) = filled;
  return filled.index;
}

std::optional<FrameId> RecordBuilder::UseFrame(Value value) {
  if (value.is(Value::kFrame)) return value.id();
  return UseRow(value, Object::kFrameDict);
}

std::optional<StackId> RecordBuilder::UseStack(Value value) {
  if (value.is(Value::kStack)) return value.id();
  if (!value.is(Value::kObject)) return std::nullopt;
  const Object object = snapshot_.values.object(value);
  if (object.kind == Object::kNewList) return 0;
  if (object.kind == Object::kStack || object.kind == Object::kUsedStack) {
    snapshot_.values.object(value).kind = Object::kUsedStack;
    return object.index;
  }
  if (object.kind != Object::kList) return std::nullopt;
  GrowingArray<uint32_t> frames;
  const size_t count = snapshot_.values.list(object).size();
  for (size_t i = 0; i < count; ++i) {
    // Indexed anew each time: turning a dictionary into a frame may move the lists.
    const std::optional<FrameId> frame = UseFrame(snapshot_.values.list(object)[i]);
    if (!frame.has_value()) return std::nullopt;
    frames.Push(*frame);
  }
  const StackId stack = snapshot_.stacks.Intern(frames.span());
  snapshot_.values.object(value) = {Object::kUsedStack, stack};
  return stack;
}

std::string RecordBuilder::Complaint(Value value, Object::Kind wanted) const {
  const char* what = wanted == Object::kBlock     ? "a block (with size and state)"
                     : wanted == Object::kSegment ? "a segment (with total_size and blocks)"
                                                  : "a trace entry (with action)";
  const std::vector<DictItem>* items = snapshot_.values.DictItems(value);
  if (items == nullptr) {
    return absl::StrCat("is ", TypeName(snapshot_.values, value), " where ", what, " must stand");
  }
  std::string keys;
  for (const DictItem& item : *items) {
    if (keys.size() > 200) break;
    const bool text = item.key.is(Value::kString);
    absl::StrAppend(&keys, keys.empty() ? "" : ", ",
                    text ? snapshot_.strings[item.key.id()].substr(0, 40) : "(not a text)", ": ",
                    TypeName(snapshot_.values, item.value));
  }
  return absl::StrCat("is not ", what, ": it has {", keys,
                      "}, of which a key is missing, stands twice, or has a value that is of the "
                      "wrong type or too large");
}

}  // namespace graphtree::snapshot
