// Checks what is asked for, and holds the one profile that runs.
#include "profiler/profile.h"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "profiler/live/running.h"

namespace graphtree {
namespace {

// One profile runs at a time: CUPTI serves one, and launches are told once. The process that it
// runs in; 0: none.
std::atomic<int64_t> runs_in{0};

absl::Status Claim() {
  int64_t nobody = 0;
  if (runs_in.compare_exchange_strong(nobody, getpid())) return absl::OkStatus();
  if (nobody == getpid()) {
    return absl::FailedPreconditionError(
        "a profile runs in this process already; stop that one first");
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "this process was forked from ", nobody, " while a profile ran there, and can have none"));
}

absl::Status Check(const ProfileOptions& options) {
  if (options.tables == nullptr || options.listener == nullptr) {
    return absl::InvalidArgumentError("a profile wants tables and a listener for its trace");
  }
  if (options.most_replays == 0) {
    return absl::InvalidArgumentError("a profile's window of 0 replays would show nothing");
  }
  if (options.most_time.has_value() && options.most_time->count() <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("a profile's window of ",
                                                   options.most_time->count(),
                                                   " ns would show nothing"));
  }
  if (options.light_in == 0) {
    return absl::InvalidArgumentError("a light profile cannot time one replay in 0");
  }
  const size_t room = options.queue_room;
  if (room < 2 || (room & (room - 1)) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a queue of ", room, " places is none: their number is a power of two, from 2 on"));
  }
  if (options.mode == ProfileMode::kLight && options.device == nullptr) {
    return absl::InvalidArgumentError("a light profile wants the device whose launches it times");
  }
  if (options.device != nullptr && options.device->IsInsideWork()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a profile cannot begin inside work of ", options.device->info().name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Profile>> Profile::Start(ProfileOptions options) {
  absl::Status sensible = Check(options);
  if (!sensible.ok()) return sensible;
  absl::Status alone = Claim();
  if (!alone.ok()) return alone;
  const Device* const device = options.device;
  absl::StatusOr<std::unique_ptr<live::Running>> running =
      live::Running::Start(std::move(options));
  if (!running.ok()) {
    runs_in.store(0);
    return running.status();
  }
  return std::unique_ptr<Profile>(new Profile(*std::move(running), device));
}

Profile::Profile(std::unique_ptr<live::Running> running, const Device* device)
    : running_(std::move(running)), device_(device), process_(getpid()) {}

Profile::~Profile() { Stop(); }

ProfileMode Profile::mode() const {
  return running_ != nullptr ? running_->mode() : report_.mode;
}

bool Profile::AwaitWindow(std::chrono::nanoseconds patience) {
  return running_ == nullptr || running_->AwaitWindow(patience);
}

bool Profile::IsForked() const { return getpid() != process_; }

absl::Status Profile::MayStop() const {
  if (running_ == nullptr) return absl::OkStatus();
  if (IsForked()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the profile runs in process ", process_, "; this one, ", getpid(),
        ", was forked from it and has none of the profile's threads, so nothing ends here"));
  }
  if (device_ != nullptr && device_->IsInsideWork()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a profile cannot end inside work of ", device_->info().name, ", for which its end waits"));
  }
  return absl::OkStatus();
}

ProfileReport Profile::Stop() {
  if (running_ == nullptr) return report_;
  const absl::Status may = MayStop();
  if (IsForked()) {
    // Its locks may be held by threads that are not here, so it is left as it is.
    running_.release();
    report_.remarks.emplace_back(may.message());
    return report_;
  }
  report_ = running_->Stop(/*waits=*/may.ok());
  running_.reset();
  runs_in.store(0);
  return report_;
}

}  // namespace graphtree
