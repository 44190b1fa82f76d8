// The columns that values point into: wide numbers, pairs, lists and dictionaries.
#include "allocator/snapshot/value.h"

#include <limits>
#include <utility>

#include "absl/numeric/bits.h"

namespace graphtree::snapshot {

Value ValueStore::Unsigned(uint64_t value) {
  if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return Integer(static_cast<int64_t>(value));
  }
  wide_.Push(value);
  return Value(Value::kWideUnsigned, wide_.size() - 1);
}

Value ValueStore::Double(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  wide_.Push(bits);
  return Value(Value::kDouble, wide_.size() - 1);
}

Value ValueStore::Pair(uint64_t first, uint64_t second) {
  const auto is_same = [&](uint32_t id) { return pair(id)[0] == first && pair(id)[1] == second; };
  if (last_pair_ != kNoId && is_same(last_pair_)) return Value(Value::kPair, last_pair_);
  const uint64_t hash = MixHash(MixHash(HashSeed(), first), second);
  last_pair_ = pair_index_.Find(hash, is_same);
  if (last_pair_ == kNoId) {
    last_pair_ = static_cast<uint32_t>(pair_count());
    pairs_.Push(first);
    pairs_.Push(second);
    pair_index_.Insert(hash, last_pair_);
  }
  return Value(Value::kPair, last_pair_);
}

Value ValueStore::Sequence(Object::Kind kind, const Value* items, size_t count) {
  lists_.emplace_back(items, items + count);
  item_bytes_ += count * sizeof(Value);
  return NewObject(kind, static_cast<uint32_t>(lists_.size() - 1));
}

Value ValueStore::Dict(std::vector<DictItem> items) {
  item_bytes_ += items.size() * sizeof(DictItem);
  dicts_.push_back(std::move(items));
  return NewObject(Object::kDict, static_cast<uint32_t>(dicts_.size() - 1));
}

void ValueStore::AddItem(Object& dict, Value key, Value value) {
  if (dict.kind == Object::kNewDict) {
    dict = {Object::kDict, static_cast<uint32_t>(dicts_.size())};
    dicts_.emplace_back();
  }
  dicts_[dict.index].push_back({key, value});
  item_bytes_ += sizeof(DictItem);
}

void ValueStore::AddItems(Object& list, const Value* items, size_t count) {
  if (list.kind == Object::kNewList) {
    list = {Object::kList, static_cast<uint32_t>(lists_.size())};
    lists_.emplace_back();
  }
  lists_[list.index].insert(lists_[list.index].end(), items, items + count);
  item_bytes_ += count * sizeof(Value);
}

Value ValueStore::ObjectFor(Value bare) {
  if (bare.is(Value::kRow)) {
    const Object row = ObjectOfBareRow(bare);
    return NewObject(row.kind, row.index);
  }
  return bare.id() == 0 ? NewObject(Object::kNewList) : NewObject(Object::kUsedStack, bare.id());
}

bool ValueStore::AddRun(Value list, const Value* items, size_t count) {
  if (count == 0 || !items[0].is(Value::kRow)) return false;
  const Object first = ObjectOfBareRow(items[0]);
  for (size_t i = 1; i < count; ++i) {
    if (!(items[i] == BareRow(first.kind, static_cast<uint32_t>(first.index + i)))) return false;
  }
  Object& object = this->object(list);
  if (object.kind == Object::kNewList) {
    object = {Object::kRun, static_cast<uint32_t>(runs_.size())};
    runs_.Push({first.kind, first.index, 0});
  }
  if (object.kind != Object::kRun) return false;
  RowRun& run = runs_[object.index];
  if (run.kind != first.kind || run.first + run.count != first.index) return false;
  run.count += static_cast<uint32_t>(count);
  return true;
}

void ValueStore::ExpandRun(Value list) {
  const RowRun run = runs_[object(list).index];
  std::vector<Value> items;
  items.reserve(run.count);
  for (uint32_t i = 0; i < run.count; ++i) items.push_back(NewObject(run.kind, run.first + i));
  item_bytes_ += items.size() * sizeof(Value);
  object(list) = {Object::kList, static_cast<uint32_t>(lists_.size())};
  lists_.push_back(std::move(items));
}

const std::vector<DictItem>* ValueStore::DictItems(Value value) const {
  static const std::vector<DictItem> empty;
  if (!value.is(Value::kObject)) return nullptr;
  if (object(value).kind == Object::kNewDict) return &empty;
  return object(value).kind == Object::kDict ? &dict(object(value)) : nullptr;
}

const std::vector<Value>* ValueStore::ListItems(Value value) const {
  static const std::vector<Value> empty;
  if (!value.is(Value::kObject)) return nullptr;
  const Object::Kind kind = object(value).kind;
  if (kind == Object::kNewList) return &empty;
  return kind == Object::kList || kind == Object::kTuple ? &list(object(value)) : nullptr;
}

std::optional<Value> ValueStore::Get(Value dict, StringId key) const {
  const std::vector<DictItem>* items = DictItems(dict);
  if (items == nullptr) return std::nullopt;
  for (size_t i = items->size(); i-- > 0;) {
    if ((*items)[i].key.is_string(key)) return (*items)[i].value;
  }
  return std::nullopt;
}

double ValueStore::AsDouble(Value value) const {
  const uint64_t bits = wide_bits(value);
  double result;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

size_t ValueStore::bytes() const {
  return objects_.bytes() + wide_.bytes() + pairs_.bytes() + pair_index_.bytes() + item_bytes_ +
         runs_.bytes() + dicts_.capacity() * sizeof(dicts_[0]) +
         lists_.capacity() * sizeof(lists_[0]);
}

const char* TypeName(const ValueStore& store, Value value) {
  switch (value.tag()) {
    case Value::kNone: return "None";
    case Value::kBool: return "a bool";
    case Value::kInteger:
    case Value::kWideInteger:
    case Value::kWideUnsigned: return "an int";
    case Value::kDouble: return "a float";
    case Value::kString: return "a str";
    case Value::kBytes: return "a bytes object";
    case Value::kPair: return "a tuple";
    case Value::kFrame: return "a frame";
    case Value::kStack: return "a list of frames";
    case Value::kRow:
    case Value::kObject: break;
  }
  const Object object = value.is(Value::kRow) ? ObjectOfBareRow(value) : store.object(value);
  switch (object.kind) {
    case Object::kNewDict:
    case Object::kDict: return "a dict";
    case Object::kNewList:
    case Object::kRun:
    case Object::kList: return "a list";
    case Object::kTuple: return "a tuple";
    case Object::kBlock: return "a block";
    case Object::kEntry: return "a trace entry";
    case Object::kSegment: return "a segment";
    case Object::kStack:
    case Object::kUsedStack: return "a list of frames";
    case Object::kFrameDict: return "a frame";
  }
  return "something unknown";
}

}  // namespace graphtree::snapshot
