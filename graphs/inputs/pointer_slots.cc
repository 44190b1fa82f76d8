// Follows inputs, patches ops, and searches a recording for addresses that no launch declares.
#include "graphs/inputs/pointer_slots.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/base/check.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

Argument Repointed(const Argument& argument, Address address) {
  const AddressRange range = {address, argument.range().bytes};
  switch (argument.access()) {
    case Access::kRead: return Argument::In(range);
    case Access::kWrite: return Argument::Out(range);
    default: return Argument::InOut(range);
  }
}

bool Lists(absl::Span<const OpId> ops, OpId op) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

// Whether the argument is a slot of any input: inputs may share bytes, and each slot has its own.
bool HasSlot(const PointerOp* op, int argument) {
  if (op == nullptr) return false;
  for (const PointerSlot& slot : op->slots()) {
    if (static_cast<int>(slot.argument) == argument) return true;
  }
  return false;
}

}  // namespace

PointerOp::PointerOp(const Kernel& kernel, const LaunchShape& shape, Arguments arguments)
    : kind_(OpKind::kKernel),
      kernel_(&kernel),
      shape_(shape),
      arguments_(arguments.begin(), arguments.end()) {
  OwnLargeValues();
}

PointerOp::PointerOp(const PointerOp& other)
    : kind_(other.kind_),
      id_(other.id_),
      unpatched_(other.unpatched_),
      kernel_(other.kernel_),
      shape_(other.shape_),
      arguments_(other.arguments_),
      bytes_(other.bytes_),
      copy_(other.copy_),
      fill_(other.fill_),
      slots_(other.slots_) {
  OwnLargeValues();
}

// Copies the bytes of arguments that are larger than a word, and points the arguments there.
void PointerOp::OwnLargeValues() {
  size_t bytes = 0;
  for (const Argument& argument : arguments_) {
    if (argument.bytes() > sizeof(uint64_t)) bytes += argument.bytes();
  }
  large_values_.resize(bytes);
  uint8_t* next = large_values_.data();
  for (Argument& argument : arguments_) {
    if (argument.bytes() <= sizeof(uint64_t)) continue;
    std::memcpy(next, argument.data(), argument.bytes());
    argument = Argument::Bytes(next, argument.bytes());
    next += argument.bytes();
  }
}

void PointerOp::Follow(uint32_t input, Address address) {
  unpatched_ = true;
  for (const PointerSlot& slot : slots_) {
    if (slot.input != input) continue;
    const Address target = address + slot.offset;
    if (is_by_bytes()) {
      std::memcpy(bytes_.data() + slot.argument, &target, sizeof(target));
    } else if (kind_ == OpKind::kKernel) {
      arguments_[slot.argument] = Repointed(arguments_[slot.argument], target);
    } else if (kind_ == OpKind::kFill) {
      fill_.target = target;
    } else {
      (slot.argument == kTargetArgument ? copy_.target : copy_.source) = target;
    }
  }
}

absl::Status PointerOp::Patch(Executable& executable) {
  absl::Status status;
  switch (kind_) {
    case OpKind::kCopy: status = executable.PatchCopy(id_, copy_); break;
    case OpKind::kFill: status = executable.PatchFill(id_, fill_); break;
    case OpKind::kKernel:
      status = is_by_bytes() ? executable.PatchArgumentBytes(id_, bytes_)
                             : executable.PatchKernel(id_, *kernel_, shape_, arguments_);
      break;
    case OpKind::kHost:
    case OpKind::kEmpty:
    case OpKind::kEventRecord:
    case OpKind::kEventWait:
    case OpKind::kChildGraph:
    case OpKind::kAllocate:
    case OpKind::kFree:
    case OpKind::kConditional:
    case OpKind::kOther:
      GRAPHTREE_CHECK(false) << "an op of kind " << OpKindName(kind_) << " takes no address";
  }
  if (status.ok()) unpatched_ = false;
  return status;
}

PointerTable::PointerTable(std::vector<PointerOp> ops, absl::Span<const uint32_t> patched,
                           absl::Span<const Value> inputs, absl::Span<const Address> kept)
    : ops_(std::move(ops)), kept_(kept.size()) {
  std::vector<uint32_t> all(patched.begin(), patched.end());
  for (uint32_t i = 0; i < kept.size(); ++i) all.push_back(kFirstKept + i);
  for (uint32_t input : all) {
    PatchedInput& entry = patched_.emplace_back();
    entry.input = input;
    entry.now = input >= kFirstKept ? kept[input - kFirstKept] : inputs[input].word();
    for (uint32_t i = 0; i < ops_.size(); ++i) {
      const std::vector<PointerSlot>& slots = ops_[i].slots();
      const bool takes = std::any_of(slots.begin(), slots.end(), [input](const PointerSlot& slot) {
        return slot.input == input;
      });
      if (takes) entry.ops.push_back(i);
    }
  }
}

void PointerTable::Follow(PatchedInput& patched, Address address) {
  patched.before = patched.now;
  patched.now = address;
  for (uint32_t op : patched.ops) {
    ops_[op].Follow(patched.input, address);
    unpatched_ = true;
  }
}

absl::Status PointerTable::Patch(Executable& executable) {
  for (PointerOp& op : ops_) {
    if (op.unpatched()) GRAPHTREE_RETURN_IF_ERROR(op.Patch(executable));
  }
  unpatched_ = false;
  return absl::OkStatus();
}

void PointerTable::ForgetPatches() {
  for (PointerOp& op : ops_) op.set_unpatched();
  unpatched_ = !ops_.empty();
}

KnownOps::KnownOps(absl::Span<const PointerOp> ops) {
  for (const PointerOp& op : ops) {
    if (op.id() >= by_id_.size()) by_id_.resize(op.id() + 1, nullptr);
    by_id_[op.id()] = &op;
  }
}

std::vector<uint32_t> HiddenPointers(const std::vector<Op>& ops, absl::Span<const PointerOp> known,
                                     absl::Span<const OpId> skipped,
                                     absl::Span<const InputRange> ranges) {
  const KnownOps known_ops(known);
  std::vector<uint32_t> hidden;
  auto hide = [&hidden](uint32_t input) {
    if (std::find(hidden.begin(), hidden.end(), input) == hidden.end()) hidden.push_back(input);
  };
  for (const Op& op : ops) {
    if (Lists(skipped, op.id)) continue;
    if (IsBlind(op)) {
      for (const InputRange& range : ranges) hide(range.input);
      continue;
    }
    const PointerOp* const listed = known_ops.Find(op.id);
    const bool by_bytes = listed != nullptr && listed->is_by_bytes();
    VisitWords(op, by_bytes, [&](uint64_t word, int argument) {
      if (HasSlot(listed, argument)) return;
      for (const InputRange& range : ranges) {
        if (word >= range.range.base && word - range.range.base < range.range.bytes) {
          hide(range.input);
        }
      }
    });
  }
  return hidden;
}

}  // namespace graphtree
