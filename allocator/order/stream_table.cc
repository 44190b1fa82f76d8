// Knows who has used which bytes, and who has waited for whom.
#include "allocator/order/stream_table.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "device/base/status_macros.h"

namespace graphtree {
namespace {

// The id of the stream's capture; 0: none; kSomeCapture: it cannot say. A question that failed once
// may be answered the next time, and a stream that ends in a capture must be known as one of that
// capture: else it would be waited for after it, for ever in vain.
uint64_t CaptureOf(Stream& stream) {
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const absl::StatusOr<CaptureInfo> info = stream.Capture();
    if (info.ok()) return info->id;
  }
  return StreamLife::kSomeCapture;
}

}  // namespace

// From now on nothing that is freed has the last stream's bit unseen.
void StreamTable::LeaveLast() {
  if (last_stream_ == nullptr) return;
  uses_.Freed(last_number_, clock_);
  last_stream_ = nullptr;
}

KnownStream& StreamTable::Add(Stream& stream, uint64_t capture, uint32_t* number) {
  ForgetEnded();
  *number = slots_.SlotForNew();
  slots_[*number].streams.push_back({stream.life(), capture});
  Refresh(*number);
  return slots_[*number].streams.back();
}

uint32_t StreamTable::LookUp(Stream& stream) {
  const StreamLife* const life = stream.life().get();
  uint32_t number = 0;
  KnownStream* known = slots_.Find(life, &number);
  uint64_t capture = 0;
  if (known == nullptr || device_.open_captures() > 0) capture = CaptureOf(stream);
  if (known == nullptr) known = &Add(stream, capture, &number);
  known->used_in = capture;
  if (last_stream_ != life) LeaveLast();
  last_stream_ = life;
  uses_.IsAtWork(number);
  return last_number_ = number;
}

uint32_t StreamTable::NumberOfUser(Stream& stream) {
  uint32_t number = 0;
  if (slots_.Find(stream.life().get(), &number) == nullptr) Add(stream, CaptureOf(stream), &number);
  uses_.IsAtWork(number);
  return number;
}

// Streams that have ended are forgotten when new ones come, however short each one's life is.
void StreamTable::ForgetEnded() {
  for (uint32_t number = 0; number < slots_.size(); ++number) {
    StreamSlot& slot = slots_[number];
    bool carried = false;
    const auto gone = std::remove_if(
        slot.streams.begin(), slot.streams.end(), [&](const KnownStream& known) {
          if (!courier_.TakesOver(known)) return false;
          carried = carried || !known.was_of_capture();
          if (last_stream_ == known.life.get()) LeaveLast();
          return true;
        });
    if (gone == slot.streams.end()) continue;
    slot.streams.erase(gone, slot.streams.end());
    slot.has_forgotten = slot.has_forgotten || carried;
    Refresh(number);
  }
}

// Where one stream of a shared slot has waited, the others have not.
void StreamTable::Refresh(uint32_t number) {
  slots_.Refresh(number);
  waits_.Forget(number);
  if (continues_on_ == number) continues_on_ = kNoSlot;
}

absl::Status StreamTable::UsedEverywhereBy(StreamLife& ended) {
  GRAPHTREE_RETURN_IF_ERROR(courier_.Carry(ended));
  UsedEverywhereOn(NumberOf(*courier_.stream()));
  return absl::OkStatus();
}

absl::Status StreamTable::Forget(Stream& stream) {
  const std::shared_ptr<StreamLife> life = stream.life();
  for (uint32_t number = 0; number < slots_.size(); ++number) {
    StreamSlot& slot = slots_[number];
    const auto at = std::find_if(slot.streams.begin(), slot.streams.end(),
                                 [&](const KnownStream& known) { return known.life == life; });
    if (at == slot.streams.end()) continue;
    GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo info, stream.Capture());
    if (info.state != CaptureState::kNone) return Courier::StreamCaptures("forgotten");
    GRAPHTREE_RETURN_IF_ERROR(courier_.Carry(*life));
    slot.streams.erase(at);
    slot.has_forgotten = true;
    Refresh(number);
    if (last_stream_ == life.get()) LeaveLast();
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

void StreamTable::AllCarriedIsDone() {
  for (uint32_t number = 0; number < slots_.size(); ++number) {
    if (!slots_[number].has_forgotten) continue;
    slots_[number].has_forgotten = false;
    Refresh(number);
  }
}

absl::Status StreamTable::SynchronizeAll() {
  absl::Status first;
  for (const StreamSlot& slot : slots_) {
    for (const KnownStream& known : slot.streams) {
      if (!known.was_of_capture()) first.Update(courier_.AwaitOnHost(known));
    }
  }
  const absl::Status carried = courier_.Synchronize();
  if (carried.ok()) AllCarriedIsDone();
  first.Update(carried);
  return first;
}

absl::Status StreamTable::SynchronizeAndForget(Forgets whom) {
  absl::Status first;
  for (uint32_t number = 0; number < slots_.size(); ++number) {
    std::vector<KnownStream> left;
    for (const KnownStream& known : slots_[number].streams) {
      if (known.was_of_capture()) continue;
      const absl::Status status = courier_.AwaitOnHost(known);
      first.Update(status);
      // A stream that has ended and cannot be waited for is given up.
      const bool may_stay = !known.life->has_ended() && device_.health().ok();
      if (may_stay && (!status.ok() || whom == Forgets::kEnded)) left.push_back(known);
    }
    slots_[number].streams = std::move(left);
    Refresh(number);
  }
  LeaveLast();
  const absl::Status carried = courier_.Synchronize();
  if (carried.ok()) AllCarriedIsDone();
  first.Update(carried);
  return first;
}

std::unique_ptr<Stream> StreamTable::CarryAll(StreamLives* left) {
  for (const StreamSlot& slot : slots_) {
    for (const KnownStream& known : slot.streams) {
      if (!known.was_of_capture() && !courier_.Carry(*known.life).ok()) left->push_back(known.life);
    }
  }
  return courier_.Take();
}

void StreamTable::NoteFreedByBooks(uint32_t streams) {
  for (uint32_t bits = streams & ~last_bit(); bits != 0; bits &= bits - 1) {
    uses_.Freed(static_cast<uint32_t>(std::countr_zero(bits)), clock_);
  }
}

void StreamTable::NoteFreed(uint32_t streams, Quanta bytes) {
  for (uint32_t bits = streams & ~last_bit(); bits != 0; bits &= bits - 1) {
    uses_.FreedApart(static_cast<uint32_t>(std::countr_zero(bits)), bytes, clock_);
  }
}

void StreamTable::SettleAside() {
  for (uint32_t bits = aside().bits(); bits != 0; bits &= bits - 1) {
    const uint32_t number = static_cast<uint32_t>(std::countr_zero(bits));
    if (!IsLostToCapture(slots_[number])) uses_.Settle(number, clock_);
  }
}

void StreamTable::SetAsideAll(uint32_t streams, absl::Span<const Quanta> bytes) {
  for (uint32_t bits = streams; bits != 0; bits &= bits - 1) {
    uses_.SetAllAside(static_cast<uint32_t>(std::countr_zero(bits)), bytes);
  }
}

bool StreamTable::IsLostToCapture(const StreamSlot& slot) const {
  // The streams are asked themselves: the device does not know of captures that others have begun.
  const uint64_t own =
      last_stream_ == nullptr ? 0 : slots_.CaptureOf(last_number_, last_stream_);
  return slot.AnyCaptures([own](const KnownStream& known, uint64_t capture) {
    return capture != own && !known.MayBeAwaitedBefore(capture);
  });
}

// In a capture the wait is the graph's.
void StreamTable::PassTo(uint32_t number) {
  const uint32_t before = std::exchange(continues_on_, slots_.IsShared(number) ? kNoSlot : number);
  if (before == kNoSlot || continues_on_ == kNoSlot) return;
  if (slots_[number].streams[0].used_in != 0) {
    continues_on_ = kNoSlot;
    return;
  }
  waits_.Inherit(number, before);
  waits_.Set(number, before, ++clock_);
}

bool StreamTable::HasUnordered(uint32_t number, uint32_t others, LastUse last_use) const {
  if (slots_.IsShared(number)) return true;
  for (; others != 0; others &= others - 1) {
    const uint32_t other = static_cast<uint32_t>(std::countr_zero(others));
    const uint32_t until = UsedUntil(other, last_use);
    if (until != 0 && waits_.At(number, other) <= until) return true;
  }
  return false;
}

// Whatever bytes they are.
bool StreamTable::HasWaitedFor(uint32_t number, uint32_t other) const {
  const LastUse latest = {.streams = 1u << other, .time = clock_};
  const uint32_t until = UsedUntil(other, latest);
  if (until == 0) return true;
  return number != kNoSlot && !slots_.IsShared(number) && waits_.At(number, other) > until;
}

absl::StatusOr<uint32_t> StreamTable::OutOfReach(uint32_t number, Stream& stream) const {
  GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo own, stream.Capture());
  // Work of a capture comes where its graph is launched.
  const uint32_t waiter = own.id == 0 ? number : continues_on_;
  uint32_t bits = 0;
  for (uint32_t other = 0; other < slots_.size(); ++other) {
    for (const KnownStream& known : slots_[other].streams) {
      GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo info, known.life->Capture());
      const bool is_elsewhere = info.id != 0 && info.id != own.id;
      if (!is_elsewhere || known.MayBeAwaitedBefore(info.id)) continue;
      if (!HasWaitedFor(waiter, other)) bits |= 1u << other;
    }
  }
  return bits;
}

absl::Status StreamTable::Order(uint32_t number, Stream& stream, LastUse last_use,
                                uint32_t* users) {
  const uint32_t all = OthersOf(number, UsersOf(last_use));
  if (all != 0) GRAPHTREE_RETURN_IF_ERROR(OrderAfter(all, number, stream, last_use, users));
  launches_.Note(UsersOf(last_use));
  return absl::OkStatus();
}

absl::Status StreamTable::OrderAfter(uint32_t all, uint32_t number, Stream& stream,
                                     LastUse last_use, uint32_t* users) {
  GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo info, stream.Capture());
  if (info.id != 0) *users |= all;
  Waits::Matrix& synced = waits_.In(info.id);
  for (uint32_t others = all; others != 0; others &= others - 1) {
    const uint32_t other = static_cast<uint32_t>(std::countr_zero(others));
    const uint32_t time = UsedUntil(other, last_use);
    const bool is_known = time == 0 || (!slots_.IsShared(number) && synced[number][other] > time);
    // Launches come after all that was waited for on the stream where the tree goes on, but for
    // what the capture itself does.
    const bool is_outside = info.id != 0 && !slots_[other].IsOfCapture(info.id);
    if (is_known || (is_outside && HasWaitedFor(continues_on_, other))) continue;
    GRAPHTREE_RETURN_IF_ERROR(courier_.OrderAfter(stream, info.id, slots_[other]));
    ++clock_;
    if (slots_.IsShared(number)) continue;
    synced[number][other] = clock_;
    if (info.id == 0 && !slots_.IsShared(other)) waits_.Inherit(number, other);
  }
  // Bit `number` stands for this stream alone now, and the stream has waited for those that shared
  // the bit before.
  StreamSlot& own = slots_[number];
  const bool inherits = (all >> number & 1) != 0 && own.streams.size() == 1 && info.id == 0;
  if (inherits && own.has_forgotten) {
    own.has_forgotten = false;
    Refresh(number);
  }
  return absl::OkStatus();
}

void StreamTable::EnterCapture() {
  ++clock_;
  launches_.Enter();
}

StreamLives StreamTable::AwaitedAtLaunch() const {
  StreamLives awaited;
  bool has_forgotten = false;
  for (uint32_t bits = launches_.awaited(); bits != 0; bits &= bits - 1) {
    const uint32_t number = static_cast<uint32_t>(std::countr_zero(bits));
    if (HasWaitedFor(continues_on_, number)) continue;
    const StreamSlot& slot = slots_[number];
    for (const KnownStream& known : slot.streams) {
      if (!known.was_of_capture()) awaited.push_back(known.life);
    }
    has_forgotten = has_forgotten || slot.has_forgotten;
  }
  if (has_forgotten) awaited.push_back(courier_.stream()->life());
  return awaited;
}

StreamLives StreamTable::LeaveCapture() {
  StreamLives awaited = AwaitedAtLaunch();
  launches_.Leave();
  ++clock_;
  return awaited;
}

}  // namespace graphtree
