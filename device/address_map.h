// Keeps the reservations of a device and the mappings in them; both devices use this class.
//
//   reservation  |----------------------------------------|
//   mappings         |== A ==||= B =|        |== C ==|
//                    ^ keyed by base; never overlapping, never outside a reservation
//
// Pure: no device, no lock. A device asks the map before it acts, so that a wrong call is refused
// on every device in the same words, which name both sides, and changes nothing; then it acts; then
// it tells the map. Cost: a search in a tree for each call.
#ifndef GRAPHTREE_DEVICE_ADDRESS_MAP_H_
#define GRAPHTREE_DEVICE_ADDRESS_MAP_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "device/address.h"

namespace graphtree {

class AddressMap {
 public:
  // One mapping; `tag` is the device's own (a handle, an index).
  struct Mapping {
    AddressRange range;
    uint64_t tag = 0;
    friend bool operator==(const Mapping& a, const Mapping& b) {
      return a.range == b.range && a.tag == b.tag;
    }
  };

  // May this be done? An error says what was asked and what stands against it.
  absl::Status MayRelease(AddressRange range) const;
  absl::Status MayMap(AddressRange range) const;
  absl::Status MayUnmap(AddressRange range) const;      // whole mappings, no gap
  absl::Status MayAccess(AddressRange range) const;     // likewise; for a change of access rights
  absl::Status IsMapped(AddressRange range) const;      // throughout, by whatever mappings

  // It was done. REQUIRES: the matching May... said yes.
  void Reserved(AddressRange range);
  void Released(AddressRange range);
  void Mapped(AddressRange range, uint64_t tag);
  std::vector<Mapping> Unmapped(AddressRange range);  // the mappings that went

  std::vector<Mapping> MappingsIn(AddressRange range) const;
  size_t reservation_count() const { return reservations_.size(); }
  size_t mapping_count() const { return mappings_.size(); }
  uint64_t reserved_bytes() const { return reserved_bytes_; }
  uint64_t mapped_bytes() const { return mapped_bytes_; }

 private:
  using Mappings = std::map<Address, Mapping>;
  absl::Status AreWholeMappings(AddressRange range, absl::string_view doing) const;
  // The first mapping that ends after `address`.
  Mappings::const_iterator FirstBehind(Address address) const;
  const AddressRange* ReservationAround(AddressRange range) const;

  std::map<Address, AddressRange> reservations_;
  Mappings mappings_;
  uint64_t reserved_bytes_ = 0;
  uint64_t mapped_bytes_ = 0;
};

// "[0x600000000000, +2097152)", as every message of a device writes a range.
std::string ToString(AddressRange range);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_ADDRESS_MAP_H_
