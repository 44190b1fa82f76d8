// Reserving a pool's addresses.
#include "allocator/pool/arena.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/memory/piece_row.h"
#include "allocator/shared_bytes.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

std::atomic<uint64_t> next_serial{1};

constexpr uint64_t kMostQuanta = uint64_t{1} << 31;  // of one region: 1 TiB

uint64_t RoundUp(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

// At such addresses large alignments mean the same offsets in every process. Where the device has
// none to give, they mean other offsets there (placement.h). A wished address counts for more.
absl::StatusOr<AddressRange> ReserveAligned(Memory& memory, uint64_t bytes, Address wished_base) {
  constexpr uint64_t kArenaAlignment = uint64_t{1} << 30;
  if (wished_base % kArenaAlignment == 0) {
    absl::StatusOr<AddressRange> aligned =
        memory.Reserve(bytes, {.alignment = kArenaAlignment, .wished_base = wished_base});
    if (aligned.ok()) return aligned;
  }
  return memory.Reserve(bytes, {.alignment = 0, .wished_base = wished_base});
}

absl::StatusOr<uint64_t> RegionBytes(Device& device, const PoolOptions& options) {
  uint64_t bytes = options.address_bytes;
  if (bytes == 0) {
    bytes = device.info().total_bytes;
    if (bytes == 0) {
      GRAPHTREE_ASSIGN_OR_RETURN(const MemoryInfo info, device.memory().Info());
      bytes = info.total_bytes;
    }
    bytes = std::min(2 * bytes, kMostQuanta / 2 * kQuantum);
  }
  const uint64_t unit = std::max<uint64_t>(device.memory().granularity(), kQuantum);
  if (bytes > kMostQuanta * kQuantum - unit) {
    return absl::InvalidArgumentError(
        absl::StrCat("a pool of ", bytes, " bytes of addresses for each region; at most ",
                     kMostQuanta * kQuantum - unit, " are supported"));
  }
  return RoundUp(std::max(bytes, unit), unit);
}

// Sectors of 16 MiB, or of less where no piece may be so large.
int SectorShift(uint64_t limit_bytes) {
  int shift = 24;
  while ((uint64_t{1} << shift) > MostPieceBytes(limit_bytes)) --shift;
  return shift;
}

}  // namespace

absl::StatusOr<Arena> Arena::Reserve(Device& device, PoolOptions options) {
  GRAPHTREE_ASSIGN_OR_RETURN(const uint64_t region_bytes, RegionBytes(device, options));
  GRAPHTREE_ASSIGN_OR_RETURN(
      const AddressRange reserved,
      ReserveAligned(device.memory(), 2 * region_bytes, options.wished_base));
  return Arena(device, std::move(options), reserved, region_bytes);
}

Arena::Arena(Device& device, PoolOptions options, AddressRange reserved, uint64_t region_bytes)
    : device_(&device),
      options_(std::move(options)),
      reserved_(reserved),
      region_bytes_(region_bytes),
      sector_shift_(SectorShift(LimitWith(options_.limit_bytes))),
      serial_(next_serial.fetch_add(1)),
      tells_device_(options_.tell_device && device.info().checks_accesses) {}

uint64_t Arena::LimitWith(uint64_t own) const {
  const SharedBytes* const shared = options_.shared_bytes.get();
  if (shared == nullptr || shared->limit() == SharedBytes::kNoLimit) return own;
  return own == 0 ? shared->limit() : std::min(own, shared->limit());
}

absl::Status Arena::CheckIsMine(AddressRange range) const {
  if (!range.empty() && reserved_.Contains(range)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("[", range.base, ", ", range.end(),
                                                 ") is not memory of pool \"", name(), "\""));
}

AddressRange Arena::ToldRange(const BlockRecord& record) const {
  if (options_.debug.canaries) return WholeRange(record);
  const uint64_t bytes = uint64_t{record.length - record.guards()} * kQuantum;
  return {AddressOf(record.user_offset()), bytes};
}

}  // namespace graphtree
