// Finds streams, and slots for new ones.
#include "allocator/order/stream_slots.h"

#include <algorithm>
#include <bit>

namespace graphtree {

void StreamSlots::Refresh(uint32_t number) {
  const StreamSlot& slot = slots_[number];
  const bool is_shared = slot.streams.size() + (slot.has_forgotten ? 1 : 0) > 1;
  shared_ = (shared_ & ~(1u << number)) | (is_shared ? 1u << number : 0);
}

uint64_t StreamSlots::CaptureOf(uint32_t number, const StreamLife* life) const {
  for (const KnownStream& known : slots_[number].streams) {
    if (known.life.get() == life) return known.used_in;
  }
  return 0;
}

KnownStream* StreamSlots::Find(const StreamLife* life, uint32_t* number) {
  for (*number = 0; *number < slots_.size(); ++*number) {
    for (KnownStream& known : slots_[*number].streams) {
      if (known.life.get() == life) return &known;
    }
  }
  return nullptr;
}

// A bit of its own, else one whose streams were all forgotten, else one to share.
uint32_t StreamSlots::SlotForNew() {
  if (slots_.size() < kMost) {
    slots_.emplace_back();
    return static_cast<uint32_t>(slots_.size() - 1);
  }
  const auto empty = std::find_if(slots_.begin(), slots_.end(),
                                  [](const StreamSlot& slot) { return slot.streams.empty(); });
  if (empty != slots_.end()) return static_cast<uint32_t>(empty - slots_.begin());
  next_shared_ = (next_shared_ + 1) % kMost;
  return next_shared_;
}

std::shared_ptr<StreamLife> StreamSlots::AnyOf(uint32_t bits) const {
  for (; bits != 0; bits &= bits - 1) {
    const StreamSlot& slot = slots_[static_cast<uint32_t>(std::countr_zero(bits))];
    for (const KnownStream& known : slot.streams) {
      if (!known.life->has_ended()) return known.life;
    }
  }
  return nullptr;
}

bool StreamSlots::IsInForeignCapture(uint32_t number) const {
  if (device_.open_captures() == 0) return false;
  return slots_[number].AnyCaptures([](const KnownStream& known, uint64_t capture) {
    return capture != known.used_in;
  });
}

bool StreamSlots::IsUsedByCapture(uint32_t bits) const {
  if (device_.open_captures() == 0) return false;
  const auto is_used = [](const KnownStream& known, uint64_t capture) {
    return capture == known.used_in;
  };
  for (uint32_t number = 0; number < size(); ++number) {
    if ((bits >> number & 1) != 0 && slots_[number].AnyCaptures(is_used)) return true;
  }
  return false;
}

}  // namespace graphtree
