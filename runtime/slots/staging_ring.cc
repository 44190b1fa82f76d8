// Goes round.
#include "runtime/slots/staging_ring.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "device/base/status_macros.h"
#include "runtime/slots/planted_bug.h"

namespace graphtree {
namespace {

constexpr uint64_t kAlignment = unpack::kBlockAlignment;
// Many small steps pass an event seldom, and the whole ring stays in a core's cache: staging 4 KiB
// into a ring of 1 MiB takes twice as long as into one of 256 KiB (measured beside an H200).
constexpr uint64_t kLeastSegment = 64 << 10;
// Of blocks that fill it, so that an event is not passed in every step.
constexpr uint64_t kBlocksOfSegment = 4;
constexpr uint64_t kLargeBlock = 64 << 10;  // copying it costs more than an event

constexpr uint64_t RoundUp(uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

uint64_t SegmentFor(uint64_t greatest_block) {
  const uint64_t block = RoundUp(greatest_block);
  return std::max(block > kLargeBlock ? block : kBlocksOfSegment * block, kLeastSegment);
}

bool Captures(StreamLife& stream) {
  const absl::StatusOr<CaptureInfo> capture = stream.Capture();
  return capture.ok() && capture->state != CaptureState::kNone;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StagingRing>> StagingRing::Create(Device& device,
                                                                 uint64_t greatest_block) {
  const uint64_t segment = SegmentFor(greatest_block);
  absl::StatusOr<std::unique_ptr<HostBuffer>> buffer =
      device.memory().AllocateHost(kSegments * segment + kAlignment);
  if (!buffer.ok()) {
    return absl::Status(buffer.status().code(),
                        absl::StrCat("making a staging ring of ", kSegments, " times ", segment,
                                     " bytes of page-locked memory: ", buffer.status().message()));
  }
  std::unique_ptr<StagingRing> ring(new StagingRing(*std::move(buffer), segment));
  for (Segment& at : ring->segments_) {
    GRAPHTREE_ASSIGN_OR_RETURN(at.event, device.NewEvent({}));
  }
  return ring;
}

StagingRing::~StagingRing() {
  if (last_ != nullptr) last_->Synchronize().IgnoreError();
  for (const Segment& segment : segments_) {
    if (segment.event != nullptr) segment.event->Synchronize().IgnoreError();
  }
}

absl::StatusOr<uint8_t*> StagingRing::Next(uint64_t bytes) {
  const uint64_t wanted = RoundUp(bytes);
  GRAPHTREE_CHECK(wanted <= segment_bytes_)
      << "a block of " << bytes << " bytes; the ring was made for " << segment_bytes_;
  if (used_ + wanted > segment_bytes_) GRAPHTREE_RETURN_IF_ERROR(GoOn());
  return reinterpret_cast<uint8_t*>(start() + segment_ * segment_bytes_ + used_);
}

Address StagingRing::start() const { return RoundUp(AddressOf(buffer_->data())); }

unpack::Place StagingRing::place() const {
  return {static_cast<uint32_t>(segment_), static_cast<uint32_t>(used_ / unpack::kUnitBytes)};
}

unpack::Ring StagingRing::ring() const {
  unpack::Ring ring;
  ring.first_unit = start() / unpack::kUnitBytes;
  ring.segment_units = static_cast<uint32_t>(segment_bytes_ / unpack::kUnitBytes);
  return ring;
}

Address StagingRing::AddressFor(uint64_t bytes) {
  const auto segment_units = static_cast<uint32_t>(segment_bytes_ / unpack::kUnitBytes);
  const uint32_t units = unpack::BlockUnitsFor(bytes);
  if (cursor_.has_value() && unpack::NextPlace(*cursor_, units, segment_units) == place()) {
    return start() + unpack::kByCursor;
  }
  ++told_;
  return start() + segment_ * segment_bytes_ + used_;
}

void StagingRing::Launched(uint64_t bytes, Stream& stream, bool moves_cursor) {
  used_ += RoundUp(bytes);
  cursor_ = moves_cursor ? std::optional<unpack::Place>(place()) : std::nullopt;
  if (last_ != stream.life()) last_ = stream.life();
}

void StagingRing::Failed(uint64_t bytes, Stream& stream) {
  cursor_ = std::nullopt;
  if (Captures(*stream.life())) return;
  if (last_ == nullptr || last_ == stream.life()) return Launched(bytes, stream);
  // Nothing says in which order the two streams come.
  if (stream.Synchronize().ok()) return;
  last_->Synchronize().IgnoreError();
  Launched(bytes, stream);
}

absl::Status StagingRing::WaitForLast() {
  GRAPHTREE_ASSIGN_OR_RETURN(const bool is_read, last_->IsDone());
  if (is_read) return absl::OkStatus();
  ++waits_;
  return last_->Synchronize();
}

absl::Status StagingRing::NoteLast() {
  if (last_ == nullptr) return absl::OkStatus();
  if (Captures(*last_)) {
    return absl::FailedPreconditionError(
        "the stream of the last step captures now, so its work cannot be awaited; end that capture "
        "first");
  }
  Event& event = *segments_[segment_].event;
  const absl::Status recorded =
      last_->Use([&event](Stream& stream) { return stream.Record(event); });
  return recorded.ok() ? recorded : WaitForLast();
}

absl::Status StagingRing::Await() {
  for (Segment& segment : segments_) GRAPHTREE_RETURN_IF_ERROR(segment.event->Synchronize());
  if (last_ == nullptr) return absl::OkStatus();
  if (Captures(*last_)) {
    return absl::FailedPreconditionError(
        "the stream of the last step captures now, so its work cannot be awaited; end that capture "
        "first");
  }
  return last_->Synchronize();
}

absl::Status StagingRing::GoOn() {
  GRAPHTREE_RETURN_IF_ERROR(NoteLast());
  Event& next = *segments_[(segment_ + 1) % kSegments].event;
  GRAPHTREE_ASSIGN_OR_RETURN(const bool is_read, next.IsDone());
  if (!is_read && !IsPlanted(RuntimeBug::kReusesBlocks)) {
    ++waits_;
    GRAPHTREE_RETURN_IF_ERROR(next.Synchronize());
  }
  segment_ = (segment_ + 1) % kSegments;
  used_ = 0;
  last_ = nullptr;
  return absl::OkStatus();
}

}  // namespace graphtree
