// Goes round.
#include "runtime/slots/staging_ring.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

constexpr uint64_t kAlignment = 256;
// So that small steps pass an event seldom.
constexpr uint64_t kLeastSegment = 256 << 10;

constexpr uint64_t RoundUp(uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StagingRing>> StagingRing::Create(Device& device,
                                                                 uint64_t greatest_block) {
  const uint64_t segment = std::max(RoundUp(greatest_block), kLeastSegment);
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
  const uint64_t base = RoundUp(AddressOf(buffer_->data()));
  return reinterpret_cast<uint8_t*>(base + segment_ * segment_bytes_ + used_);
}

void StagingRing::Launched(uint64_t bytes, Stream& stream) {
  used_ += RoundUp(bytes);
  if (last_ != stream.life()) last_ = stream.life();
}

absl::Status StagingRing::WaitForLast() {
  GRAPHTREE_ASSIGN_OR_RETURN(const bool is_read, last_->IsDone());
  if (is_read) return absl::OkStatus();
  ++waits_;
  return last_->Synchronize();
}

absl::Status StagingRing::GoOn() {
  if (last_ != nullptr) {
    Event& event = *segments_[segment_].event;
    const absl::Status recorded =
        last_->Use([&event](Stream& stream) { return stream.Record(event); });
    if (!recorded.ok()) GRAPHTREE_RETURN_IF_ERROR(WaitForLast());
  }
  Event& next = *segments_[(segment_ + 1) % kSegments].event;
  GRAPHTREE_ASSIGN_OR_RETURN(const bool is_read, next.IsDone());
  if (!is_read) {
    ++waits_;
    GRAPHTREE_RETURN_IF_ERROR(next.Synchronize());
  }
  segment_ = (segment_ + 1) % kSegments;
  used_ = 0;
  last_ = nullptr;
  return absl::OkStatus();
}

}  // namespace graphtree
