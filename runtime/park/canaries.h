// Canaries: bytes that are noted before memory leaves, and compared once it is back.
//
//   GRAPHTREE_ASSIGN_OR_RETURN(Canaries canaries, Canaries::Take(device, ranges));
//   ...                                             // parked and woken
//   GRAPHTREE_RETURN_IF_ERROR(canaries.Check(device, "the pool of lane 0"));
//
// Both read the device, and wait for that. Nobody else may write to the ranges meanwhile.
//
// Threads: as its owner.
#ifndef GRAPHTREE_RUNTIME_PARK_CANARIES_H_
#define GRAPHTREE_RUNTIME_PARK_CANARIES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "device/device.h"

namespace graphtree {

class Canaries {
 public:
  static constexpr size_t kMostPlaces = 256;

  Canaries() = default;  // of nothing, which is always as it was
  // REQUIRES: work on the ranges is over, and each is live as a whole.
  static absl::StatusOr<Canaries> Take(Device& device, absl::Span<const AddressRange> ranges);
  // Forgets what does not lie in one of the ranges: it was freed meanwhile.
  void KeepOnly(absl::Span<const AddressRange> ranges);
  // DataLoss, with the place and both values, if some byte is another now.
  absl::Status Check(Device& device, absl::string_view where) const;

  size_t places() const { return places_.size(); }

 private:
  static absl::StatusOr<std::vector<uint8_t>> Read(Device& device,
                                                   absl::Span<const AddressRange> places);

  std::vector<AddressRange> places_;
  std::vector<uint8_t> bytes_;  // of one place after another
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_PARK_CANARIES_H_
