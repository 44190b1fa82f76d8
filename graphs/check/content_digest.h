// A digest of device memory: one word for each 256 bytes. It is small enough to keep for every
// input of a call, and fine enough to say where two digests differ.
//
//   memory   |====256====|====256====|====256====|==40==|
//   digest        d0          d1          d2        d3
//
// For checking, as a look waits for the device (piece_reader.h). That two contents have one digest
// is as likely as that two random words of 64 bits are equal.
#ifndef GRAPHTREE_GRAPHS_CHECK_CONTENT_DIGEST_H_
#define GRAPHTREE_GRAPHS_CHECK_CONTENT_DIGEST_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/device.h"
#include "graphs/check/piece_reader.h"

namespace graphtree {

using ContentDigest = std::vector<uint64_t>;

constexpr uint64_t kDigestedBytes = 256;

class ContentReader {
 public:
  // Both outlive the reader.
  static absl::StatusOr<ContentReader> Make(Device& device, Stream& stream);

  absl::StatusOr<ContentDigest> Read(AddressRange range);

 private:
  explicit ContentReader(PieceReader pieces) : pieces_(std::move(pieces)) {}

  PieceReader pieces_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_CHECK_CONTENT_DIGEST_H_
