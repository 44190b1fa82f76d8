// Checks what is asked for, and holds the one profile that runs.
#include "profiler/profile.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "profiler/live/running.h"

namespace graphtree {
namespace {

// One profile runs at a time: CUPTI serves one, and launches are told once.
std::atomic<bool> runs{false};

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
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Profile>> Profile::Start(ProfileOptions options) {
  absl::Status sensible = Check(options);
  if (!sensible.ok()) return sensible;
  if (runs.exchange(true)) {
    return absl::FailedPreconditionError(
        "a profile runs in this process already; stop that one first");
  }
  absl::StatusOr<std::unique_ptr<live::Running>> running =
      live::Running::Start(std::move(options));
  if (!running.ok()) {
    runs.store(false);
    return running.status();
  }
  return std::unique_ptr<Profile>(new Profile(*std::move(running)));
}

Profile::Profile(std::unique_ptr<live::Running> running) : running_(std::move(running)) {}

Profile::~Profile() { Stop(); }

ProfileMode Profile::mode() const {
  return running_ != nullptr ? running_->mode() : report_.mode;
}

bool Profile::AwaitWindow(std::chrono::nanoseconds patience) {
  return running_ == nullptr || running_->AwaitWindow(patience);
}

ProfileReport Profile::Stop() {
  if (running_ == nullptr) return report_;
  report_ = running_->Stop();
  running_.reset();
  runs.store(false);
  return report_;
}

}  // namespace graphtree
