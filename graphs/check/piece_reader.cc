// Copies, waits, hands on.
#include "graphs/check/piece_reader.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "device/base/insist.h"
#include "device/base/status_macros.h"
#include "device/leftovers.h"
#include "device/stream_life.h"

namespace graphtree {

namespace {

// A buffer that a copy on the stream may still write to.
class Unawaited : public Leftover {
 public:
  Unawaited(Device& device, std::shared_ptr<StreamLife> stream, std::unique_ptr<HostBuffer> buffer)
      : device_(device), stream_(std::move(stream)), buffer_(std::move(buffer)) {}

  // A device that is lost runs no more work, also where it is lost in the middle of the wait.
  absl::Status GiveBack() override {
    const absl::Status awaited = Await();
    return device_.health().ok() ? awaited : absl::OkStatus();
  }

 private:
  absl::Status Await() {
    GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Event> event, device_.NewEvent({}));
    return stream_->AwaitOnHost(*event);
  }

  Device& device_;
  const std::shared_ptr<StreamLife> stream_;
  const std::unique_ptr<HostBuffer> buffer_;
};

}  // namespace

absl::StatusOr<PieceReader> PieceReader::Make(Device& device, Stream& stream) {
  PieceReader reader(&device, &stream);
  GRAPHTREE_RETURN_IF_ERROR(reader.NeedBuffer());
  return reader;
}

absl::Status PieceReader::NeedBuffer() {
  if (buffer_ != nullptr) return absl::OkStatus();
  GRAPHTREE_ASSIGN_OR_RETURN(buffer_, device_->memory().AllocateHost(kPieceBytes));
  return absl::OkStatus();
}

absl::Status PieceReader::CopyToBuffer(AddressRange piece) {
  GRAPHTREE_RETURN_IF_ERROR(NeedBuffer());
  GRAPHTREE_RETURN_IF_ERROR(stream_->Copy(buffer_->range().base, piece.base, piece.bytes));
  absl::Status awaited = Insist([this] { return stream_->Synchronize(); });
  if (!awaited.ok()) {
    device_->LeaveBehind(
        std::make_unique<Unawaited>(*device_, stream_->life(), std::move(buffer_)));
  }
  return awaited;
}

absl::Status PieceReader::Read(AddressRange range,
                               absl::FunctionRef<void(absl::Span<const uint8_t>)> take) {
  GRAPHTREE_RETURN_IF_ERROR(device_->memory().CheckLive(range));
  for (uint64_t at = 0; at < range.bytes; at += kPieceBytes) {
    const AddressRange piece = {range.base + at, std::min(kPieceBytes, range.bytes - at)};
    GRAPHTREE_RETURN_IF_ERROR(CopyToBuffer(piece));
    take({static_cast<const uint8_t*>(buffer_->data()), piece.bytes});
  }
  return absl::OkStatus();
}

}  // namespace graphtree
