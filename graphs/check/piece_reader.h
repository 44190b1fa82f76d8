// Copies device memory to the host piece by piece, through one page-locked buffer, in the order of
// a stream, and waits for each piece: for checking, never for a call that should be fast.
//
//   device   |== piece ==|== piece ==|= rest =|
//                  `--- copied, waited for ---> [ buffer ] ---> take(bytes)
//
// A wait that fails may leave the copy under way. The reader waits again, and if that fails too,
// the buffer is left with the device until the copy is over (device/leftovers.h).
//
// Memory that is dead is an error, and is not touched: a copy that reaches it may lose the device.
#ifndef GRAPHTREE_GRAPHS_CHECK_PIECE_READER_H_
#define GRAPHTREE_GRAPHS_CHECK_PIECE_READER_H_

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "device/device.h"
#include "device/memory.h"
#include "device/stream.h"

namespace graphtree {

class PieceReader {
 public:
  static constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

  // Both outlive the reader.
  static absl::StatusOr<PieceReader> Make(Device& device, Stream& stream);

  // Gives `take` the range's bytes in order, in pieces of kPieceBytes but for the last. Fails if
  // the range may not be read as a whole (Memory::CheckLive).
  absl::Status Read(AddressRange range,
                    absl::FunctionRef<void(absl::Span<const uint8_t>)> take);

 private:
  PieceReader(Device* device, Stream* stream) : device_(device), stream_(stream) {}
  absl::Status NeedBuffer();
  absl::Status CopyToBuffer(AddressRange piece);

  Device* device_;
  Stream* stream_;
  std::unique_ptr<HostBuffer> buffer_;  // null after a copy that nobody could await
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_CHECK_PIECE_READER_H_
