// The device memory in which a program's slots lie, for as long as the program is there. Graphs
// point into it.
//
// A slot is filled once, when the memory is made: with its pad value if its rule is kFillOnce, else
// with zeros, so that nothing reads what nobody wrote.
#ifndef GRAPHTREE_RUNTIME_SLOTS_SLOT_MEMORY_H_
#define GRAPHTREE_RUNTIME_SLOTS_SLOT_MEMORY_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "device/device.h"
#include "device/memory.h"
#include "device/stream.h"
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
  // REQUIRES: no work that uses the memory is under way.
  ~SlotMemory();

  AddressRange range() const { return {reserved_.base, bytes_}; }
  // What the device gave for them.
  uint64_t mapped_bytes() const { return is_mapped_ ? reserved_.bytes : 0; }

 private:
  SlotMemory(Memory& memory, uint64_t bytes) : memory_(memory), bytes_(bytes) {}
  absl::Status Map();

  Memory& memory_;
  const uint64_t bytes_;
  AddressRange reserved_;
  std::unique_ptr<PhysicalMemory> physical_;
  bool is_mapped_ = false;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SLOTS_SLOT_MEMORY_H_
