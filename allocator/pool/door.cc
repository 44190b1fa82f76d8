// Calls that come in when something is unusual: work waits, or the call is refused.
#include "allocator/pool/door.h"

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {

absl::Status Door::EnterUnusual(const Entry& entry) {
  if (!entry.ok()) return Entry::TwoThreads();
  return what_waits_(entry);
}

bool Door::IsRefused(const Entry& entry, absl::string_view call) {
  if (entry.ok()) return false;
  const absl::Status why = Entry::TwoThreads();
  const std::lock_guard<std::mutex> lock(mutex_);
  first_refused_call_.Update(
      absl::Status(why.code(), absl::StrCat(call, ": ", why.message())));
  return true;
}

absl::Status Door::first_refused_call() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return first_refused_call_;
}

absl::Status Door::UsedWhileParked(absl::string_view what) const {
  return absl::FailedPreconditionError(absl::StrCat(
      "pool \"", name_, "\" is parked: ", what, " needs its memory. Call Wake first."));
}

void Door::BeginAsking(BlockId block) {
  asked_for_ = block;
  is_asking_ = is_special_ = true;
}

absl::Status Door::NotWhileAsking(absl::string_view what) const {
  return absl::FailedPreconditionError(
      absl::StrCat("pool \"", name_, "\" asks for memory and an allocation is half done: ",
                   "its callback may not ", what, " it. Free, drop checkpoints or trim."));
}

void Door::BeginClosing() {
  is_closing_ = is_special_ = true;
  waiting_.frees().Stop();
}

void Door::SetClosed() {
  is_closed_ = is_special_ = true;
  waiting_.frees().Stop();
}

absl::Status Door::Closed() const {
  return absl::FailedPreconditionError(absl::StrCat("pool \"", name_, "\" is closed"));
}

}  // namespace graphtree
