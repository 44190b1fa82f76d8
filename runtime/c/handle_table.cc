// The free list, and what is not on the way of a call.
#include "runtime/c/handle_table.h"

namespace graphtree::c {

HandleTable::Slot* HandleTable::PopFree() {
  uint64_t head = free_.load(std::memory_order_acquire);
  while (true) {
    const uint32_t first = static_cast<uint32_t>(head);
    if (first == 0) return nullptr;
    Slot* const slot = SlotOf(first - 1);
    // Somebody may take the slot in between, so what is read here may be old: then the count of
    // changes differs, and the exchange fails.
    const uint64_t next = slot->next_free.load(std::memory_order_relaxed);
    const uint64_t changed = ((head >> 32) + 1) << 32;
    if (free_.compare_exchange_weak(head, changed | next, std::memory_order_acquire,
                                    std::memory_order_acquire)) {
      return slot;
    }
  }
}

void HandleTable::PushFree(Slot* slot) {
  uint64_t head = free_.load(std::memory_order_relaxed);
  do {
    slot->next_free.store(static_cast<uint32_t>(head), std::memory_order_relaxed);
  } while (!free_.compare_exchange_weak(head, (((head >> 32) + 1) << 32) | (slot->index + 1),
                                        std::memory_order_release, std::memory_order_relaxed));
}

HandleTable::Slot* HandleTable::Grow() {
  const std::lock_guard<std::mutex> lock(growth_);
  // Another thread may have grown the table meanwhile.
  if (Slot* const slot = PopFree(); slot != nullptr) return slot;
  if (Slot* const slot = TakeLeftHome(); slot != nullptr) return slot;
  if (chunk_count_ == kMostChunks) return nullptr;
  auto* const chunk = static_cast<Slot*>(new_bytes_(sizeof(Slot) * kSlotsInChunk));
  if (chunk == nullptr) return nullptr;
  const uint32_t first = chunk_count_ * kSlotsInChunk;
  for (uint32_t i = 0; i < kSlotsInChunk; ++i) {
    chunk[i].index = first + i;
    chunk[i].state.store(uint64_t{first_generation()} << 32, std::memory_order_relaxed);
  }
  chunks_[chunk_count_++].store(chunk, std::memory_order_release);
  // The first one is the caller's; the next ones are handed out first.
  for (uint32_t i = kSlotsInChunk - 1; i > 0; --i) PushFree(&chunk[i]);
  return chunk;
}

void HandleTable::LeaveHome(Slot* home) {
  if (home == nullptr) return;
  const std::lock_guard<std::mutex> lock(growth_);
  home->next_free.store(left_homes_, std::memory_order_relaxed);
  left_homes_ = home->index + 1;
}

HandleTable::Slot* HandleTable::TakeLeftHome() {
  uint32_t before = 0;
  for (uint32_t at = left_homes_; at != 0;) {
    Slot* const slot = SlotOf(at - 1);
    const uint32_t next = slot->next_free.load(std::memory_order_relaxed);
    const uint64_t state = slot->state.load(std::memory_order_acquire);
    const bool is_free = (state & (kKindMask | kPinsMask)) == 0;
    if (!is_free) {
      before = at;
      at = next;
      continue;
    }
    if (before == 0) {
      left_homes_ = next;
    } else {
      SlotOf(before - 1)->next_free.store(next, std::memory_order_relaxed);
    }
    slot->has_owner = false;
    at = next;
    if (static_cast<uint32_t>(state >> 32) != first_generation()) return slot;
  }
  return nullptr;
}

bool HandleTable::Retire(Handle handle, Slot** ends) {
  *ends = nullptr;
  Slot* const slot = SlotOf(handle);
  const Kind kind = KindOf(handle);
  if (slot == nullptr || kind == 0 || kind >= kTakenOut) return false;
  uint64_t state = slot->state.load(std::memory_order_relaxed);
  uint64_t retired = 0;
  do {
    if (((state ^ handle) >> kKindShift) != 0) return false;
    retired = (state & ~kKindMask) | (uint64_t{kRetired} << kKindShift);
  } while (!slot->state.compare_exchange_weak(state, retired, std::memory_order_acq_rel,
                                              std::memory_order_relaxed));
  if ((state & kPinsMask) == 0) *ends = slot;
  return true;
}

void HandleTable::Free(Slot* slot) {
  const uint64_t state = slot->state.load(std::memory_order_relaxed);
  const uint32_t next = static_cast<uint32_t>(state >> 32) + 1;
  // Once it is free its owner may use it, or the table may have it back.
  const bool has_owner = slot->has_owner;
  slot->state.store(uint64_t{next} << 32, std::memory_order_release);
  // Where the generations begin again an old handle would be good once more: the slot rests.
  if (!has_owner && next != first_generation()) PushFree(slot);
}

HandleState HandleTable::Look(Handle handle, Kind kind) const {
  if (handle == 0) return HandleState::kNull;
  const Kind own = KindOf(handle);
  const Slot* const slot = SlotOf(handle);
  if (slot == nullptr || own == 0 || own >= kTakenOut) return HandleState::kUnknown;
  const uint64_t state = slot->state.load(std::memory_order_acquire);
  const uint32_t generation = static_cast<uint32_t>(state >> 32);
  const uint32_t asked = static_cast<uint32_t>(handle >> 32);
  if (generation == asked) {
    const Kind now = KindOf(state);
    if (now == kTakenOut) return HandleState::kTaken;
    if (now != own) return HandleState::kDangling;
    return own == kind ? HandleState::kGood : HandleState::kWrongKind;
  }
  // A generation that the slot has had: from the first one up to the one of now.
  const bool was_here = asked - first_generation() < generation - first_generation();
  return was_here ? HandleState::kDangling : HandleState::kUnknown;
}

Kind HandleTable::KindIfGood(Handle handle) const {
  const Kind kind = KindOf(handle);
  return Look(handle, kind) == HandleState::kGood ? kind : Kind{0};
}

size_t HandleTable::CountLive(Kind but) const {
  size_t live = 0;
  for (const std::atomic<Slot*>& chunk : chunks_) {
    const Slot* const slots = chunk.load(std::memory_order_acquire);
    if (slots == nullptr) break;
    for (uint32_t i = 0; i < kSlotsInChunk; ++i) {
      const Kind kind = KindOf(slots[i].state.load(std::memory_order_relaxed));
      live += kind != 0 && kind != but;
    }
  }
  return live;
}

}  // namespace graphtree::c
