// A device's memory: addresses are reserved, and physical memory is mapped under them, apart.
//
//   Reserve      |. . . . . . . . . . . . . . . .|   addresses, without memory
//   Map          |[ A ][ B ]. . . . . . . . . . .|   physical memory A and B, no access yet
//   SetAccess    |[=A=][=B=]. . . . . . . . . . .|   readable and writable
//   Unmap        |[=A=]. . . . . . . . . . . . . |   B's bytes live on while B does
//
// Addresses stay while the physical memory under them comes and goes: executables that were made
// before stay valid. Every size and address is a multiple of granularity(). One call costs 1 to 60
// microseconds on CUDA whatever its size, so use few large pieces. Every call is allowed while a
// capture is open. Safe from several threads.
//
// Refused, with both sides named and nothing changed: mapping where something is mapped, unmapping
// part of a mapping or setting its access, releasing a range in which something is still mapped.
#ifndef GRAPHTREE_DEVICE_MEMORY_H_
#define GRAPHTREE_DEVICE_MEMORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "device/address.h"

namespace graphtree {

// Owns a piece of physical memory. Destroying it gives the memory back as soon as it is mapped
// nowhere any more.
class PhysicalMemory {
 public:
  virtual ~PhysicalMemory() = default;
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;
  virtual uint64_t bytes() const = 0;

 protected:
  PhysicalMemory() = default;
};

// Owns page-locked host memory, the only host memory that a captured copy may name.
class HostBuffer {
 public:
  virtual ~HostBuffer() = default;
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  virtual void* data() const = 0;
  virtual uint64_t bytes() const = 0;
  AddressRange range() const { return {AddressOf(data()), bytes()}; }

 protected:
  HostBuffer() = default;
};

enum class MemoryAccess : uint8_t { kNone, kRead, kReadWrite };

struct MemoryInfo {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
};

struct ReserveOptions {
  uint64_t alignment = 0;    // 0: the granularity
  Address wished_base = 0;   // taken if it is free, else another base is chosen; 0: no wish
};

class Memory {
 public:
  virtual ~Memory() = default;

  virtual uint64_t granularity() const = 0;
  virtual absl::StatusOr<MemoryInfo> Info() = 0;

  virtual absl::StatusOr<AddressRange> Reserve(uint64_t bytes, const ReserveOptions& options) = 0;
  // REQUIRES: exactly a range that Reserve returned, nothing mapped in it.
  virtual absl::Status Release(AddressRange range) = 0;

  virtual absl::StatusOr<std::unique_ptr<PhysicalMemory>> Create(uint64_t bytes) = 0;
  // Maps the whole of `memory`. It has no access rights until SetAccess.
  virtual absl::Status Map(Address at, const PhysicalMemory& memory) = 0;
  // REQUIRES: `range` is one or several whole mappings without a gap.
  virtual absl::Status Unmap(AddressRange range) = 0;
  // REQUIRES: likewise.
  virtual absl::Status SetAccess(AddressRange range, MemoryAccess access) = 0;

  virtual absl::StatusOr<std::unique_ptr<HostBuffer>> AllocateHost(uint64_t bytes) = 0;

  // May work that is issued now touch all of `range`? OK as far as the device can tell; else an
  // error that says what is dead there. The host device knows what is mapped and what an allocator
  // gave back; the CUDA device knows what is mapped. For debugging: costs a lock and a search.
  virtual absl::Status CheckLive(AddressRange range) = 0;

  // The name of another device that reserved the address, which this device cannot use then. Empty
  // for this device's own addresses, the host's and unknown ones.
  virtual std::string OtherHomeOf(Address) { return ""; }

  // An allocator tells the device which bytes are live. The host device then reports an op that
  // touches dead bytes, and poisons bytes that become live or dead. No effect on CUDA.
  virtual void NoteLive(AddressRange range, absl::string_view label) = 0;
  virtual void NoteDead(AddressRange range, absl::string_view reason) = 0;
  // Live again, without poison: an allocator went back to an earlier state, and a replay may have
  // written the bytes while its books had them dead.
  virtual void NoteRevived(AddressRange, absl::string_view) {}
  // The parts of a range that ops may touch, as far as the device was told; no op may touch two of
  // them at once. A device that does not check lets ops touch all of the range.
  virtual std::vector<AddressRange> UsableParts(AddressRange range) { return {range}; }
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_MEMORY_H_
