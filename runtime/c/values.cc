// Turns values of one side into those of the other.
#include "runtime/c/values.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace graphtree::c {
namespace {

static_assert(sizeof(Value) <= sizeof(HandleTable::Slot::payload));
static_assert(alignof(Value) <= alignof(uint64_t));

// Whether a layout at this address stays inside of the bytes.
bool StaysInside(AddressRange bytes, Address address, const Layout& layout) {
  return address >= bytes.base && address <= bytes.end() &&
         layout.extent_bytes() <= bytes.end() - address;
}

absl::Status Outside(AddressRange bytes, Address address, const Layout& layout) {
  return absl::OutOfRangeError(
      absl::StrCat("a tensor of ", layout.ToString(), " at 0x", absl::Hex(address), " takes ",
                   layout.extent_bytes(), " bytes, and its storage has ", bytes.bytes,
                   " from 0x", absl::Hex(bytes.base), " on"));
}

bool ReservedIsZero(const gt_value& from, const char* what, Entry* entry) {
  if (from.reserved == 0) return true;
  entry->Fail(ReservedIsSet(absl::StrCat(what, ": gt_value"), from.reserved));
  return false;
}

// What the bytes say without a storage. False if that does not do.
bool PlainValue(const gt_value& from, const char* what, Entry* entry, Value* into) {
  if (!ReservedIsZero(from, what, entry)) return false;
  switch (from.kind) {
    case GT_NOTHING: *into = Value(); return true;
    case GT_INTEGER: *into = Value::Integer(static_cast<int64_t>(from.word)); return true;
    case GT_CONSUMED: *into = Value::Consumed(); return true;
    case GT_TENSOR: break;
    default:
      entry->Fail(absl::InvalidArgumentError(
          from.kind == GT_OPAQUE || from.kind == GT_VERSIONED_OPAQUE
              ? absl::StrCat(what, " is opaque, without an object")
              : absl::StrCat(what, " is of kind ", from.kind,
                             ", and there is none with that number")));
      return false;
  }
  const Layout* const layout = LayoutOf(from.layout);
  if (layout == nullptr) {
    entry->FailHandle(HandleOf(from.layout), kLayout, absl::StrCat("the layout of ", what));
    return false;
  }
  *into = Tensor::Foreign(from.word, layout);
  return true;
}

// The value that a storage's holder makes of the bytes.
absl::Status Over(const Value& holder, const gt_value& from, const char* what, Entry* entry,
                  Value* into) {
  if (!ReservedIsZero(from, what, entry)) return absl::OkStatus();
  if (IsOpaque(from) != holder.is_opaque() || (!IsOpaque(from) && from.kind != GT_TENSOR)) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is of kind ", from.kind, ", and its storage is ",
                     holder.is_opaque() ? "an opaque object's" : "a tensor's"));
  }
  if (holder.is_opaque()) {
    *into = holder;
    return absl::OkStatus();
  }
  const Layout* const layout = LayoutOf(from.layout);
  if (layout == nullptr) {
    entry->FailHandle(HandleOf(from.layout), kLayout, absl::StrCat("the layout of ", what));
    return absl::OkStatus();
  }
  const AddressRange bytes = holder.storage()->range();
  if (!StaysInside(bytes, from.word, *layout)) return Outside(bytes, from.word, *layout);
  *into = Tensor::Over(holder.storage(), layout, from.word);
  return absl::OkStatus();
}

// Whoever copies the value at this moment pins its slot for a few instructions, and calls nothing
// meanwhile: that is awaited.
HandleTable::Slot* TakeSlot(Handle storage) {
  HandleTable::Slot* slot = Table().Take(storage, kStorage);
  while (slot == nullptr && Table().Look(storage, kStorage) == HandleState::kGood) {
    std::this_thread::yield();
    slot = Table().Take(storage, kStorage);
  }
  return slot;
}

struct LayoutHandles {
  std::mutex mutex;
  absl::flat_hash_map<const Layout*, Handle> handles;  // guarded by mutex
};
// In memory of its own, as nothing may be taken from the heap where a static is made: without
// memory it would be under construction for ever.
LayoutHandles& AllLayouts() {
  alignas(LayoutHandles) static std::byte memory[sizeof(LayoutHandles)];
  static LayoutHandles* const all = new (memory) LayoutHandles;
  return *all;
}

}  // namespace

gt_layout HandleOfLayout(const Layout* layout) {
  LayoutHandles& all = AllLayouts();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (const auto found = all.handles.find(layout); found != all.handles.end()) {
    return AsPointer<gt_layout>(found->second);
  }
  if (!TryOwn([&] { all.handles.reserve(all.handles.size() + 1); })) return nullptr;
  HandleTable::Slot* const slot = Table().NewSlot();
  if (slot == nullptr) return nullptr;
  slot->payload[0] = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(layout));
  const Handle handle = Table().Publish(slot, kLayout);
  all.handles.emplace(layout, handle);
  return AsPointer<gt_layout>(handle);
}

void EndValue(HandleTable::Slot* slot) { std::destroy_at(ValueIn(slot)); }

bool CopyValue(const gt_value& from, const char* what, Entry* entry, Value* into) {
  if (from.storage == nullptr) return PlainValue(from, what, entry, into);
  HandleTable::Slot* const slot = Table().Pin(HandleOf(from.storage), kStorage);
  if (slot == nullptr) {
    entry->FailHandle(HandleOf(from.storage), kStorage, absl::StrCat("the storage of ", what));
    return false;
  }
  entry->Fail(Over(*ValueIn(slot), from, what, entry, into));
  if (Table().Unpin(slot)) EndSlot(slot, kStorage);
  return entry->ok();
}

bool CopyTensor(const gt_value* from, const char* what, Entry* entry, Tensor* into) {
  Value value;
  if (!entry->Has(from, what) || !CopyValue(*from, what, entry, &value)) return false;
  if (value.is_tensor()) {
    *into = Tensor::From(value);
  } else {
    entry->Fail(absl::InvalidArgumentError(
        absl::StrCat(what, " is to be a tensor, and is ", Description(value))));
  }
  return entry->ok();
}

bool TakeValue(const gt_value& from, const char* what, Entry* entry, Value* into,
               HandleTable::Slot** taken) {
  *taken = nullptr;
  if (from.storage == nullptr) return PlainValue(from, what, entry, into);
  HandleTable::Slot* const slot = TakeSlot(HandleOf(from.storage));
  if (slot == nullptr) {
    entry->FailHandle(HandleOf(from.storage), kStorage, absl::StrCat("the storage of ", what));
    return false;
  }
  Value* const holder = ValueIn(slot);
  entry->Fail(Over(*holder, from, what, entry, into));
  if (!entry->ok()) {
    Table().PutBack(slot, kStorage);
    return false;
  }
  // From here on `into` alone holds the bytes.
  std::destroy_at(holder);
  *taken = slot;
  return true;
}

void PutValueBack(HandleTable::Slot* slot, Value&& value) {
  if (slot == nullptr) return;
  new (slot->payload) Value(std::move(value));
  Table().PutBack(slot, kStorage);
}

void LoseSlot(HandleTable::Slot* slot) { Table().Free(slot); }

absl::Status GiveValue(Value&& value, KnownLayout* known, HandleTable::Slot** home,
                       gt_value* into) {
  *into = gt_value{};
  into->word = value.word();
  switch (value.kind()) {
    case ValueKind::kNothing: into->word = 0; return absl::OkStatus();
    case ValueKind::kConsumed:
      into->word = 0;
      into->kind = GT_CONSUMED;
      return absl::OkStatus();
    case ValueKind::kInteger: into->kind = GT_INTEGER; return absl::OkStatus();
    case ValueKind::kOpaque: into->kind = GT_OPAQUE; break;
    case ValueKind::kVersionedOpaque: into->kind = GT_VERSIONED_OPAQUE; break;
    case ValueKind::kTensor:
      into->kind = GT_TENSOR;
      if (known->layout != value.layout()) {
        *known = {value.layout(), HandleOfLayout(value.layout())};
        if (known->handle == nullptr) *known = {};
      }
      into->layout = known->handle;
      break;
  }
  const bool lacks_layout = into->kind == GT_TENSOR && into->layout == nullptr;
  HandleTable::Slot* slot = nullptr;
  if (value.storage() != nullptr && !lacks_layout) {
    if (home != nullptr) slot = Table().SlotOfHome(home);
    if (slot == nullptr) slot = Table().NewSlot();
  }
  if (lacks_layout || (value.storage() != nullptr && slot == nullptr)) {
    *into = gt_value{};
    return Entry::NoHandle();
  }
  if (slot == nullptr) return absl::OkStatus();
  new (slot->payload) Value(std::move(value));
  into->storage = AsPointer<gt_storage>(Table().Publish(slot, kStorage));
  return absl::OkStatus();
}

}  // namespace graphtree::c
