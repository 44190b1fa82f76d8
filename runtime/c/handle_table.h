// Handles are numbers: a table knows which object each of them means now, so a handle that is null,
// dangling, of another kind or of another copy of the library is told from a good one, and never
// followed.
//
//   handle   | generation 32 | kind 8 | index 24 |
//                  |             |        `---> slot
//   slot     | generation 32 | kind 8 | pins 24 |  payload: 4 words     one line of the cache
//              ^ equal for as long as the object is there
//
//   free --Publish--> kind --Take--> taken --PutBack--> kind    (an object that somebody moves out
//                      |               `--Free--> free           of its slot, and may put back)
//                      |--Retire, no pins--> Free
//                      `--Retire, pins--> retired --last Unpin--> Free, by whoever unpins
//
// A pin keeps the object while a call uses it. A handle dies when it is retired: from that moment
// on nobody finds it, and its object ends with the last pin. The slot's next object has another
// generation. A slot that has had all generations is not used again.
//
// Generations begin at a number that differs between the copies of the library in one process, so a
// handle of another copy is no handle here.
//
// Whoever needs a slot again and again may have one of its own, a *home*: it does not go back to
// the others when its object ends, and its owner sees that it is free by a load. When the owner
// goes, the table has the slot back once it is free.
//
// Pure: knows no kinds, runs no destructors, throws nothing. Threads: any; no lock but where the
// table grows. Memory: 64 KiB for each 1,024 handles that live at a time, which stay. Cost: an
// atomic operation for each Pin, Unpin, Take and Retire, and one where a slot that is nobody's home
// comes or goes.
#ifndef GRAPHTREE_RUNTIME_C_HANDLE_TABLE_H_
#define GRAPHTREE_RUNTIME_C_HANDLE_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace graphtree::c {

using Handle = uint64_t;  // 0: null
using Kind = uint8_t;     // the user's, from 1 to 0xEF

enum class HandleState : uint8_t {
  kGood,
  kNull,
  kUnknown,    // no handle of this table: of another copy of the library, or no handle at all
  kDangling,   // its object is gone
  kWrongKind,  // there is such an object, of another kind
  kTaken,      // a call on another thread, or this call itself, has it now
};

class HandleTable {
 public:
  static constexpr size_t kPayloadWords = 4;
  static constexpr uint32_t kSlotsInChunk = 1024;
  static constexpr uint32_t kMostChunks = 1 << 14;

  // Memory that a table grows by: so many zeroed bytes, 64-aligned, or null. They are kept.
  using NewBytes = void* (*)(size_t bytes);

  struct alignas(64) Slot {
    std::atomic<uint64_t> state;
    std::atomic<uint32_t> next_free;
    uint32_t index;
    bool has_owner;  // it is a home; written while nobody else has the slot
    uint64_t payload[kPayloadWords];
  };

  // Without a first generation it follows from where the table lies.
  explicit constexpr HandleTable(NewBytes new_bytes, uint32_t first_generation = 0)
      : new_bytes_(new_bytes), first_generation_(first_generation) {}
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  // A slot that nobody finds yet: the payload is the caller's to write, then Publish it, or give it
  // back with Discard. Null if there is no memory, or no handle left.
  Slot* NewSlot() {
    Slot* slot = PopFree();
    return slot != nullptr ? slot : Grow();
  }
  Handle Publish(Slot* slot, Kind kind) {
    const uint64_t generation = slot->state.load(std::memory_order_relaxed) & kGenerationMask;
    const uint64_t key = generation | (uint64_t{kind} << kKindShift);
    slot->state.store(key, std::memory_order_release);
    return key | slot->index;
  }
  void Discard(Slot* slot) {
    if (!slot->has_owner) PushFree(slot);
  }

  // A home of the caller's: `*home` if that is free, or a new one if it is null. Null if it is in
  // use, and where NewSlot would be null. Not with one home on several threads.
  Slot* SlotOfHome(Slot** home) {
    if (*home == nullptr) {
      *home = NewSlot();
      if (*home != nullptr) (*home)->has_owner = true;
      return *home;
    }
    const uint64_t state = (*home)->state.load(std::memory_order_acquire);
    if ((state & (kKindMask | kPinsMask)) != 0) return nullptr;
    // It has had all generations: it rests, and another one takes its place.
    if (static_cast<uint32_t>(state >> 32) == first_generation()) *home = nullptr;
    return *home;
  }
  // The home's owner goes. Null is fine.
  void LeaveHome(Slot* home);

  // The object's slot, which keeps it until Unpin. Null if the handle is not good for this kind.
  Slot* Pin(Handle handle, Kind kind) {
    Slot* const slot = SlotOf(handle);
    if (slot == nullptr || KindOf(handle) != kind) return nullptr;
    uint64_t state = slot->state.load(std::memory_order_relaxed);
    do {
      if (((state ^ handle) >> kKindShift) != 0 || (state & kPinsMask) == kPinsMask) return nullptr;
    } while (!slot->state.compare_exchange_weak(state, state + 1, std::memory_order_acquire,
                                                std::memory_order_relaxed));
    return slot;
  }
  // True if this was the last pin of an object that was retired: the caller ends the object, and
  // then gives the slot back with Free.
  [[nodiscard]] bool Unpin(Slot* slot) {
    const uint64_t before = slot->state.fetch_sub(1, std::memory_order_acq_rel);
    return (before & (kKindMask | kPinsMask)) == ((uint64_t{kRetired} << kKindShift) | 1);
  }

  // An object that nobody uses is taken out: nobody else finds it until PutBack, and Free ends it.
  // Null if it is not there, or in use.
  Slot* Take(Handle handle, Kind kind) {
    Slot* const slot = SlotOf(handle);
    if (slot == nullptr || KindOf(handle) != kind) return nullptr;
    uint64_t expected = handle & ~kPinsMask;
    const uint64_t taken = (handle & kGenerationMask) | (uint64_t{kTakenOut} << kKindShift);
    return slot->state.compare_exchange_strong(expected, taken, std::memory_order_acquire,
                                               std::memory_order_relaxed)
               ? slot
               : nullptr;
  }
  void PutBack(Slot* slot, Kind kind) { Publish(slot, kind); }

  // From here on nobody finds the handle. False if it is not good, or is taken. `*ends` is the slot
  // if the caller is the one to end the object, and to Free the slot; null if it is in use: then
  // its last Unpin says so.
  bool Retire(Handle handle, Slot** ends);
  // The slot's next object has another generation.
  void Free(Slot* slot);

  // What a handle is. For words: the answer may have changed by the time it is read.
  HandleState Look(Handle handle, Kind kind) const;
  // The kind that a good handle has; 0 for another.
  Kind KindIfGood(Handle handle) const;
  // Whether the object is there; a read without a pin. For objects that are never retired.
  const Slot* Find(Handle handle, Kind kind) const {
    const Slot* const slot = SlotOf(handle);
    if (slot == nullptr || KindOf(handle) != kind) return nullptr;
    const uint64_t state = slot->state.load(std::memory_order_acquire);
    return ((state ^ handle) >> kKindShift) == 0 ? slot : nullptr;
  }

  static Kind KindOf(Handle handle) { return static_cast<Kind>(handle >> kKindShift); }
  // How many pins the slot's object has now.
  static uint32_t PinsOf(const Slot& slot) {
    return static_cast<uint32_t>(slot.state.load(std::memory_order_acquire) & kPinsMask);
  }
  // Calls look(handle) for each object of the kind that is there, one by one. It may be gone by
  // then, or taken.
  template <typename Look>
  void ForEachLive(Kind kind, const Look& look) const {
    for (const std::atomic<Slot*>& chunk : chunks_) {
      const Slot* const slots = chunk.load(std::memory_order_acquire);
      if (slots == nullptr) break;
      for (uint32_t i = 0; i < kSlotsInChunk; ++i) {
        const uint64_t state = slots[i].state.load(std::memory_order_acquire);
        if (KindOf(state) == kind) look((state & ~kPinsMask) | slots[i].index);
      }
    }
  }
  // Handles that are there now, but for those of one kind; counted one by one.
  size_t CountLive(Kind but = 0) const;

 private:
  static constexpr int kKindShift = 24;
  static constexpr uint64_t kPinsMask = (uint64_t{1} << kKindShift) - 1;
  static constexpr uint64_t kKindMask = uint64_t{0xFF} << kKindShift;
  static constexpr uint64_t kGenerationMask = ~(kPinsMask | kKindMask);
  static constexpr Kind kTakenOut = 0xF0;
  static constexpr Kind kRetired = 0xF1;
  static constexpr uint32_t kNone = ~uint32_t{0};

  Slot* SlotOf(Handle handle) const {
    const uint32_t index = static_cast<uint32_t>(handle & kPinsMask);
    Slot* const chunk = chunks_[index / kSlotsInChunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : chunk + index % kSlotsInChunk;
  }
  uint32_t first_generation() const {
    if (first_generation_ != 0) return first_generation_;
    return static_cast<uint32_t>((reinterpret_cast<uintptr_t>(this) >> 6) * 0x9E3779B1u) | 1;
  }
  Slot* PopFree();
  void PushFree(Slot* slot);
  // More slots; one of them, or null.
  Slot* Grow();
  // A home that was left and is free. Null if there is none. With growth_ held.
  Slot* TakeLeftHome();

  const NewBytes new_bytes_;
  const uint32_t first_generation_;
  // | changes 32 | index of the first free slot + 1, or 0 |: the count keeps a slot that came back
  // in between from being taken for one that never left.
  std::atomic<uint64_t> free_{0};
  std::mutex growth_;
  uint32_t left_homes_ = 0;   // guarded by growth_: index + 1 of the first, linked by next_free
  uint32_t chunk_count_ = 0;  // guarded by growth_
  std::atomic<Slot*> chunks_[kMostChunks] = {};
};

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_HANDLE_TABLE_H_
