// Forgetting streams and waiting for them.
#include "allocator/pool/pool_streams.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {

absl::Status PoolStreams::Check(const Stream& stream) const {
  if (&stream.device() == &arena_.device()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("pool \"", arena_.name(), "\" lies on device ", arena_.device().info().name,
                   ", and the stream is one of device ", stream.device().info().name,
                   " that was opened apart from it"));
}

absl::Status PoolStreams::Forget(Stream& stream) {
  const Door::Entry entry(door_.guard());
  if (!entry.ok()) return Door::Entry::TwoThreads();
  return table_.Forget(stream);
}

void PoolStreams::Forget(std::unique_ptr<Stream> stream) {
  const Door::Entry entry(door_.guard());
  if (entry.ok() && table_.Forget(*stream).ok()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    guests_.push_back(std::move(stream));
  }
  if (!entry.ok() || !entry.is_outermost()) return;
  door_.waiting().deferred().Do("forget a stream", [this] { return ForgetGuests(); }).IgnoreError();
}

absl::Status PoolStreams::ForgetGuests() {
  const std::lock_guard<std::mutex> lock(mutex_);
  absl::Status first;
  std::vector<std::unique_ptr<Stream>> left;
  for (std::unique_ptr<Stream>& guest : guests_) {
    const absl::Status status = table_.Forget(*guest);
    if (!status.ok()) left.push_back(std::move(guest));
    first.Update(status);
  }
  guests_ = std::move(left);
  return first;
}

absl::Status PoolStreams::Wait() {
  const Door::Entry entry(door_.guard());
  if (!entry.ok()) return Door::Entry::TwoThreads();
  return Quiesce();
}

absl::Status PoolStreams::WaitAndForget(StreamTable::Forgets whom) {
  const Door::Entry entry(door_.guard());
  if (!entry.ok()) return Door::Entry::TwoThreads();
  NoteUsers(door_.waiting().frees().TakeUsers());
  absl::Status status = table_.SynchronizeAndForget(whom);
  status.Update(WaitForCopies());
  return status;
}

absl::Status PoolStreams::NoteLaunch(Stream& stream) {
  const Door::Entry entry(door_.guard());
  if (!entry.ok()) return Door::Entry::TwoThreads();
  if (door_.is_closed() || door_.is_closing()) return door_.Closed();
  if (door_.is_parked()) return door_.UsedWhileParked("a graph's launch");
  if (!table_.IsLast(stream)) GRAPHTREE_RETURN_IF_ERROR(Check(stream));
  const uint32_t number = table_.NumberOf(stream);
  table_.ContinuesOn(number);
  table_.UsedEverywhereOn(number);
  return absl::OkStatus();
}

absl::Status PoolStreams::NoteContinuesOn(Stream& stream) {
  const Door::Entry entry(door_.guard());
  if (!entry.ok()) return Door::Entry::TwoThreads();
  if (door_.is_closed() || door_.is_closing()) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(Check(stream));
  table_.ContinuesOn(table_.NumberOf(stream));
  return absl::OkStatus();
}

void PoolStreams::NoteUsers(const StreamLives& users) {
  for (const std::shared_ptr<StreamLife>& user : users) {
    const absl::Status noted = user->Use([this](Stream& stream) {
      GRAPHTREE_RETURN_IF_ERROR(Check(stream));
      table_.UsedEverywhereOn(table_.NumberOfUser(stream));
      return absl::OkStatus();
    });
    if (noted.ok() || (user->has_ended() && table_.UsedEverywhereBy(*user).ok())) continue;
    user->Synchronize().IgnoreError();  // the stream is another device object's
  }
}

absl::Status PoolStreams::Quiesce() {
  NoteUsers(door_.waiting().frees().TakeUsers());
  ForgetGuests().IgnoreError();  // a guest that stays is in the table, and is waited for there
  absl::Status status = table_.SynchronizeAll();
  status.Update(WaitForCopies());
  return status;
}

absl::StatusOr<Stream*> PoolStreams::CopyStream() {
  if (copy_stream_ == nullptr) {
    GRAPHTREE_ASSIGN_OR_RETURN(copy_stream_, arena_.device().NewStream());
  }
  return copy_stream_.get();
}

absl::Status PoolStreams::WaitForCopies() {
  if (copy_stream_ == nullptr) return absl::OkStatus();
  const absl::Status copied = copy_stream_->Synchronize();
  if (copied.ok()) unsettled_.clear();
  return copied;
}

void PoolStreams::KeepUntilCopied(std::vector<std::unique_ptr<HostBuffer>> buffers) {
  for (std::unique_ptr<HostBuffer>& buffer : buffers) {
    if (buffer != nullptr) unsettled_.push_back(std::move(buffer));
  }
}

void PoolStreams::LeaveTo(Estate* estate) {
  NoteUsers(door_.waiting().frees().TakeUsers());
  if (auto courier = table_.CarryAll(&estate->users)) estate->streams.push_back(std::move(courier));
  if (copy_stream_ != nullptr) estate->streams.push_back(std::move(copy_stream_));
  estate->buffers = std::move(unsettled_);
}

}  // namespace graphtree
