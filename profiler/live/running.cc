// Begins, goes round, ends.
#include "profiler/live/running.h"

#include <errno.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/guarded_call.h"
#include "device/base/status_macros.h"
#include "device/base/version.h"
#include "device/observer.h"

namespace graphtree::live {
namespace {

using std::chrono::steady_clock;

constexpr auto kRound = std::chrono::milliseconds(5);
constexpr auto kFlush = std::chrono::seconds(1);
constexpr auto kCountersPatience = std::chrono::seconds(2);
constexpr size_t kMostRemarks = 100;

Wishes WishesOf(ProfileMode mode, uint64_t light_in) {
  Wishes wishes;
  wishes.phases = true;
  wishes.ops = mode != ProfileMode::kLight;
  wishes.replay_in = mode == ProfileMode::kLight ? light_in : 1;
  return wishes;
}

}  // namespace

Running::Running(ProfileOptions options)
    : options_(std::move(options)),
      queue_(options_.queue_room),
      watch_({clock_, queue_, options_.source}),
      mode_(options_.mode),
      began_(steady_clock::now()),
      next_flush_(began_ + kFlush),
      maker_(*options_.tables, *options_.listener),
      full_({.source = options_.source,
             .why_none = options_.why_no_source,
             .host = clock_,
             .making = making_,
             .fit = maker_.clock(),
             .listener = *this},
            began_) {}

absl::StatusOr<std::unique_ptr<Running>> Running::Start(ProfileOptions options) {
  auto running = std::unique_ptr<Running>(new Running(std::move(options)));
  if (running->options_.mode == ProfileMode::kLight) {
    GRAPHTREE_RETURN_IF_ERROR(running->TimeLaunches());
  }
  running->BeginTrace();
  running->Watch(running->options_.mode);
  if (running->options_.mode == ProfileMode::kFull) {
    const absl::Status attached = running->full_.Attach();
    if (!attached.ok()) running->DoWithLess(attached);
  }
  const absl::Status started = running->StartThreads();
  if (started.ok()) return running;
  running->EndTrace();
  return started;
}

// The system may have no thread left.
absl::Status Running::StartThreads() {
  GRAPHTREE_RETURN_IF_ERROR(counters_.Start(
      options_.counters, options_.counter_every,
      [this](const ProfileCounter& counter, double value) {
        const std::lock_guard<std::mutex> lock(making_);
        maker_.Count(clock_.Now(), counter.name, counter.series, value);
      }));
  return GuardedBy("starting the profile's thread",
                   [this] { thread_ = std::thread([this] { Loop(); }); });
}

Running::~Running() { Stop(/*waits=*/true); }

void Running::BeginTrace() {
  trace::TraceHeader header;
  header.base_ns = clock_.Now();
  header.made_by = absl::StrCat("graphtree ", kVersion);
  options_.listener->Begin(header);
  trace::LaneName process;
  process.process = getpid();
  process.name = options_.tables->Text(program_invocation_short_name);
  options_.listener->Lane(process);
}

void Running::Watch(ProfileMode mode) {
  Observers::OfProcess().Leave(&watch_);
  watch_.set_wishes(WishesOf(mode, options_.light_in));
  Observers::OfProcess().Join(&watch_);
  mode_.store(mode, std::memory_order_relaxed);
}

absl::Status Running::TimeLaunches() {
  if (options_.device == nullptr) {
    return absl::FailedPreconditionError("no device was named whose launches are to be timed");
  }
  GRAPHTREE_ASSIGN_OR_RETURN(timer_, LightTimer::Make(*options_.device, clock_));
  watch_.TimeWith(timer_.get());
  return absl::OkStatus();
}

void Running::DoWithLess(const absl::Status& why) {
  ProfileMode less = ProfileMode::kLight;
  std::string reason(why.message());
  if (timer_ == nullptr) {
    const absl::Status timed = TimeLaunches();
    if (!timed.ok()) {
      less = ProfileMode::kHost;
      absl::StrAppend(&reason, "; nor can launches be timed: ", timed.message());
    }
  }
  Watch(less);
  const std::lock_guard<std::mutex> lock(making_);
  why_not_full_ = std::move(reason);
}

bool Running::IsWindowOver(Time now) const {
  if (options_.most_replays.has_value() && watch_.replays() >= *options_.most_replays) return true;
  return options_.most_time.has_value() && now - began_ >= *options_.most_time;
}

void Running::Loop() {
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait_for(lock, kRound, [this] { return is_stopped_; });
      if (is_stopped_) break;
    }
    const Time now = steady_clock::now();
    Round(now);
    if (IsWindowOver(now)) break;
  }
  EndTrace();
  const std::lock_guard<std::mutex> lock(mutex_);
  is_over_ = true;
  changed_.notify_all();
}

void Running::Round(Time now) {
  if (mode() != options_.mode && full_.TryAgain(now)) BecomeFull(now);
  if (mode() == ProfileMode::kFull) full_.Keep(now);
  const std::lock_guard<std::mutex> lock(making_);
  DrainLocked();
  if (timer_ != nullptr) {
    const absl::Status collected =
        timer_->Collect([this](const TimedLaunch& timed) { maker_.Take(timed); });
    if (!collected.ok() && remarks_.size() < kMostRemarks) {
      remarks_.push_back(absl::StrCat("timing launches: ", collected.message()));
    }
  }
  maker_.Turn();
  if (now < next_flush_) return;
  options_.listener->Flush();
  next_flush_ = now + kFlush;
}

void Running::BecomeFull(Time now) {
  watch_.TimeWith(nullptr);
  Watch(ProfileMode::kFull);
  const std::lock_guard<std::mutex> lock(making_);
  remarks_.push_back(absl::StrCat(
      "the first ",
      std::chrono::duration_cast<std::chrono::milliseconds>(now - began_).count(),
      " ms have no ops: ", why_not_full_));
  why_not_full_.clear();
}

void Running::DrainLocked() {
  HostEvent event;
  while (queue_.Take(&event)) maker_.Take(std::move(event));
}

void Running::Op(const activity::Activity& op) {
  const std::lock_guard<std::mutex> lock(making_);
  if (!maker_.KnowsLaunchOf(op)) DrainLocked();
  maker_.Take(op);
}

void Running::Dropped(uint64_t records) {
  const std::lock_guard<std::mutex> lock(making_);
  dropped_ += records;
}

void Running::Note(absl::string_view remark) {
  const std::lock_guard<std::mutex> lock(making_);
  if (remarks_.size() < kMostRemarks) remarks_.emplace_back(remark);
}

void Running::Detach() {
  activity::DetachOptions how;
  if (options_.forces_out) how.how = activity::DetachHow::kForce;
  if (!waits_) how.patience = std::chrono::nanoseconds(0);
  const absl::Status detached = full_.Detach(how);
  if (!detached.ok()) Note(detached.message());
}

void Running::StopCounters() {
  if (counters_.Stop(kCountersPatience)) return;
  Note("a counter did not answer when the profile ended; its last values are missing");
}

void Running::EndTrace() {
  StopCounters();
  if (mode() == ProfileMode::kFull) Detach();
  Observers::OfProcess().Leave(&watch_);
  watch_.TimeWith(nullptr);
  const std::lock_guard<std::mutex> lock(making_);
  DrainLocked();
  if (timer_ != nullptr) {
    const absl::Status finished =
        timer_->Finish(waits_, [this](const TimedLaunch& timed) { maker_.Take(timed); });
    if (!finished.ok()) remarks_.push_back(absl::StrCat("timing launches: ", finished.message()));
  }
  maker_.End();
  options_.listener->End(NotesLocked());
}

trace::TraceNotes Running::NotesLocked() const {
  const JoinCounts& counts = maker_.counts();
  trace::TraceNotes notes;
  notes.dropped_records = dropped_ + watch_.lost();
  notes.unmatched_ops = counts.mismatched + counts.short_launches;
  notes.drift_ppm = mode() == ProfileMode::kFull ? maker_.clock_drift_ppm()
                    : timer_ != nullptr          ? timer_->drift_ppm()
                                                 : 0;
  notes.remarks = remarks_;
  if (!why_not_full_.empty()) {
    notes.remarks.push_back(absl::StrCat("no ops of the device, but a ", ProfileModeName(mode()),
                                         " profile: ", why_not_full_));
  }
  return notes;
}

bool Running::AwaitWindow(std::chrono::nanoseconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return is_over_; });
}

ProfileReport Running::Stop(bool waits) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopped_ = true;
    if (!waits) waits_ = false;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  const std::lock_guard<std::mutex> lock(making_);
  const trace::TraceNotes notes = NotesLocked();
  ProfileReport report;
  report.mode = mode();
  report.why_not_full = why_not_full_;
  report.launches = maker_.launches();
  report.ops = maker_.ops();
  report.dropped = notes.dropped_records;
  report.untimed = timer_ == nullptr ? 0 : timer_->untimed();
  report.join = maker_.counts();
  report.drift_ppm = notes.drift_ppm;
  report.remarks = notes.remarks;
  return report;
}

}  // namespace graphtree::live
