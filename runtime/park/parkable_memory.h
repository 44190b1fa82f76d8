// Device memory at one address for as long as the object lives, from which the physical memory may
// leave:
//
//   addresses   [=================]   Park   [                 ]   Wake   [=================]
//   device       contents              -->    nothing               -->    the same, or none
//   host                                      contents, if kept
//
// Graphs point into it, and are valid again after waking.
//
// Park and Wake are all or nothing: a call that fails leaves what was there before. The stream on
// which they copy is their own, and they wait for it.
//
// Threads: as its owner; figures may be read by any. Cost: four driver calls to park or wake, and
// the copies of what is kept.
#ifndef GRAPHTREE_RUNTIME_PARK_PARKABLE_MEMORY_H_
#define GRAPHTREE_RUNTIME_PARK_PARKABLE_MEMORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/device.h"
#include "device/memory.h"
#include "runtime/park/canaries.h"
#include "runtime/parking.h"

namespace graphtree {

class ParkableMemory {
 public:
  // Mapped; what lies there is anything. `device` outlives the memory; `name` is for errors.
  static absl::StatusOr<std::unique_ptr<ParkableMemory>> Create(Device& device, uint64_t bytes,
                                                                std::string name);
  ParkableMemory(const ParkableMemory&) = delete;
  ParkableMemory& operator=(const ParkableMemory&) = delete;
  // REQUIRES: no work that uses the memory is under way.
  ~ParkableMemory();

  // REQUIRES: is not parked, and work on the memory is over.
  absl::Status Park(Contents contents);
  // Maps memory again and brings back what was kept; checks nothing. No effect if it is not parked.
  absl::Status Wake();
  // Compares what came back, and what stayed, with what was there before. REQUIRES: was woken.
  absl::Status Check() const { return canaries_.Check(device_, name_); }
  // Check compares with nothing until the memory is parked again. REQUIRES: is not parked.
  void ForgetLastPark() { canaries_ = Canaries(); }
  // What was kept is given up: Check finds nothing wrong any more.
  void GiveUpContents();

  AddressRange range() const { return {reserved_.base, bytes_}; }
  const std::string& name() const { return name_; }
  // Parked, also where it stays mapped.
  bool is_parked() const { return is_parked_; }
  // What the device gave, now.
  uint64_t mapped_bytes() const { return physical_ == nullptr ? 0 : reserved_.bytes; }
  // What left, and comes back at a wake.
  uint64_t parked_bytes() const { return reserved_.bytes - mapped_bytes(); }
  // On the host. REQUIRES of the second: something was saved. For tests: what is there comes back.
  uint64_t saved_bytes() const { return saved_ == nullptr ? 0 : saved_->bytes(); }
  void* saved() const { return saved_->data(); }

 private:
  ParkableMemory(Device& device, uint64_t bytes, std::string name)
      : device_(device), bytes_(bytes), name_(std::move(name)) {}
  absl::Status ParkNow(Contents contents);
  absl::Status Map();
  absl::Status Unmap();
  absl::Status Save();
  absl::Status BringBack();
  absl::Status CopyAll(Address target, Address source);

  Device& device_;
  const uint64_t bytes_;
  const std::string name_;
  AddressRange reserved_;
  std::unique_ptr<PhysicalMemory> physical_;  // null: nothing is mapped
  bool is_usable_ = false;                    // what is mapped has its access rights
  std::unique_ptr<HostBuffer> saved_;         // null: not kept
  Canaries canaries_;
  bool is_parked_ = false;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_PARK_PARKABLE_MEMORY_H_
