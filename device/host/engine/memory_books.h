// The host device's memory: reserves addresses and maps pages under them, by system calls.
//
//   file of pages   |--A--|......|--B--|        one memory file; a piece is a part of it
//                      |            |
//   addresses    |==A==|==B==|. . . . . .|      mapped shared, so bytes stay with the piece
//                 rw     none                   protected until access is set
//
// Reserving takes addresses without memory; creating takes a part of a file that has no end and
// uses no memory until it is touched. So a program may reserve more addresses than there is memory
// and move pieces between addresses, as on CUDA, and touching what is not mapped faults.
//
// Guarded by the engine's lock.
#ifndef GRAPHTREE_DEVICE_HOST_ENGINE_MEMORY_BOOKS_H_
#define GRAPHTREE_DEVICE_HOST_ENGINE_MEMORY_BOOKS_H_

#include <cstdint>
#include <map>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/address_home.h"
#include "device/address_map.h"
#include "device/host/checks/checks.h"
#include "device/memory.h"

namespace graphtree::host {

// Part of the file of pages. Lives while it is owned or mapped.
struct Piece {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool owned = true;
  int mappings = 0;
};

class MemoryBooks {
 public:
  // As on CUDA, so that what fits there fits here.
  static constexpr uint64_t kGranularity = uint64_t{2} << 20;

  MemoryBooks(uint64_t total_bytes, Checks& checks) : total_bytes_(total_bytes), checks_(checks) {}
  ~MemoryBooks();

  MemoryInfo info() const { return {total_bytes_, total_bytes_ - used_bytes_}; }
  // Counts memory that is no piece, such as an executable's, as used.
  absl::Status Charge(uint64_t bytes, absl::string_view what);
  void Refund(uint64_t bytes) { used_bytes_ -= bytes; }

  absl::StatusOr<AddressRange> Reserve(uint64_t bytes, const ReserveOptions& options);
  absl::Status Release(AddressRange range);
  absl::StatusOr<Piece*> Create(uint64_t bytes);
  void Disown(Piece* piece);
  absl::Status Map(Address at, Piece* piece);
  absl::Status Unmap(AddressRange range);
  absl::Status SetAccess(AddressRange range, MemoryAccess access);

  // Page-locked host memory, which captured copies may name.
  void AddHostBuffer(AddressRange range) { host_buffers_[range.base] = range; }
  void RemoveHostBuffer(AddressRange range);
  // True for device memory and host buffers.
  bool IsPageLocked(AddressRange range) const;

  const AddressMap& map() const { return map_; }
  const AddressHome& home() const { return home_; }
  size_t physical_count() const { return pieces_.size(); }
  uint64_t physical_bytes() const { return physical_bytes_; }
  size_t host_buffer_count() const { return host_buffers_.size(); }

 private:
  absl::StatusOr<AddressRange> TakeAddresses(uint64_t bytes, const ReserveOptions& options);
  absl::Status OpenFile();
  void DropIfUnused(Piece* piece);

  const uint64_t total_bytes_;
  Checks& checks_;
  AddressMap map_;
  AddressHome home_{"another host device", false};
  uint64_t used_bytes_ = 0;
  uint64_t physical_bytes_ = 0;
  int file_ = -1;
  uint64_t file_end_ = 0;
  absl::flat_hash_map<Piece*, std::unique_ptr<Piece>> pieces_;
  std::map<Address, AddressRange> host_buffers_;
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_ENGINE_MEMORY_BOOKS_H_
