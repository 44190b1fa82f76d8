// Values of the C interface, and the tree's own.
//
//   gt_value   | kind | layout handle | word | storage handle |     plain bytes of the caller's
//                          |                       |
//   Value      | layout* --'      | word |    storage* -- a reference, held by the storage's slot
//
// A storage handle is one handle of a tensor's bytes, as a Tensor is in C++. Its slot holds that
// Tensor itself: no object of the heap. What a call consumes is taken out of its slot, so that
// nobody has it, and is put back if the call has not consumed it after all. What no call consumes,
// opaque values and static inputs, is copied, so that any number of calls share it.
//
// Memory of the caller's has no storage, so it costs nothing to make and nothing to release.
#ifndef GRAPHTREE_RUNTIME_C_VALUES_H_
#define GRAPHTREE_RUNTIME_C_VALUES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "graphs/layout.h"
#include "graphs/tensor.h"
#include "runtime/c/entry.h"
#include "runtime/c/graphtree.h"
#include "runtime/c/handle_table.h"

namespace graphtree::c {

// Null if it is no layout.
inline const Layout* LayoutOf(gt_layout layout) {
  const HandleTable::Slot* const slot = Table().Find(HandleOf(layout), kLayout);
  return slot == nullptr ? nullptr : reinterpret_cast<const Layout*>(slot->payload[0]);
}
// The handle of a tensor's layout; null if there is no memory. Cost: a lock and a hash, the first
// time that a caller asks: it may keep it, as layouts are for ever.
gt_layout HandleOfLayout(const Layout* layout);

inline bool IsOpaque(const gt_value& value) {
  return value.kind == GT_OPAQUE || value.kind == GT_VERSIONED_OPAQUE;
}

// The value in a storage's slot.
inline Value* ValueIn(HandleTable::Slot* slot) { return reinterpret_cast<Value*>(slot->payload); }
void EndValue(HandleTable::Slot* slot);

// Another handle of the same bytes, for as long as `into` lives. Fails in words that begin with
// `what`.
bool CopyValue(const gt_value& from, const char* what, Entry* entry, Value* into);
// The same, of a tensor.
bool CopyTensor(const gt_value* from, const char* what, Entry* entry, Tensor* into);

// Takes the value out of its slot, so that nobody has it but `into`; waits for those who copy it.
// `*slot` is null where there is none to put back into: then it is a copy of plain bytes.
bool TakeValue(const gt_value& from, const char* what, Entry* entry, Value* into,
               HandleTable::Slot** slot);
// The value goes back to its slot; a null slot is fine.
void PutValueBack(HandleTable::Slot* slot, Value&& value);
// The slot's value is gone for good.
void LoseSlot(HandleTable::Slot* slot);

// Gives the value to the caller. `known` is a layout and its handle that the caller keeps from one
// call to the next.
struct KnownLayout {
  const Layout* layout = nullptr;
  gt_layout handle = nullptr;
};
// A home of the caller's (handle_table.h) is used for the storage where it is free; it may be null.
absl::Status GiveValue(Value&& value, KnownLayout* known, HandleTable::Slot** home,
                       gt_value* into);
inline absl::Status GiveValue(Value&& value, gt_value* into) {
  KnownLayout known;
  return GiveValue(std::move(value), &known, nullptr, into);
}

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_VALUES_H_
