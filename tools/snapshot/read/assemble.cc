// The walk over the outermost dictionary, and what old files leave out.
#include "tools/snapshot/read/assemble.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/snapshot/fields.h"
#include "device/base/status_macros.h"

namespace graphtree::snapshot {
namespace {

constexpr uint64_t kMaxTotal = uint64_t{1} << 62;

absl::Status Malformed(absl::string_view where, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, " ", what));
}

// Collects the numbers of rows in the order in which the lists name them. As long as that is the
// order in which they were read, which it always is in a file of an honest writer, a count is all
// that is kept.
class RowOrder {
 public:
  absl::Status Add(uint32_t row, size_t rows, absl::string_view where, size_t at) {
    if (size_ >= rows) {
      return Malformed(absl::StrCat(where, "[", at, "]"), "stands in more than one place");
    }
    if (in_order_ && row != size_) {
      in_order_ = false;
      for (uint32_t i = 0; i < size_; ++i) order_.Push(i);
    }
    if (!in_order_) order_.Push(row);
    ++size_;
    return absl::OkStatus();
  }
  absl::Status AddRun(const RowRun& run, size_t rows, absl::string_view where) {
    if (in_order_ && run.first == size_) {
      size_ += run.count;  // rows that exist, and none of them named before
      return absl::OkStatus();
    }
    for (uint32_t i = 0; i < run.count; ++i) {
      GRAPHTREE_RETURN_IF_ERROR(Add(run.first + i, rows, where, i));
    }
    return absl::OkStatus();
  }
  size_t size() const { return size_; }
  uint32_t row(size_t i) const { return in_order_ ? static_cast<uint32_t>(i) : order_[i]; }
  // Every one of `rows` stands where it was first seen.
  bool Untouched(size_t rows) const { return in_order_ && size_ == rows; }
  // By old number, the new one; kNoId for a row that no list names.
  std::vector<uint32_t> NewNumbers(size_t rows) const {
    std::vector<uint32_t> numbers(rows, kNoId);
    for (size_t i = 0; i < size_; ++i) numbers[row(i)] = static_cast<uint32_t>(i);
    return numbers;
  }

  template <typename Row>
  void Apply(GrowingArray<Row>& rows) const {
    if (!in_order_) {
      GrowingArray<Row> sorted;
      for (uint32_t row : order_) sorted.Push(rows[row]);
      rows = std::move(sorted);
    }
    rows.Truncate(size_);
  }

 private:
  GrowingArray<uint32_t> order_;  // empty while in_order_
  size_t size_ = 0;
  bool in_order_ = true;
};

// The lists that are walked stay where they are: making a row of a dictionary adds no list.
class Assembler {
 public:
  Assembler(RecordBuilder& builder, Snapshot& snapshot) : builder_(builder), snapshot_(snapshot) {}

  absl::Status Run(Value root);

 private:
  absl::Status AddSegments(Value list, absl::string_view name, Side& side);
  absl::Status AddBlocks(Value list, const std::string& where, Segment& segment);
  absl::Status AddTraces(Value list, absl::string_view name, Side& side);
  absl::Status AddEntries(Value list, const std::string& where, int64_t device, Side& side);
  template <typename Use>
  absl::StatusOr<size_t> AddRows(Value list, const std::string& where, RowOrder& order,
                                 Object::Kind kind, Use use);
  const RowRun* RunOf(Value list, Object::Kind kind) const;
  // Rows read so far; a dictionary that becomes a row late adds one.
  size_t RowCount(Object::Kind kind) const {
    if (kind == Object::kBlock) return snapshot_.blocks.size();
    return kind == Object::kEntry ? snapshot_.entries.size() : builder_.segments().size();
  }
  absl::StatusOr<const std::vector<Value>*> List(Value value, absl::string_view where);
  absl::Status TakeRootKey(StringId key);
  void CompleteOldBlocks(Side& side);
  absl::Status CheckSizes() const;
  void SettleUnknownParts();
  template <typename Row>
  void FieldsAsItems(const Row& row, Value blocks, Value dict);

  RecordBuilder& builder_;
  Snapshot& snapshot_;
  RowOrder blocks_;
  RowOrder entries_;
  RowOrder segments_;
};

absl::StatusOr<const std::vector<Value>*> Assembler::List(Value value,
                                                          absl::string_view where) {
  if (value.is(Value::kObject) && snapshot_.values.object(value).kind == Object::kRun) {
    snapshot_.values.ExpandRun(value);  // of rows of another kind; the message names the first
  }
  const std::vector<Value>* items = snapshot_.values.ListItems(value);
  if (items == nullptr) {
    return Malformed(where, absl::StrCat("is ", TypeName(snapshot_.values, value),
                                         " where a list must stand"));
  }
  return items;
}

const RowRun* Assembler::RunOf(Value list, Object::Kind kind) const {
  if (!list.is(Value::kObject)) return nullptr;
  const Object object = snapshot_.values.object(list);
  if (object.kind != Object::kRun) return nullptr;
  const RowRun& run = snapshot_.values.run(object);
  return run.kind == kind ? &run : nullptr;
}

// Puts the rows that a list names into their order; returns how many there are.
template <typename Use>
absl::StatusOr<size_t> Assembler::AddRows(Value list, const std::string& where, RowOrder& order,
                                          Object::Kind kind, Use use) {
  const RowRun* const run = RunOf(list, kind);
  if (run != nullptr) {
    GRAPHTREE_RETURN_IF_ERROR(order.AddRun(*run, RowCount(kind), where));
    return run->count;
  }
  GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<Value>* items, List(list, where));
  for (size_t i = 0; i < items->size(); ++i) {
    const std::optional<uint32_t> row = use((*items)[i]);
    if (!row.has_value()) {
      return Malformed(absl::StrCat(where, "[", i, "]"), builder_.Complaint((*items)[i], kind));
    }
    GRAPHTREE_RETURN_IF_ERROR(order.Add(*row, RowCount(kind), where, i));
  }
  return items->size();
}

absl::Status Assembler::AddBlocks(Value list, const std::string& where, Segment& segment) {
  segment.first_block = blocks_.size();
  GRAPHTREE_ASSIGN_OR_RETURN(
      segment.block_count, AddRows(list, where, blocks_, Object::kBlock,
                                   [&](Value item) { return builder_.UseBlock(item); }));
  return absl::OkStatus();
}

absl::Status Assembler::AddSegments(Value list, absl::string_view name, Side& side) {
  const size_t first = segments_.size();
  GRAPHTREE_ASSIGN_OR_RETURN(
      const size_t count, AddRows(list, std::string(name), segments_, Object::kSegment,
                                  [&](Value item) { return builder_.UseSegment(item); }));
  for (size_t i = 0; i < count; ++i) {
    const uint32_t row = segments_.row(first + i);
    side.segments.push_back(builder_.segments()[row]);
    GRAPHTREE_RETURN_IF_ERROR(AddBlocks(builder_.BlocksOfSegment(row),
                                        absl::StrCat(name, "[", i, "].blocks"),
                                        side.segments.back()));
  }
  return absl::OkStatus();
}

absl::Status Assembler::AddEntries(Value list, const std::string& where, int64_t device,
                                   Side& side) {
  const size_t first = entries_.size();
  GRAPHTREE_ASSIGN_OR_RETURN(
      const size_t count, AddRows(list, where, entries_, Object::kEntry,
                                  [&](Value item) { return builder_.UseEntry(item); }));
  side.traces.push_back({device, first, count});
  return absl::OkStatus();
}

absl::Status Assembler::AddTraces(Value list, absl::string_view name, Side& side) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<Value>* items, List(list, name));
  for (size_t i = 0; i < items->size(); ++i) {
    GRAPHTREE_RETURN_IF_ERROR(AddEntries((*items)[i], absl::StrCat(name, "[", i, "]"),
                                         static_cast<int64_t>(i), side));
  }
  return absl::OkStatus();
}

absl::Status Assembler::TakeRootKey(StringId key) {
  // As in Python, the last one counts where a key stands twice.
  const auto item = std::find_if(snapshot_.root.rbegin(), snapshot_.root.rend(),
                                 [&](const DictItem& one) { return one.key.is_string(key); });
  if (item == snapshot_.root.rend()) return absl::OkStatus();
  const Value value = std::exchange(item->value, Value());
  const absl::string_view name = snapshot_.Text(key);
  switch (key) {
    case words::kSegments: return AddSegments(value, name, snapshot_.gpu);
    case words::kHostSegments: return AddSegments(value, name, snapshot_.host);
    case words::kDeviceTraces: return AddTraces(value, name, snapshot_.gpu);
    default: return AddEntries(value, std::string(name), kHostDevice, snapshot_.host);
  }
}

// Old writers gave blocks no address, and their stack and requested size inside a history.
void Assembler::CompleteOldBlocks(Side& side) {
  ShapeId shape = 0;  // the last one seen: nearly all blocks have the same
  bool has_address = false;
  for (const Segment& segment : side.segments) {
    uint64_t address = segment.address;
    for (size_t i = segment.first_block; i < segment.first_block + segment.block_count; ++i) {
      Block& block = snapshot_.blocks[i];
      if (block.shape != shape) {
        shape = block.shape;
        has_address = snapshot_.HasKey(shape, words::kAddress);
      }
      if (!has_address) block.address = address;
      address = block.address + block.size;
      if (block.extras == 0) continue;
      const auto history = snapshot_.extras.Get(block.extras, words::kHistory);
      if (!history.has_value()) continue;
      const std::vector<Value>* events = snapshot_.values.ListItems(*history);
      if (events == nullptr || events->empty()) continue;
      const auto frames = snapshot_.values.Get((*events)[0], words::kFrames);
      if (frames.has_value() && block.stack == 0) {
        block.stack = builder_.UseStack(*frames).value_or(0);
      }
      const auto real = snapshot_.values.Get((*events)[0], words::kRealSize);
      if (real.has_value() && !snapshot_.HasKey(block.shape, words::kRequestedSize)) {
        block.requested_size =
            std::min(snapshot_.values.AsUnsigned(*real).value_or(0), kMaxTotal);
      }
    }
  }
}

// A dictionary that looks like a row but stands under an unknown key is a dictionary after all, and
// one that stands there as well as in its list follows its row.
void Assembler::SettleUnknownParts() {
  if (blocks_.Untouched(snapshot_.blocks.size()) && entries_.Untouched(snapshot_.entries.size()) &&
      segments_.Untouched(builder_.segments().size())) {
    return;
  }
  const auto blocks = blocks_.NewNumbers(snapshot_.blocks.size());
  const auto entries = entries_.NewNumbers(snapshot_.entries.size());
  const auto segments = segments_.NewNumbers(builder_.segments().size());
  ValueStore& values = snapshot_.values;
  for (size_t i = 0, read = values.object_count(); i < read; ++i) {
    const Value value(Value::kObject, i);
    if (values.object(value).kind == Object::kRun) values.ExpandRun(value);
  }
  const size_t count = values.object_count();
  for (size_t i = 0; i < count; ++i) {
    const Value value(Value::kObject, i);
    const Object object = values.object(value);
    const auto settle = [&](const std::vector<uint32_t>& numbers, const auto& row, Value list) {
      if (numbers[object.index] == kNoId) {
        values.object(value) = {Object::kNewDict, 0};
        FieldsAsItems(row, list, value);
      } else {
        values.object(value).index = numbers[object.index];
      }
    };
    if (object.kind == Object::kBlock) settle(blocks, snapshot_.blocks[object.index], Value());
    if (object.kind == Object::kEntry) settle(entries, snapshot_.entries[object.index], Value());
    if (object.kind == Object::kSegment) {
      settle(segments, builder_.segments()[object.index], builder_.BlocksOfSegment(object.index));
    }
  }
}

template <typename Row>
void Assembler::FieldsAsItems(const Row& row, Value blocks, Value dict) {
  ValueStore& values = snapshot_.values;
  const Row copy = row;  // the columns may move while values are added
  VisitFields(snapshot_, copy, [&](StringId key, const Field& field) {
    Value value = field.value;
    const uint32_t id = static_cast<uint32_t>(field.number);
    switch (field.kind) {
      case Field::kUnsigned: value = values.Unsigned(field.number); break;
      case Field::kSigned: value = values.Integer(static_cast<int64_t>(field.number)); break;
      case Field::kBool: value = Value(Value::kBool, field.number); break;
      case Field::kString: value = Value(Value::kString, id); break;
      case Field::kPool: value = Value(Value::kPair, id); break;
      case Field::kStack: value = values.NewObject(Object::kUsedStack, id); break;
      case Field::kBlocks: value = blocks; break;
      case Field::kValue: break;
    }
    values.AddItem(values.object(dict), Value(Value::kString, key), value);
  });
}

absl::Status Assembler::CheckSizes() const {
  uint64_t total = 0;
  const auto add = [&](uint64_t size) { return (total += size) <= kMaxTotal; };
  for (const Side* side : {&snapshot_.gpu, &snapshot_.host}) {
    for (const Segment& segment : side->segments) {
      if (!add(segment.total_size) || segment.address + segment.total_size < segment.address) {
        return absl::InvalidArgumentError("the segments are larger than the address space");
      }
    }
  }
  for (const Block& block : snapshot_.blocks) {
    if (!add(block.size) || !add(block.requested_size) ||
        block.address + block.size < block.address) {
      return absl::InvalidArgumentError("the blocks are larger than the address space");
    }
  }
  for (const TraceEntry& entry : snapshot_.entries) {
    if (!add(entry.size)) {
      return absl::InvalidArgumentError("the history's sizes add up to more than 4 EiB");
    }
  }
  return absl::OkStatus();
}

absl::Status Assembler::Run(Value root) {
  const std::vector<DictItem>* items = snapshot_.values.DictItems(root);
  if (items == nullptr) {
    if (snapshot_.values.ListItems(root) == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("this is no allocator snapshot: the file holds ",
                       TypeName(snapshot_.values, root), ", not a dictionary with segments"));
    }
    snapshot_.segments_only = true;
    GRAPHTREE_RETURN_IF_ERROR(AddSegments(root, "segments", snapshot_.gpu));
  } else {
    snapshot_.root = *items;
    if (!snapshot_.Get(words::kSegments).has_value()) {
      return absl::InvalidArgumentError(
          "this is no allocator snapshot: its dictionary has no key 'segments'");
    }
    for (StringId key : {words::kSegments, words::kHostSegments, words::kDeviceTraces,
                         words::kHostTraces}) {
      GRAPHTREE_RETURN_IF_ERROR(TakeRootKey(key));
    }
  }
  SettleUnknownParts();
  blocks_.Apply(snapshot_.blocks);
  entries_.Apply(snapshot_.entries);
  CompleteOldBlocks(snapshot_.gpu);
  CompleteOldBlocks(snapshot_.host);
  return CheckSizes();
}

}  // namespace

absl::Status Assemble(Value root, RecordBuilder& builder, Snapshot& snapshot) {
  return Assembler(builder, snapshot).Run(root);
}

}  // namespace graphtree::snapshot
