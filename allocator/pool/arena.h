// The part of a pool that never changes: its device, its options, and the addresses that it has
// reserved.
//
//   base                                   base + region_bytes
//   |  step region: follows checkpoints    |  lasting region: no restore touches it |
//   | q0 | q1 | q2 | ...
//     \______ quanta of 512 bytes: the books count in them, from the base
//
// A block with guards, and the three ranges of it that have names:
//
//   | guard | guard |  the bytes its caller uses  | rest of the quantum | guard |
//   |<------------------------- WholeRange -------------------------------------->|
//                   |<------ UserRange ---------->|
//                   |<------------ ToldRange -------------------------->|
//
// Threads: any. Nothing here changes after the pool is made.
#ifndef GRAPHTREE_ALLOCATOR_POOL_ARENA_H_
#define GRAPHTREE_ALLOCATOR_POOL_ARENA_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allocator/books/block_record.h"
#include "allocator/placement/run.h"
#include "allocator/pool_types.h"
#include "device/address.h"
#include "device/device.h"
#include "device/memory.h"

namespace graphtree {

// Bytes of a region, counted from the region's start.
struct RegionExtent {
  Region region;
  uint64_t begin;
  uint64_t end;
};

class Arena {
 public:
  // Reserves addresses for a pool with these options. Whoever owns the arena releases them.
  static absl::StatusOr<Arena> Reserve(Device& device, PoolOptions options);

  Device& device() const { return *device_; }
  Memory& memory() const { return device_->memory(); }
  const PoolOptions& options() const { return options_; }
  const PoolDebug& debug() const { return options_.debug; }
  const std::string& name() const { return options_.name; }
  uint64_t serial() const { return serial_; }  // tells the pools of a process apart
  // Whether the device is told which bytes are live: it then checks what uses them.
  bool tells_device() const { return tells_device_; }

  AddressRange reserved() const { return reserved_; }
  Address base() const { return reserved_.base; }
  uint64_t region_bytes() const { return region_bytes_; }
  AddressRange range_of(Region region) const {
    return {reserved_.base + OffsetOf(region), region_bytes_};
  }
  // REQUIRES: one of the pool's addresses.
  Region RegionOf(Address address) const {
    return address - reserved_.base < region_bytes_ ? Region::kStep : Region::kLasting;
  }
  // Checkpoints note which sectors of the step region were touched on the way to them, and keep the
  // memory of whole sectors from going. So a sector is a small part of what the pool may map.
  uint32_t SectorOf(uint64_t offset) const {
    return static_cast<uint32_t>(offset >> sector_shift_);
  }
  uint64_t SectorBegin(uint32_t sector) const { return uint64_t{sector} << sector_shift_; }
  // The least of a limit of the pool's own and of what pools share; 0: no limit.
  uint64_t LimitWith(uint64_t own) const;
  // Fails for a range that is empty or not all the pool's.
  absl::Status CheckIsMine(AddressRange range) const;

  Address AddressOf(uint32_t quantum) const {
    return reserved_.base + uint64_t{quantum} * kQuantum;
  }
  AddressRange UserRange(const BlockRecord& record) const {
    return {AddressOf(record.user_offset()), record.requested_bytes()};
  }
  AddressRange WholeRange(const BlockRecord& record) const {
    return {AddressOf(record.offset), uint64_t{record.length} * kQuantum};
  }
  // The bytes that a checking device is told to be live. Ops write canaries, so with canaries the
  // guards are among them.
  AddressRange ToldRange(const BlockRecord& record) const;
  RegionExtent ExtentOf(const BlockRecord& record) const {
    const uint64_t begin = uint64_t{record.offset} * kQuantum - OffsetOf(record.region);
    return {record.region, begin, begin + uint64_t{record.length} * kQuantum};
  }

 private:
  Arena(Device& device, PoolOptions options, AddressRange reserved, uint64_t region_bytes);
  uint64_t OffsetOf(Region region) const { return region == Region::kStep ? 0 : region_bytes_; }

  Device* device_;
  PoolOptions options_;
  AddressRange reserved_;
  uint64_t region_bytes_;
  int sector_shift_;
  uint64_t serial_;
  bool tells_device_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_ARENA_H_
