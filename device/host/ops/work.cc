// Freezing arguments into one block, and running what was frozen.
#include "device/host/ops/work.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace graphtree::host {
namespace {

// A parameter is aligned like the largest scalar that its size is a multiple of.
uint32_t AlignmentOf(uint32_t bytes) { return std::min<uint32_t>(bytes & -bytes, 16); }

uint32_t AlignUp(uint32_t value, uint32_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

void FillMemory(const FillParams& fill) {
  if (fill.width == 1) {
    std::memset(PointerTo<>(fill.target), static_cast<int>(fill.value), fill.count);
  } else if (fill.width == 2) {
    std::fill_n(PointerTo<uint16_t>(fill.target), fill.count, static_cast<uint16_t>(fill.value));
  } else {
    std::fill_n(PointerTo<uint32_t>(fill.target), fill.count, fill.value);
  }
}

}  // namespace

uint32_t ParameterLayout(const Kernel& kernel, std::vector<ParamSlot>* slots) {
  uint32_t end = 0;
  slots->clear();
  for (uint32_t bytes : kernel.parameter_bytes()) {
    const uint32_t offset = bytes == 0 ? end : AlignUp(end, AlignmentOf(bytes));
    slots->push_back({offset, bytes});
    end = offset + bytes;
  }
  return end;
}

void Work::Clear() {
  kernel_ = nullptr;
  opaque_ = false;
  argument_count_ = 0;
  footprint_count_ = 0;
  if (named_ != nullptr) named_.reset();
}

char* Work::Room(uint64_t bytes) {
  if (bytes > capacity_) {
    capacity_ = std::max<uint64_t>(bytes, 64);
    storage_ = std::make_unique<char[]>(capacity_);
  }
  return storage_.get();
}

void Work::SetKernel(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) {
  Clear();
  kind_ = OpKind::kKernel;
  kernel_ = &kernel;
  shape_ = shape;
  if (arguments.empty()) return;
  uint32_t value_bytes = 0;
  for (const Argument& argument : arguments) value_bytes += AlignUp(argument.bytes(), 8);
  const uint32_t count = static_cast<uint32_t>(arguments.size());
  char* room = Room(count * (sizeof(void*) + sizeof(Footprint)) + value_bytes);
  arguments_ = reinterpret_cast<const void**>(room);
  footprints_ = reinterpret_cast<Footprint*>(room + count * sizeof(void*));
  char* value = room + count * (sizeof(void*) + sizeof(Footprint));
  for (const Argument& argument : arguments) {
    std::memcpy(value, argument.data(), argument.bytes());
    const uint32_t index = argument_count_++;
    arguments_[index] = value;
    value += AlignUp(argument.bytes(), 8);
    if (argument.access() == Access::kValue || argument.range().empty()) continue;
    footprints_[footprint_count_++] = {argument.range(), argument.access(), index};
  }
}

void Work::SetRepatched(const Work& other, absl::Span<const uint8_t> bytes) {
  CopyFrom(other);
  std::vector<ParamSlot> slots;
  ParameterLayout(*kernel_, &slots);
  for (uint32_t i = 0; i < argument_count_; ++i) {
    const auto at = static_cast<const char*>(arguments_[i]) - storage_.get();
    std::memcpy(storage_.get() + at, bytes.data() + slots[i].offset, slots[i].bytes);
  }
  for (uint32_t i = 0; i < footprint_count_; ++i) {
    std::memcpy(&footprints_[i].range.base, arguments_[footprints_[i].argument], sizeof(Address));
  }
}

void Work::SetFootprints(absl::Span<const Footprint> footprints) {
  footprints_ = reinterpret_cast<Footprint*>(Room(footprints.size() * sizeof(Footprint)));
  footprint_count_ = static_cast<uint32_t>(footprints.size());
  std::copy(footprints.begin(), footprints.end(), footprints_);
}

void Work::SetCopy(const CopyParams& copy) {
  Clear();
  kind_ = OpKind::kCopy;
  copy_ = copy;
  SetFootprints({{{copy.source, copy.bytes}, Access::kRead},
                 {{copy.target, copy.bytes}, Access::kWrite}});
}

void Work::SetFrozenCopy(const CopyParams& copy) {
  Clear();
  kind_ = OpKind::kCopy;
  char* room = Room(sizeof(Footprint) + copy.bytes);
  footprints_ = reinterpret_cast<Footprint*>(room);
  footprints_[0] = {{copy.target, copy.bytes}, Access::kWrite};
  footprint_count_ = 1;
  std::memcpy(room + sizeof(Footprint), PointerTo<>(copy.source), copy.bytes);
  copy_ = {copy.target, AddressOf(room + sizeof(Footprint)), copy.bytes};
}

void Work::SetFill(const FillParams& fill) {
  Clear();
  kind_ = OpKind::kFill;
  fill_ = fill;
  SetFootprints({{{fill.target, fill.count * fill.width}, Access::kWrite}});
}

void Work::SetFunction(OpKind kind, std::string name, std::function<void()> function) {
  Clear();
  kind_ = kind;
  opaque_ = kind != OpKind::kHost;
  named_ = std::make_shared<const Named>(Named{std::move(name), std::move(function)});
}

void Work::SetEventRecord(std::shared_ptr<EventState> event) {
  Clear();
  kind_ = OpKind::kEventRecord;
  named_ =
      std::make_shared<const Named>(Named{OpKindName(kind_), nullptr, std::move(event)});
}

void Work::CopyFrom(const Work& other) {
  Clear();
  kind_ = other.kind_;
  opaque_ = other.opaque_;
  kernel_ = other.kernel_;
  shape_ = other.shape_;
  copy_ = other.copy_;
  fill_ = other.fill_;
  named_ = other.named_;
  if (other.argument_count_ + other.footprint_count_ == 0) return;
  const char* from = other.storage_.get();
  char* to = Room(other.capacity_);
  std::memcpy(to, from, other.capacity_);
  argument_count_ = other.argument_count_;
  footprint_count_ = other.footprint_count_;
  footprints_ = reinterpret_cast<Footprint*>(
      to + (reinterpret_cast<const char*>(other.footprints_) - from));
  if (argument_count_ == 0) return;
  arguments_ = reinterpret_cast<const void**>(to);
  for (uint32_t i = 0; i < argument_count_; ++i) {
    arguments_[i] = to + (static_cast<const char*>(other.arguments_[i]) - from);
  }
}

void Work::Run() const {
  switch (kind_) {
    case OpKind::kCopy:
      std::memmove(PointerTo<>(copy_.target), PointerTo<>(copy_.source), copy_.bytes);
      return;
    case OpKind::kFill:
      FillMemory(fill_);
      return;
    case OpKind::kKernel:
    case OpKind::kHost:
    case OpKind::kEmpty:
    case OpKind::kEventRecord:
    case OpKind::kEventWait:
    case OpKind::kChildGraph:
    case OpKind::kAllocate:
    case OpKind::kFree:
    case OpKind::kConditional:
    case OpKind::kOther:
      break;
  }
  if (kernel_ != nullptr) {
    kernel_->host()(HostCall(shape_, absl::MakeConstSpan(arguments_, argument_count_)));
  } else if (named_ != nullptr && named_->function != nullptr) {
    named_->function();
  }
}

const std::shared_ptr<EventState>& Work::event() const {
  static const auto* const none = new std::shared_ptr<EventState>();
  return named_ == nullptr ? *none : named_->event;
}

const std::string& Work::name() const {
  if (kernel_ != nullptr) return kernel_->name();
  if (named_ != nullptr) return named_->name;
  static const std::string* const kCopyName = new std::string(OpKindName(OpKind::kCopy));
  static const std::string* const kFillName = new std::string(OpKindName(OpKind::kFill));
  static const std::string* const kEmptyName = new std::string(OpKindName(OpKind::kEmpty));
  return kind_ == OpKind::kCopy ? *kCopyName : kind_ == OpKind::kFill ? *kFillName : *kEmptyName;
}

void Work::Describe(Op& op) const {
  op.kind = kind_;
  op.name = name();
  op.shape = shape_;
  op.copy = kind_ == OpKind::kCopy ? copy_ : CopyParams{};
  op.fill = kind_ == OpKind::kFill ? fill_ : FillParams{};
  op.argument_bytes.clear();
  op.parameters.clear();
  if (kernel_ == nullptr) return;
  op.argument_bytes.resize(ParameterLayout(*kernel_, &op.parameters));
  for (uint32_t i = 0; i < argument_count_; ++i) {
    const ParamSlot slot = op.parameters[i];
    std::memcpy(op.argument_bytes.data() + slot.offset, arguments_[i], slot.bytes);
  }
}

}  // namespace graphtree::host
