// The device memory in which a program's slots lie, for as long as the program is there. Graphs
// point into it.
//
// A slot is filled once, when the memory is made: with its pad value if its rule is kFillOnce, else
// with zeros, so that nothing reads what nobody wrote. The memory may be parked (parking.h): where
// contents were dropped it is filled anew as it wakes.
#ifndef GRAPHTREE_RUNTIME_SLOTS_SLOT_MEMORY_H_
#define GRAPHTREE_RUNTIME_SLOTS_SLOT_MEMORY_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "device/device.h"
#include "runtime/park/parkable_memory.h"
#include "runtime/parking.h"
#include "runtime/slots/slot.h"
#include "runtime/slots/slot_plan.h"

namespace graphtree {

class SlotMemory {
 public:
  // `device` outlives the memory.
  static absl::StatusOr<std::unique_ptr<SlotMemory>> Create(Device& device,
                                                            absl::Span<const SlotSpec> slots,
                                                            const ArenaPlan& plan);
  SlotMemory(const SlotMemory&) = delete;
  SlotMemory& operator=(const SlotMemory&) = delete;
  // REQUIRES of the destructor: no work that uses the memory is under way.

  // As ParkableMemory's. Wake brings back what was kept, or fills anew, all or nothing.
  absl::Status Park(Contents contents);
  absl::Status Wake(absl::Span<const SlotSpec> slots, const ArenaPlan& plan);
  absl::Status Check() const { return memory_->Check(); }
  void ForgetLastPark() { memory_->ForgetLastPark(); }
  // They were parked with their contents, and are to be woken, or were, without.
  absl::Status DropContents(absl::Span<const SlotSpec> slots, const ArenaPlan& plan);

  // The next Wake fills them.
  bool must_fill() const { return must_fill_; }

  AddressRange range() const { return memory_->range(); }
  // What the device gave for them; it is none while they are parked.
  uint64_t mapped_bytes() const { return memory_->mapped_bytes(); }
  const ParkableMemory& memory() const { return *memory_; }

 private:
  SlotMemory(Device& device, std::unique_ptr<ParkableMemory> memory)
      : device_(device), memory_(std::move(memory)) {}
  absl::Status Fill(absl::Span<const SlotSpec> slots, const ArenaPlan& plan);

  Device& device_;
  const std::unique_ptr<ParkableMemory> memory_;
  bool must_fill_ = false;  // its contents were dropped
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SLOTS_SLOT_MEMORY_H_
