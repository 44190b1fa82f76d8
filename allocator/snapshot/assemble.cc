// The walk over the outermost dictionary, and what old files leave out.
#include "allocator/snapshot/assemble.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree::snapshot {
namespace {

constexpr uint64_t kMaxTotal = uint64_t{1} << 62;

absl::Status Malformed(absl::string_view where, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, " ", what));
}

// Collects the numbers of rows in the order in which the lists name them.
class RowOrder {
 public:
  absl::Status Add(uint32_t row, size_t rows, absl::string_view where, size_t at) {
    if (order_.size() >= rows) {
      return Malformed(absl::StrCat(where, "[", at, "]"), "stands in more than one place");
    }
    in_order_ &= row == order_.size();
    order_.Push(row);
    return absl::OkStatus();
  }
  size_t size() const { return order_.size(); }

  template <typename Row>
  void Apply(GrowingArray<Row>& rows) const {
    if (!in_order_) {
      GrowingArray<Row> sorted;
      for (uint32_t row : order_) sorted.Push(rows[row]);
      rows = std::move(sorted);
    }
    rows.Truncate(order_.size());
  }

 private:
  GrowingArray<uint32_t> order_;
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
  absl::StatusOr<const std::vector<Value>*> List(Value value, absl::string_view where) const;
  absl::Status TakeRootKey(DictItem& item);
  void CompleteOldBlocks(Side& side);
  absl::Status CheckSizes() const;

  RecordBuilder& builder_;
  Snapshot& snapshot_;
  RowOrder blocks_;
  RowOrder entries_;
  size_t segments_ = 0;
};

absl::StatusOr<const std::vector<Value>*> Assembler::List(Value value,
                                                          absl::string_view where) const {
  const std::vector<Value>* items = snapshot_.values.ListItems(value);
  if (items == nullptr) {
    return Malformed(where, absl::StrCat("is ", TypeName(snapshot_.values, value),
                                         " where a list must stand"));
  }
  return items;
}

absl::Status Assembler::AddBlocks(Value list, const std::string& where, Segment& segment) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<Value>* items, List(list, where));
  segment.first_block = blocks_.size();
  segment.block_count = items->size();
  for (size_t i = 0; i < items->size(); ++i) {
    const std::optional<uint32_t> row = builder_.UseBlock((*items)[i]);
    if (!row.has_value()) {
      return Malformed(absl::StrCat(where, "[", i, "]"),
                       builder_.Complaint((*items)[i], Object::kBlock));
    }
    GRAPHTREE_RETURN_IF_ERROR(blocks_.Add(*row, snapshot_.blocks.size(), where, i));
  }
  return absl::OkStatus();
}

absl::Status Assembler::AddSegments(Value list, absl::string_view name, Side& side) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<Value>* items, List(list, name));
  for (size_t i = 0; i < items->size(); ++i) {
    const std::string where = absl::StrCat(name, "[", i, "]");
    const std::optional<uint32_t> row = builder_.UseSegment((*items)[i]);
    if (!row.has_value()) {
      return Malformed(where, builder_.Complaint((*items)[i], Object::kSegment));
    }
    if (++segments_ > builder_.segments().size()) {
      return Malformed(where, "stands in more than one place");
    }
    side.segments.push_back(builder_.segments()[*row]);
    GRAPHTREE_RETURN_IF_ERROR(AddBlocks(builder_.BlocksOfSegment(*row),
                                        absl::StrCat(where, ".blocks"), side.segments.back()));
  }
  return absl::OkStatus();
}

absl::Status Assembler::AddEntries(Value list, const std::string& where, int64_t device,
                                   Side& side) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<Value>* items, List(list, where));
  side.traces.push_back({device, entries_.size(), items->size()});
  for (size_t i = 0; i < items->size(); ++i) {
    const std::optional<uint32_t> row = builder_.UseEntry((*items)[i]);
    if (!row.has_value()) {
      return Malformed(absl::StrCat(where, "[", i, "]"),
                       builder_.Complaint((*items)[i], Object::kEntry));
    }
    GRAPHTREE_RETURN_IF_ERROR(entries_.Add(*row, snapshot_.entries.size(), where, i));
  }
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

absl::Status Assembler::TakeRootKey(DictItem& item) {
  const Value value = item.value;
  switch (item.key.id()) {
    case words::kSegments:
      item.value = Value();
      return AddSegments(value, "segments", snapshot_.gpu);
    case words::kDeviceTraces:
      item.value = Value();
      return AddTraces(value, "device_traces", snapshot_.gpu);
    case words::kHostSegments:
      item.value = Value();
      return AddSegments(value, "host_segments", snapshot_.host);
    case words::kHostTraces:
      item.value = Value();
      return AddEntries(value, "host_traces", kHostDevice, snapshot_.host);
    default: return absl::OkStatus();
  }
}

// Old writers gave blocks no address, and their stack and requested size inside a history.
void Assembler::CompleteOldBlocks(Side& side) {
  for (const Segment& segment : side.segments) {
    uint64_t address = segment.address;
    for (size_t i = segment.first_block; i < segment.first_block + segment.block_count; ++i) {
      Block& block = snapshot_.blocks[i];
      const bool has_address = snapshot_.HasKey(block.shape, words::kAddress);
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
    for (size_t i = 0; i < snapshot_.root.size(); ++i) {
      DictItem& item = snapshot_.root[i];
      if (!item.key.is(Value::kString)) continue;
      // As in Python, the last one counts where a key stands twice.
      const auto same = [&](const DictItem& later) { return later.key == item.key; };
      if (std::any_of(snapshot_.root.begin() + i + 1, snapshot_.root.end(), same)) continue;
      GRAPHTREE_RETURN_IF_ERROR(TakeRootKey(item));
    }
  }
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
