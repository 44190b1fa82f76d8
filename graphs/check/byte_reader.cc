// Piece by piece, through one page-locked buffer.
#include "graphs/check/byte_reader.h"

#include <algorithm>
#include <cstring>

#include "device/base/status_macros.h"

namespace graphtree {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

}  // namespace

absl::StatusOr<ByteReader> ByteReader::Make(Device& device, Stream& stream) {
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<HostBuffer> buffer,
                             device.memory().AllocateHost(kPieceBytes));
  return ByteReader(&stream, std::move(buffer));
}

absl::StatusOr<Bytes> ByteReader::Read(AddressRange range) {
  Bytes bytes(range.bytes);
  for (uint64_t at = 0; at < range.bytes; at += kPieceBytes) {
    const uint64_t piece = std::min(kPieceBytes, range.bytes - at);
    GRAPHTREE_RETURN_IF_ERROR(stream_->Copy(buffer_->range().base, range.base + at, piece));
    absl::Status done = stream_->Synchronize();
    // The copy may still be under way, and the buffer is freed with its reader. A wait that failed
    // may work the next time.
    for (int i = 0; i < 3 && !done.ok() && !stream_->Synchronize().ok(); ++i) {
    }
    GRAPHTREE_RETURN_IF_ERROR(done);
    std::memcpy(bytes.data() + at, buffer_->data(), piece);
  }
  return bytes;
}

}  // namespace graphtree
