// Reads device memory into the host's: for checking (piece_reader.h).
#ifndef GRAPHTREE_GRAPHS_CHECK_BYTE_READER_H_
#define GRAPHTREE_GRAPHS_CHECK_BYTE_READER_H_

#include <utility>

#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/device.h"
#include "graphs/check/element_compare.h"
#include "graphs/check/piece_reader.h"

namespace graphtree {

class ByteReader {
 public:
  // Both outlive the reader.
  static absl::StatusOr<ByteReader> Make(Device& device, Stream& stream);

  absl::StatusOr<Bytes> Read(AddressRange range);

 private:
  explicit ByteReader(PieceReader pieces) : pieces_(std::move(pieces)) {}

  PieceReader pieces_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_CHECK_BYTE_READER_H_
