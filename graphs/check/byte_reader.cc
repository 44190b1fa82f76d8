// Appends piece after piece to one vector.
#include "graphs/check/byte_reader.h"

#include <cstdint>

#include "absl/types/span.h"
#include "device/base/status_macros.h"

namespace graphtree {

absl::StatusOr<ByteReader> ByteReader::Make(Device& device, Stream& stream) {
  GRAPHTREE_ASSIGN_OR_RETURN(PieceReader pieces, PieceReader::Make(device, stream));
  return ByteReader(std::move(pieces));
}

absl::StatusOr<Bytes> ByteReader::Read(AddressRange range) {
  Bytes bytes;
  bytes.reserve(range.bytes);
  GRAPHTREE_RETURN_IF_ERROR(pieces_.Read(range, [&](absl::Span<const uint8_t> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }));
  return bytes;
}

}  // namespace graphtree
