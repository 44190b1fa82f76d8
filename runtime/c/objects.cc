// The table, and how what is in it ends.
#include "runtime/c/objects.h"

#include <cstring>

#include "runtime/c/values.h"

namespace graphtree::c {
namespace {

void* NewChunk(size_t bytes) {
  void* const memory = NewHostMemory(bytes);
  if (memory != nullptr) std::memset(memory, 0, bytes);
  return memory;
}

}  // namespace

constinit HandleTable all_handles(&NewChunk);

void EndSlot(HandleTable::Slot* slot, Kind kind) {
  if (kind == kStorage) {
    EndValue(slot);
  } else if (kind != kLayout) {
    ObjectIn(*slot)->End();
  }
  Table().Free(slot);
}

void EndHandle(Handle handle) {
  const Kind kind = Table().KindIfGood(handle);
  if (kind == 0 || kind == kLayout) return;
  HandleTable::Slot* const slot = Table().Pin(handle, kind);
  if (slot == nullptr) return;
  HandleTable::Slot* ends = nullptr;
  if (Table().Retire(handle, &ends) && kind != kStorage) ObjectIn(*slot)->Retired();
  if (Table().Unpin(slot)) EndSlot(slot, kind);
}

}  // namespace graphtree::c
