// Two ordered maps, and the messages of what they refuse.
#include "device/address_map.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "device/base/check.h"
#include "device/error.h"

namespace graphtree {
namespace {

absl::Status Refused(absl::string_view verb, AddressRange range, absl::string_view why) {
  return DeviceError(ErrorCode::kInvalidValue, absl::StrCat(verb, " ", ToString(range), ": ", why));
}

}  // namespace

std::string ToString(AddressRange range) {
  return absl::StrFormat("[%#x, +%d)", range.base, range.bytes);
}

AddressMap::Mappings::const_iterator AddressMap::FirstBehind(Address address) const {
  auto next = mappings_.upper_bound(address);
  if (next == mappings_.begin()) return next;
  auto before = std::prev(next);
  return before->second.range.end() > address ? before : next;
}

const AddressRange* AddressMap::ReservationAround(AddressRange range) const {
  auto next = reservations_.upper_bound(range.base);
  if (next == reservations_.begin()) return nullptr;
  const AddressRange& around = std::prev(next)->second;
  return around.Contains(range) ? &around : nullptr;
}

absl::Status AddressMap::MayRelease(AddressRange range) const {
  const auto found = reservations_.find(range.base);
  if (found == reservations_.end() || !(found->second == range)) {
    const AddressRange* around = ReservationAround(range);
    return Refused("releasing", range,
                   around != nullptr
                       ? absl::StrCat("it is only a part of the reservation ", ToString(*around))
                       : "it was not reserved here, or was released before");
  }
  const auto mapping = FirstBehind(range.base);
  if (mapping != mappings_.end() && mapping->second.range.base < range.end()) {
    return Refused("releasing", range,
                   absl::StrCat(ToString(mapping->second.range), " in it is still mapped"));
  }
  return absl::OkStatus();
}

absl::Status AddressMap::MayMap(AddressRange range) const {
  if (range.empty()) return Refused("mapping", range, "there is nothing to map");
  if (ReservationAround(range) == nullptr) {
    return Refused("mapping", range, "it does not lie in one reserved range");
  }
  const auto mapping = FirstBehind(range.base);
  if (mapping != mappings_.end() && mapping->second.range.base < range.end()) {
    return Refused("mapping", range,
                   absl::StrCat(ToString(mapping->second.range), " is already mapped there"));
  }
  return absl::OkStatus();
}

absl::Status AddressMap::AreWholeMappings(AddressRange range, absl::string_view doing) const {
  if (range.empty()) return Refused(doing, range, "the range is empty");
  if (range.end() < range.base) return Refused(doing, range, "it goes past the last address");
  Address at = range.base;
  for (auto it = FirstBehind(range.base); at < range.end(); ++it) {
    if (it == mappings_.end() || it->second.range.base > at) {
      return Refused(doing, range, absl::StrFormat("nothing is mapped at %#x", at));
    }
    const AddressRange& mapped = it->second.range;
    if (mapped.base < at || mapped.end() > range.end()) {
      return Refused(doing, range,
                     absl::StrCat("it is only a part of the mapping ", ToString(mapped)));
    }
    at = mapped.end();
  }
  return absl::OkStatus();
}

absl::Status AddressMap::MayUnmap(AddressRange range) const {
  return AreWholeMappings(range, "unmapping");
}

absl::Status AddressMap::MayAccess(AddressRange range) const {
  return AreWholeMappings(range, "setting access to");
}

absl::Status AddressMap::IsMapped(AddressRange range) const {
  if (range.end() < range.base) return Refused("touching", range, "it goes past the last address");
  Address at = range.base;
  for (auto it = FirstBehind(range.base); at < range.end(); ++it) {
    if (it == mappings_.end() || it->second.range.base > at) {
      return Refused("touching", range, absl::StrFormat("nothing is mapped at %#x", at));
    }
    at = it->second.range.end();
  }
  return absl::OkStatus();
}

void AddressMap::Reserved(AddressRange range) {
  const bool fresh = reservations_.emplace(range.base, range).second;
  GRAPHTREE_CHECK(fresh) << "reserved twice: " << ToString(range);
  reserved_bytes_ += range.bytes;
}

void AddressMap::Released(AddressRange range) {
  GRAPHTREE_CHECK(MayRelease(range).ok()) << MayRelease(range).ToString();
  reservations_.erase(range.base);
  reserved_bytes_ -= range.bytes;
}

void AddressMap::Mapped(AddressRange range, uint64_t tag) {
  GRAPHTREE_CHECK(MayMap(range).ok()) << MayMap(range).ToString();
  mappings_.emplace(range.base, Mapping{range, tag});
  mapped_bytes_ += range.bytes;
}

std::vector<AddressMap::Mapping> AddressMap::Unmapped(AddressRange range) {
  GRAPHTREE_CHECK(MayUnmap(range).ok()) << MayUnmap(range).ToString();
  std::vector<Mapping> gone = MappingsIn(range);
  for (const Mapping& mapping : gone) mappings_.erase(mapping.range.base);
  mapped_bytes_ -= range.bytes;
  return gone;
}

std::vector<AddressMap::Mapping> AddressMap::MappingsIn(AddressRange range) const {
  std::vector<Mapping> found;
  for (auto it = FirstBehind(range.base);
       it != mappings_.end() && it->second.range.base < range.end(); ++it) {
    found.push_back(it->second);
  }
  return found;
}

}  // namespace graphtree
