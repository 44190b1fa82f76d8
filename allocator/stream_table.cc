// Waiting on the device for the earlier users of some bytes.
#include "allocator/stream_table.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

absl::Status CannotAwait(const char* what) {
  return absl::FailedPreconditionError(absl::StrCat(
      "a stream that uses the pool is capturing, so it cannot be ", what, ". End the capture."));
}

}  // namespace

uint32_t StreamTable::LookUp(Stream& stream) {
  for (uint32_t number = 0; number < slots_.size(); ++number) {
    const std::vector<Stream*>& streams = slots_[number].streams;
    if (std::find(streams.begin(), streams.end(), &stream) == streams.end()) continue;
    last_stream_ = &stream;
    return last_number_ = number;
  }
  uint32_t number = static_cast<uint32_t>(slots_.size());
  if (number < 32) {
    slots_.emplace_back();
  } else {
    number = next_shared_;
    next_shared_ = (next_shared_ + 1) % 32;
  }
  slots_[number].streams.push_back(&stream);
  last_stream_ = &stream;
  return last_number_ = number;
}

absl::Status StreamTable::Forget(Stream& stream) {
  for (uint32_t number = 0; number < slots_.size(); ++number) {
    Slot& slot = slots_[number];
    const auto at = std::find(slot.streams.begin(), slot.streams.end(), &stream);
    if (at == slot.streams.end()) continue;
    GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo info, stream.Capture());
    if (info.state != CaptureState::kNone) return CannotAwait("forgotten");
    auto event = device_.NewEvent({});
    if (!event.ok()) return event.status();
    if (slot.last_of_forgotten != nullptr) {
      GRAPHTREE_RETURN_IF_ERROR(stream.Wait(*slot.last_of_forgotten));
    }
    GRAPHTREE_RETURN_IF_ERROR(stream.Record(**event));
    slot.last_of_forgotten = *std::move(event);
    slot.streams.erase(at);
    if (last_stream_ == &stream) last_stream_ = nullptr;
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

Stream* StreamTable::AnyOf(uint32_t bits) const {
  for (; bits != 0; bits &= bits - 1) {
    const Slot& slot = slots_[static_cast<uint32_t>(std::countr_zero(bits))];
    if (!slot.streams.empty()) return slot.streams.front();
  }
  return nullptr;
}

absl::Status StreamTable::SynchronizeAll() {
  absl::Status first;
  for (Slot& slot : slots_) {
    for (Stream* stream : slot.streams) {
      auto info = stream->Capture();
      absl::Status status = info.status();
      if (info.ok()) {
        const bool captures = info->state != CaptureState::kNone;
        status = captures ? CannotAwait("waited for") : stream->Synchronize();
      }
      if (first.ok()) first = status;
    }
    if (slot.last_of_forgotten == nullptr) continue;
    const absl::Status status = slot.last_of_forgotten->Synchronize();
    if (first.ok()) first = status;
  }
  return first;
}

void StreamTable::ForgetAll() {
  for (Slot& slot : slots_) slot.streams.clear();
  last_stream_ = nullptr;
}

bool StreamTable::AnyIsCapturing() const {
  for (const Slot& slot : slots_) {
    for (Stream* stream : slot.streams) {
      const auto info = stream->Capture();
      if (info.ok() && info->state != CaptureState::kNone) return true;
    }
  }
  return false;
}

bool StreamTable::HasUnordered(uint32_t number, uint32_t others, uint32_t time) const {
  for (; others != 0; others &= others - 1) {
    if (synced_[number][static_cast<uint32_t>(std::countr_zero(others))] <= time) return true;
  }
  return false;
}

absl::Status StreamTable::AwaitForgotten(Stream& stream, uint64_t capture, const Slot& slot,
                                         bool* beyond_reach) {
  if (slot.last_of_forgotten == nullptr) return absl::OkStatus();
  if (capture == 0) return stream.Wait(*slot.last_of_forgotten);
  *beyond_reach = true;
  return absl::OkStatus();
}

absl::Status StreamTable::OrderAfter(Stream& stream, uint64_t capture, const Slot& slot,
                                     bool* beyond_reach) {
  GRAPHTREE_RETURN_IF_ERROR(AwaitForgotten(stream, capture, slot, beyond_reach));
  for (Stream* other : slot.streams) {
    if (other == &stream) continue;
    auto info = other->Capture();
    if (!info.ok()) return info.status();
    if (info->id == capture) {
      GRAPHTREE_RETURN_IF_ERROR(other->Record(*event_));
      GRAPHTREE_RETURN_IF_ERROR(stream.Wait(*event_));
    } else if (capture != 0) {
      *beyond_reach = true;
    } else {
      return absl::FailedPreconditionError(
          "bytes that an open capture has freed were asked for on a stream outside of it. End the "
          "capture first, or let the stream join it.");
    }
  }
  return absl::OkStatus();
}

absl::Status StreamTable::Order(uint32_t number, Stream& stream, LastUse last_use) {
  last_use.Merge(everywhere_);
  if (event_ == nullptr) {
    auto event = device_.NewEvent({});
    if (!event.ok()) return event.status();
    event_ = *std::move(event);
  }
  auto info = stream.Capture();
  if (!info.ok()) return info.status();
  for (uint32_t others = last_use.streams & ~(1u << number); others != 0; others &= others - 1) {
    const uint32_t other = static_cast<uint32_t>(std::countr_zero(others));
    if (synced_[number][other] > last_use.time) continue;
    bool beyond_reach = false;
    GRAPHTREE_RETURN_IF_ERROR(OrderAfter(stream, info->id, slots_[other], &beyond_reach));
    synced_[number][other] = ++clock_;
    const bool is_older = !captures_.empty() && last_use.time < captures_.back().began;
    if (!captures_.empty() && (beyond_reach || is_older)) {
      captures_.back().awaited_at_launch |= 1u << other;
    }
  }
  return absl::OkStatus();
}

void StreamTable::EnterCapture() {
  captures_.push_back({++clock_, 0, synced_});
}

std::vector<Stream*> StreamTable::LeaveCapture() {
  std::vector<Stream*> awaited;
  for (uint32_t bits = captures_.back().awaited_at_launch; bits != 0; bits &= bits - 1) {
    const Slot& slot = slots_[static_cast<uint32_t>(std::countr_zero(bits))];
    awaited.insert(awaited.end(), slot.streams.begin(), slot.streams.end());
  }
  synced_ = captures_.back().synced_outside;
  captures_.pop_back();
  ++clock_;
  return awaited;
}

}  // namespace graphtree
