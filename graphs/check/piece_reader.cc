// Copies, waits, hands on.
#include "graphs/check/piece_reader.h"

#include <algorithm>

#include "device/base/insist.h"
#include "device/base/status_macros.h"

namespace graphtree {

absl::StatusOr<PieceReader> PieceReader::Make(Device& device, Stream& stream) {
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<HostBuffer> buffer,
                             device.memory().AllocateHost(kPieceBytes));
  return PieceReader(&stream, std::move(buffer));
}

absl::Status PieceReader::CopyToBuffer(AddressRange piece) {
  GRAPHTREE_RETURN_IF_ERROR(stream_->Copy(buffer_->range().base, piece.base, piece.bytes));
  return Insist([this] { return stream_->Synchronize(); });
}

absl::Status PieceReader::Read(AddressRange range,
                               absl::FunctionRef<void(absl::Span<const uint8_t>)> take) {
  for (uint64_t at = 0; at < range.bytes; at += kPieceBytes) {
    const AddressRange piece = {range.base + at, std::min(kPieceBytes, range.bytes - at)};
    GRAPHTREE_RETURN_IF_ERROR(CopyToBuffer(piece));
    take({static_cast<const uint8_t*>(buffer_->data()), piece.bytes});
  }
  return absl::OkStatus();
}

}  // namespace graphtree
