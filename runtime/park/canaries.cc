// Reads samples through page-locked memory.
#include "runtime/park/canaries.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "device/base/insist.h"
#include "device/base/status_macros.h"
#include "device/memory.h"
#include "device/stream.h"
#include "runtime/park/sample_places.h"

namespace graphtree {
namespace {

// The first bytes from `at` on, for people.
std::string HexOf(const std::vector<uint8_t>& bytes, size_t at, size_t end) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = at; i < std::min(end, at + kShown); ++i) {
    absl::StrAppendFormat(&text, "%02x", bytes[i]);
  }
  return text;
}

absl::Status CopyAll(Stream& stream, absl::Span<const AddressRange> places, Address target) {
  for (const AddressRange& place : places) {
    GRAPHTREE_RETURN_IF_ERROR(stream.Copy(target, place.base, place.bytes));
    target += place.bytes;
  }
  return stream.Synchronize();
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> Canaries::Read(Device& device,
                                                    absl::Span<const AddressRange> places) {
  uint64_t bytes = 0;
  for (const AddressRange& place : places) bytes += place.bytes;
  std::vector<uint8_t> read(bytes);
  if (bytes == 0) return read;
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<HostBuffer> buffer,
                             device.memory().AllocateHost(bytes));
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.NewStream());
  if (absl::Status copied = CopyAll(*stream, places, buffer->range().base); !copied.ok()) {
    // What was issued before the failure still writes the buffer, and is done before that goes.
    Insist([&stream] { return stream->Synchronize(); }).IgnoreError();
    return copied;
  }
  std::memcpy(read.data(), buffer->data(), bytes);
  return read;
}

absl::StatusOr<Canaries> Canaries::Take(Device& device, absl::Span<const AddressRange> ranges) {
  Canaries canaries;
  canaries.places_ = PlacesToSample(ranges, kMostPlaces);
  GRAPHTREE_ASSIGN_OR_RETURN(canaries.bytes_, Read(device, canaries.places_));
  return canaries;
}

void Canaries::KeepOnly(absl::Span<const AddressRange> ranges) {
  Canaries kept;
  auto bytes = bytes_.begin();
  for (const AddressRange& place : places_) {
    const auto end = bytes + static_cast<std::ptrdiff_t>(place.bytes);
    const bool is_kept = std::any_of(ranges.begin(), ranges.end(), [&](const AddressRange& range) {
      return range.Contains(place);
    });
    if (is_kept) {
      kept.places_.push_back(place);
      kept.bytes_.insert(kept.bytes_.end(), bytes, end);
    }
    bytes = end;
  }
  *this = std::move(kept);
}

absl::Status Canaries::Check(Device& device, absl::string_view where) const {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<uint8_t> now, Read(device, places_));
  const auto differs = std::mismatch(now.begin(), now.end(), bytes_.begin()).first;
  if (differs == now.end()) return absl::OkStatus();
  const auto at = static_cast<size_t>(differs - now.begin());
  size_t begin = 0;
  for (const AddressRange& place : places_) {
    const size_t end = begin + place.bytes;
    if (at < end) {
      return absl::DataLossError(absl::StrFormat(
          "%s has other bytes than before it was parked, at %#x of [%#x, %#x): %s where there was "
          "%s",
          where, place.base + (at - begin), place.base, place.end(), HexOf(now, at, end),
          HexOf(bytes_, at, end)));
    }
    begin = end;
  }
  return absl::OkStatus();
}

}  // namespace graphtree
