// What handles stand for: objects of a class each, in the library's one table.
//
//   gt_stream --Find--> Ref<StreamObject> --> StreamObject { std::unique_ptr<Stream>, ... }
//                        ^ keeps it until the reference goes; the last one of a released object
//                          ends it
//
// A class is derived from Object and says its kind. Two kinds have no object: a storage lies in its
// slot (values.h), and a layout is for ever.
//
// Threads: any. Cost of a Ref: two atomic operations.
#ifndef GRAPHTREE_RUNTIME_C_OBJECTS_H_
#define GRAPHTREE_RUNTIME_C_OBJECTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "runtime/c/handle_table.h"
#include "runtime/c/host_memory.h"
#include "runtime/c/kinds.h"

namespace graphtree::c {

class Object {
 public:
  virtual ~Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  // Where there is no memory for one, that is an error of the call.
  static void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
    return NewHostMemory(bytes);
  }
  static void* operator new(size_t, void* memory) noexcept { return memory; }
  static void operator delete(void* memory) { FreeHostMemory(memory); }

  // Asked before the handle is retired, while the object is kept: an error, and the handle stays.
  virtual absl::Status MayEnd() { return absl::OkStatus(); }
  // The handle is retired; calls of other threads may still use the object.
  virtual void Retired() {}
  // Nobody uses the object any more.
  virtual void End() { const std::unique_ptr<Object> last(this); }

 protected:
  Object() = default;
};

// The library's handles.
extern constinit HandleTable all_handles;
inline HandleTable& Table() { return all_handles; }

// Ends what the slot has, and frees it.
void EndSlot(HandleTable::Slot* slot, Kind kind);

inline Object* ObjectIn(const HandleTable::Slot& slot) {
  return reinterpret_cast<Object*>(static_cast<uintptr_t>(slot.payload[0]));
}

template <typename Pointer>
Handle HandleOf(Pointer handle) {
  static_assert(sizeof(Pointer) == sizeof(Handle), "a handle is 64 bits, as pointers are here");
  return static_cast<Handle>(reinterpret_cast<uintptr_t>(handle));
}
template <typename Pointer>
Pointer AsPointer(Handle handle) {
  return reinterpret_cast<Pointer>(static_cast<uintptr_t>(handle));
}

template <typename T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(HandleTable::Slot* slot) : slot_(slot) {}
  Ref(Ref&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(slot_, other.slot_);
    return *this;
  }
  ~Ref() {
    if (slot_ != nullptr && Table().Unpin(slot_)) EndSlot(slot_, T::kKind);
  }

  explicit operator bool() const { return slot_ != nullptr; }
  T* get() const { return static_cast<T*>(ObjectIn(*slot_)); }
  T* operator->() const { return get(); }
  T& operator*() const { return *get(); }
  // Whether nobody else uses the object, now.
  bool is_only() const { return HandleTable::PinsOf(*slot_) == 1; }

 private:
  HandleTable::Slot* slot_ = nullptr;
};

template <typename T>
Ref<T> Find(Handle handle) {
  return Ref<T>(Table().Pin(handle, T::kKind));
}

// Null if there is no memory.
template <typename T, typename... Arguments>
std::unique_ptr<T> NewObject(Arguments&&... arguments) {
  return std::unique_ptr<T>(new (std::nothrow) T(std::forward<Arguments>(arguments)...));
}

// Gives the object a handle, which owns it. 0, and the object goes, if there is no memory for it.
template <typename T>
Handle Publish(std::unique_ptr<T> object) {
  if (object == nullptr) return 0;
  HandleTable::Slot* const slot = Table().NewSlot();
  if (slot == nullptr) return 0;
  slot->payload[0] = HandleOf(static_cast<Object*>(object.release()));
  return Table().Publish(slot, T::kKind);
}

// Retires the handle, if it is good, whatever MayEnd says.
void EndHandle(Handle handle);

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_OBJECTS_H_
