// Recording events on the earlier users of bytes, and letting the new user wait for them.
#include "allocator/order/stream_table.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

absl::Status CannotAwait(const char* what) {
  return absl::FailedPreconditionError(absl::StrCat(
      "a stream that uses the pool is capturing, so it cannot be ", what, ". End the capture."));
}

// The id of the stream's capture; 0: none. A question that failed once may be answered the next
// time, and a stream that ends in a capture must be known as one of that capture: else it would be
// waited for after it, for ever in vain.
uint64_t CaptureOf(Stream& stream) {
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const absl::StatusOr<CaptureInfo> info = stream.Capture();
    if (info.ok()) return info->id;
  }
  return 0;
}

}  // namespace

StreamTable::Known* StreamTable::Find(const StreamLife* life, uint32_t* number) {
  for (*number = 0; *number < slots_.size(); ++*number) {
    for (Known& known : slots_[*number].streams) {
      if (known.life.get() == life) return &known;
    }
  }
  return nullptr;
}

// From now on nothing that is freed has the last stream's bit unseen.
void StreamTable::LeaveLast() {
  if (last_stream_ == nullptr) return;
  uses_.Freed(last_number_, clock_);
  last_stream_ = nullptr;
}

StreamTable::Known& StreamTable::Add(Stream& stream, uint64_t capture, uint32_t* number) {
  ForgetEnded();
  *number = SlotForNew();
  slots_[*number].streams.push_back({stream.life(), capture});
  Refresh(*number);
  return slots_[*number].streams.back();
}

uint32_t StreamTable::LookUp(Stream& stream) {
  const StreamLife* const life = stream.life().get();
  uint32_t number = 0;
  Known* known = Find(life, &number);
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
  if (Find(stream.life().get(), &number) == nullptr) Add(stream, CaptureOf(stream), &number);
  uses_.IsAtWork(number);
  return number;
}

// Whether nobody need ask for the stream any more.
bool StreamTable::ForgetIfEnded(const Known& known) {
  if (!known.life->has_ended()) return false;
  if (known.was_of_capture()) return device_.open_captures() == 0;
  return Carry(*known.life).ok();
}

// Streams that have ended are forgotten when new ones come, however short each one's life is.
void StreamTable::ForgetEnded() {
  for (uint32_t number = 0; number < slots_.size(); ++number) {
    Slot& slot = slots_[number];
    bool carried = false;
    const auto gone = std::remove_if(
        slot.streams.begin(), slot.streams.end(), [&](const Known& known) {
          if (!ForgetIfEnded(known)) return false;
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

// A bit of its own, else one whose streams were all forgotten, else one to share.
uint32_t StreamTable::SlotForNew() {
  if (slots_.size() < kMostSlots) {
    slots_.emplace_back();
    return static_cast<uint32_t>(slots_.size() - 1);
  }
  const auto empty = std::find_if(slots_.begin(), slots_.end(),
                                  [](const Slot& slot) { return slot.streams.empty(); });
  if (empty != slots_.end()) return static_cast<uint32_t>(empty - slots_.begin());
  next_shared_ = (next_shared_ + 1) % kMostSlots;
  return next_shared_;
}

// Where one stream of a shared slot has waited, the others have not.
void StreamTable::Refresh(uint32_t number) {
  const Slot& slot = slots_[number];
  const bool is_shared = slot.streams.size() + (slot.has_forgotten ? 1 : 0) > 1;
  shared_ = (shared_ & ~(1u << number)) | (is_shared ? 1u << number : 0);
  synced_[number].fill(0);
  synced_inside_[number].fill(0);
  if (continues_on_ == number) continues_on_ = kNoSlot;
}

absl::Status StreamTable::MakeEvent() {
  if (event_ != nullptr) return absl::OkStatus();
  GRAPHTREE_ASSIGN_OR_RETURN(event_, device_.NewEvent({}));
  return absl::OkStatus();
}

absl::Status StreamTable::Await(StreamLife& other, Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(MakeEvent());
  return other.Await(*event_, stream);
}

absl::Status StreamTable::Carry(StreamLife& life) {
  if (courier_ == nullptr) {
    GRAPHTREE_ASSIGN_OR_RETURN(courier_, device_.NewStream());
  }
  return Await(life, *courier_);
}

absl::Status StreamTable::UsedEverywhereBy(StreamLife& ended) {
  GRAPHTREE_RETURN_IF_ERROR(Carry(ended));
  UsedEverywhereOn(NumberOf(*courier_));
  return absl::OkStatus();
}

absl::Status StreamTable::Forget(Stream& stream) {
  const std::shared_ptr<StreamLife> life = stream.life();
  for (uint32_t number = 0; number < slots_.size(); ++number) {
    Slot& slot = slots_[number];
    const auto at = std::find_if(slot.streams.begin(), slot.streams.end(),
                                 [&](const Known& known) { return known.life == life; });
    if (at == slot.streams.end()) continue;
    GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo info, stream.Capture());
    if (info.state != CaptureState::kNone) return CannotAwait("forgotten");
    GRAPHTREE_RETURN_IF_ERROR(Carry(*life));
    slot.streams.erase(at);
    slot.has_forgotten = true;
    Refresh(number);
    if (last_stream_ == life.get()) LeaveLast();
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

std::shared_ptr<StreamLife> StreamTable::AnyOf(uint32_t bits) const {
  for (; bits != 0; bits &= bits - 1) {
    const Slot& slot = slots_[static_cast<uint32_t>(std::countr_zero(bits))];
    for (const Known& known : slot.streams) {
      if (!known.life->has_ended()) return known.life;
    }
  }
  return nullptr;
}

// By an event: the stream's own thread may begin a capture at any time, and a wait for the stream
// would break that.
absl::Status StreamTable::Synchronize(const Known& known) {
  GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo info, known.life->Capture());
  const bool captures = info.state != CaptureState::kNone;
  if (captures && known.used_in == info.id) return CannotAwait("waited for");
  GRAPHTREE_RETURN_IF_ERROR(MakeEvent());
  const absl::Status done = known.life->AwaitOnHost(*event_);
  return captures && !done.ok() ? CannotAwait("waited for") : done;
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
  for (const Slot& slot : slots_) {
    for (const Known& known : slot.streams) {
      if (!known.was_of_capture()) first.Update(Synchronize(known));
    }
  }
  if (courier_ == nullptr) return first;
  const absl::Status carried = courier_->Synchronize();
  if (carried.ok()) AllCarriedIsDone();
  first.Update(carried);
  return first;
}

absl::Status StreamTable::SynchronizeAndForget(Forgets whom) {
  absl::Status first;
  for (uint32_t number = 0; number < slots_.size(); ++number) {
    std::vector<Known> left;
    for (const Known& known : slots_[number].streams) {
      if (known.was_of_capture()) continue;
      const absl::Status status = Synchronize(known);
      first.Update(status);
      // A stream that has ended and cannot be waited for is given up.
      const bool may_stay = !known.life->has_ended() && device_.health().ok();
      if (may_stay && (!status.ok() || whom == Forgets::kEnded)) left.push_back(known);
    }
    slots_[number].streams = std::move(left);
    Refresh(number);
  }
  LeaveLast();
  if (courier_ == nullptr) return first;
  const absl::Status carried = courier_->Synchronize();
  if (carried.ok()) AllCarriedIsDone();
  first.Update(carried);
  return first;
}

std::unique_ptr<Stream> StreamTable::CarryAll(StreamLives* left) {
  for (const Slot& slot : slots_) {
    for (const Known& known : slot.streams) {
      if (!known.was_of_capture() && !Carry(*known.life).ok()) left->push_back(known.life);
    }
  }
  return std::move(courier_);
}

bool StreamTable::IsOfCapture(const Slot& slot, uint64_t capture) {
  return std::any_of(slot.streams.begin(), slot.streams.end(),
                     [capture](const Known& known) { return known.used_in == capture; });
}

template <typename May>
bool StreamTable::AnyCaptures(const Slot& slot, const May& may) {
  return std::any_of(slot.streams.begin(), slot.streams.end(), [&may](const Known& known) {
    const absl::StatusOr<CaptureInfo> info = known.life->Capture();
    return info.ok() && info->state != CaptureState::kNone && may(known, info->id);
  });
}

bool StreamTable::IsInForeignCapture(uint32_t number) const {
  if (device_.open_captures() == 0) return false;
  return AnyCaptures(slots_[number], [](const Known& known, uint64_t capture) {
    return capture != known.used_in;
  });
}

bool StreamTable::IsUsedByCapture() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return AnyCaptures(slot, [](const Known& known, uint64_t capture) {
      return capture == known.used_in;
    });
  });
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

// The capture of the stream that was asked about last; 0: none.
uint64_t StreamTable::CaptureOfLast() const {
  if (last_stream_ == nullptr) return 0;
  for (const Known& known : slots_[last_number_].streams) {
    if (known.life.get() == last_stream_) return known.used_in;
  }
  return 0;
}

bool StreamTable::IsLostToCapture(const Slot& slot) const {
  // The streams are asked themselves: the device does not know of captures that others have begun.
  const uint64_t own = CaptureOfLast();
  return AnyCaptures(slot, [own](const Known& known, uint64_t capture) {
    return capture != own && !MayAwaitBefore(known, capture);
  });
}

// Who waits for a stream has waited for all that this stream has waited for.
void StreamTable::InheritWaits(uint32_t number, uint32_t other) {
  for (uint32_t i = 0; i < kMostSlots; ++i) {
    synced_[number][i] = std::max(synced_[number][i], synced_[other][i]);
  }
}

// In a capture the wait is the graph's.
void StreamTable::PassTo(uint32_t number) {
  const uint32_t before = std::exchange(continues_on_, IsShared(number) ? kNoSlot : number);
  if (before == kNoSlot || continues_on_ == kNoSlot) return;
  if (slots_[number].streams[0].used_in != 0) {
    continues_on_ = kNoSlot;
    return;
  }
  InheritWaits(number, before);
  synced_[number][before] = ++clock_;
}

bool StreamTable::HasUnordered(uint32_t number, uint32_t others, LastUse last_use) const {
  if (IsShared(number)) return true;
  for (; others != 0; others &= others - 1) {
    const uint32_t other = static_cast<uint32_t>(std::countr_zero(others));
    const uint32_t until = UsedUntil(other, last_use);
    if (until != 0 && synced_[number][other] <= until) return true;
  }
  return false;
}

// The graph's launches, not the capture's ops, wait for work from before the capture.
absl::Status StreamTable::OrderAfterOne(const Known& other, Stream& stream, uint64_t capture) {
  GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo info, other.life->Capture());
  const bool has_ended = other.life->has_ended();
  const uint64_t ended_in = other.life->ended_in();
  if (has_ended && ended_in != capture && (ended_in == 0 || other.was_of_capture())) {
    return absl::OkStatus();
  }
  if (has_ended || info.id == capture) return Await(*other.life, stream);
  if (info.id == 0) return absl::OkStatus();
  if (capture != 0 && MayAwaitBefore(other, info.id)) return absl::OkStatus();
  const bool is_of_its_graph = other.used_in == info.id;
  if (capture == 0 && !is_of_its_graph) return Await(*other.life, stream);
  return absl::FailedPreconditionError(
      "the bytes were used on a stream that an open capture has now, and a stream outside of it "
      "cannot come after that use. End the capture first, or let the stream join it.");
}

absl::Status StreamTable::OrderAfter(Stream& stream, uint64_t capture, const Slot& slot) {
  if (slot.has_forgotten && capture == 0) {
    GRAPHTREE_RETURN_IF_ERROR(Await(*courier_->life(), stream));
  }
  for (const Known& other : slot.streams) {
    if (other.life == stream.life()) continue;
    GRAPHTREE_RETURN_IF_ERROR(OrderAfterOne(other, stream, capture));
  }
  return absl::OkStatus();
}

// Whatever bytes they are.
bool StreamTable::HasWaitedFor(uint32_t number, uint32_t other) const {
  const LastUse latest = {.streams = 1u << other, .time = clock_};
  const uint32_t until = UsedUntil(other, latest);
  return until == 0 || (number != kNoSlot && !IsShared(number) && synced_[number][other] > until);
}

absl::StatusOr<uint32_t> StreamTable::OutOfReach(uint32_t number, Stream& stream) const {
  GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo own, stream.Capture());
  // Work of a capture comes where its graph is launched.
  const uint32_t waiter = own.id == 0 ? number : continues_on_;
  uint32_t bits = 0;
  for (uint32_t other = 0; other < slots_.size(); ++other) {
    for (const Known& known : slots_[other].streams) {
      GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo info, known.life->Capture());
      const bool is_elsewhere = info.id != 0 && info.id != own.id;
      if (!is_elsewhere || MayAwaitBefore(known, info.id)) continue;
      if (!HasWaitedFor(waiter, other)) bits |= 1u << other;
    }
  }
  return bits;
}

// An edge inside a capture is no wait outside of it, nor in the next capture.
StreamTable::Matrix& StreamTable::SyncedIn(uint64_t capture) {
  if (capture == 0) return synced_;
  if (inside_ != capture) {
    synced_inside_ = {};
    inside_ = capture;
  }
  return synced_inside_;
}

absl::Status StreamTable::Order(uint32_t number, Stream& stream, LastUse last_use,
                                uint32_t* users) {
  const uint32_t all = OthersOf(number, UsersOf(last_use));
  if (all != 0) GRAPHTREE_RETURN_IF_ERROR(OrderAfter(all, number, stream, last_use, users));
  NoteForLaunches(UsersOf(last_use));
  return absl::OkStatus();
}

absl::Status StreamTable::OrderAfter(uint32_t all, uint32_t number, Stream& stream,
                                     LastUse last_use, uint32_t* users) {
  GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo info, stream.Capture());
  if (info.id != 0) *users |= all;
  Matrix& synced = SyncedIn(info.id);
  for (uint32_t others = all; others != 0; others &= others - 1) {
    const uint32_t other = static_cast<uint32_t>(std::countr_zero(others));
    const uint32_t time = UsedUntil(other, last_use);
    const bool is_known = time == 0 || (!IsShared(number) && synced[number][other] > time);
    // Launches come after all that was waited for on the stream where the tree goes on, but for
    // what the capture itself does.
    const bool is_outside = info.id != 0 && !IsOfCapture(slots_[other], info.id);
    if (is_known || (is_outside && HasWaitedFor(continues_on_, other))) continue;
    GRAPHTREE_RETURN_IF_ERROR(OrderAfter(stream, info.id, slots_[other]));
    ++clock_;
    if (IsShared(number)) continue;
    synced[number][other] = clock_;
    if (info.id == 0 && !IsShared(other)) InheritWaits(number, other);
  }
  // Bit `number` stands for this stream alone now, and the stream has waited for those that shared
  // the bit before.
  Slot& own = slots_[number];
  const bool inherits = (all >> number & 1) != 0 && own.streams.size() == 1 && info.id == 0;
  if (inherits && own.has_forgotten) {
    own.has_forgotten = false;
    Refresh(number);
  }
  return absl::OkStatus();
}

void StreamTable::NoteForLaunches(uint32_t streams) {
  if (awaited_.empty()) return;
  for (uint32_t& awaited : awaited_) awaited |= streams;
  untold_ &= ~streams;
}

void StreamTable::EnterCapture() {
  ++clock_;
  awaited_.push_back(0);
  untold_ = ~0u;
}

StreamLives StreamTable::AwaitedAtLaunch() const {
  StreamLives awaited;
  bool has_forgotten = false;
  for (uint32_t bits = awaited_.back(); bits != 0; bits &= bits - 1) {
    const uint32_t number = static_cast<uint32_t>(std::countr_zero(bits));
    if (HasWaitedFor(continues_on_, number)) continue;
    const Slot& slot = slots_[number];
    for (const Known& known : slot.streams) {
      if (!known.was_of_capture()) awaited.push_back(known.life);
    }
    has_forgotten = has_forgotten || slot.has_forgotten;
  }
  if (has_forgotten) awaited.push_back(courier_->life());
  return awaited;
}

StreamLives StreamTable::LeaveCapture() {
  StreamLives awaited = AwaitedAtLaunch();
  awaited_.pop_back();
  untold_ = awaited_.empty() ? 0 : ~awaited_.back();
  ++clock_;
  return awaited;
}

}  // namespace graphtree
