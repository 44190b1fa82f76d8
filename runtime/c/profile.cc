// Profiles of graphtree.h: a trace of the running process, in a file.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/request_labels.h"
#include "profiler/cupti/cupti_source.h"
#include "profiler/lingering.h"
#include "profiler/open_source.h"
#include "profiler/profile.h"
#include "profiler/profile_file.h"
#include "profiler/profile_options.h"
#include "profiler/profile_output.h"
#include "runtime/c/device_objects.h"
#include "runtime/c/entry.h"
#include "runtime/c/observer_object.h"
#include "runtime/c/runtime_objects.h"
#include "runtime/c/texts.h"
#include "runtime/pool_counters.h"

namespace graphtree::c {
namespace {

constexpr size_t kMostRows = 50;  // of each level of a table

// One profile runs at a time. Whoever has the claim may make a file, which could be the other's.
class RunClaim {
 public:
  RunClaim() = default;
  RunClaim(RunClaim&& other) noexcept : is_mine_(std::exchange(other.is_mine_, false)) {}
  RunClaim(const RunClaim&) = delete;
  RunClaim& operator=(const RunClaim&) = delete;
  ~RunClaim() { GiveBack(); }
  absl::Status Take() {
    is_mine_ = !taken.exchange(true);
    if (is_mine_) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "a profile runs in this process already; stop that one first");
  }
  void GiveBack() {
    if (std::exchange(is_mine_, false)) taken.store(false);
  }

 private:
  static inline std::atomic<bool> taken{false};
  bool is_mine_ = false;
};

// What a profile uses, in the order in which it was made.
struct ProfileParts {
  RunClaim claim;
  std::shared_ptr<OpenedDevice> device;
  std::shared_ptr<OpenedRuntime> runtime;  // null: none
  std::unique_ptr<ProfileOutput> output;
  std::unique_ptr<activity::ActivitySource> source;  // of the full mode, where there is one
  std::unique_ptr<Profile> profile;
};

class ProfileObject : public Object {
 public:
  static constexpr Kind kKind = c::kProfile;
  explicit ProfileObject(ProfileParts parts) : parts_(std::move(parts)) {}
  ~ProfileObject() override;
  absl::Status MayEnd() override;

  bool is_running() const { return !report_.has_value(); }
  // Not in a forked process, where nobody ends it.
  absl::Status MayWait() const {
    return parts_.profile->IsForked() ? parts_.profile->MayStop() : absl::OkStatus();
  }
  bool AwaitWindow(std::chrono::milliseconds patience) {
    return parts_.profile->AwaitWindow(patience);
  }
  // The first failure to write.
  absl::Status Stop();
  const ProfileReport& report() const { return *report_; }
  gt_profile_report Figures() const;
  // An error where what is asked for is not there, or not yet.
  absl::StatusOr<std::string> Describe(gt_profile_text what) const;

 private:
  ProfileParts parts_;
  std::optional<ProfileReport> report_;
  bool lingers_ = false;
};

ProfileObject::~ProfileObject() {
  if (!is_running()) return;
  parts_.profile->Stop();
  // In a forked process the profile, which was left as it is, goes on to use them.
  if (parts_.profile->IsForked()) {
    std::make_unique<ProfileParts>(std::move(parts_)).release();
  }
}

absl::Status ProfileObject::MayEnd() {
  absl::Status may = CheckNotTold("a profile ends");
  if (may.ok() && !parts_.profile->IsForked()) may = parts_.profile->MayStop();
  return may;
}

absl::Status ProfileObject::Stop() {
  if (is_running()) {
    if (absl::Status may = parts_.profile->MayStop(); !may.ok()) return may;
    report_ = parts_.profile->Stop();
    parts_.claim.GiveBack();
    lingers_ = CloseSource(std::move(parts_.source), parts_.device->device());
  }
  return parts_.output->Finish();
}

gt_profile_report ProfileObject::Figures() const {
  gt_profile_report figures = GT_INIT(gt_profile_report);
  figures.mode = static_cast<gt_profile_mode>(parts_.profile->mode());
  figures.is_running = is_running() ? 1 : 0;
  if (is_running()) return figures;
  figures.launches = report_->launches;
  figures.ops = report_->ops;
  figures.dropped = report_->dropped;
  figures.untimed = report_->untimed;
  figures.unnamed = report_->join.unnamed;
  figures.without_launch = report_->join.without_launch;
  figures.mismatched = report_->join.mismatched;
  figures.short_launches = report_->join.short_launches;
  figures.cut_launches = report_->join.cut_launches;
  figures.drift_ppm = report_->drift_ppm;
  figures.lingers = lingers_ ? 1 : 0;
  return figures;
}

absl::StatusOr<std::string> ProfileObject::Describe(gt_profile_text what) const {
  if (what == GT_PROFILE_TABLE || what == GT_PROFILE_FIGURES_JSON) {
    if (!parts_.output->has_figures()) {
      return absl::FailedPreconditionError(
          "the profile was begun without gt_profile_options.figures");
    }
    return what == GT_PROFILE_TABLE ? parts_.output->Table(kMostRows)
                                    : parts_.output->FiguresJson();
  }
  if (is_running()) {
    return absl::FailedPreconditionError(
        "the profile still runs, and says this when it is stopped");
  }
  return what == GT_PROFILE_WHY_NOT_FULL ? report_->why_not_full
                                         : absl::StrJoin(report_->remarks, "\n");
}

// What would be an error of the profile's, before its file is touched.
absl::Status Check(const gt_profile_options& options) {
  if (absl::Status mode = CheckEnum("mode", options.mode, GT_PROFILE_FULL); !mode.ok()) return mode;
  if (options.path == nullptr && options.figures == 0) {
    return absl::InvalidArgumentError("gt_profile_options.path is null, and figures is 0");
  }
  if (options.most_replays < 0 || options.most_ms < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a profile's window of ", options.most_replays, " replays and ",
                     options.most_ms, " ms would show nothing"));
  }
  return options.path == nullptr ? absl::OkStatus() : ProfileFile::CheckName(options.path);
}

cupti::CuptiOptions CuptiOf(const gt_profile_options& options) {
  return {.library = std::string(WordOf(options.cupti)),
          .cuda_home = std::string(WordOf(options.cuda_home)),
          .finalizes = options.never_finalizes == 0,
          .attaches_again = options.attaches_once == 0};
}

// More than a window can have would overflow.
constexpr int64_t kMostMs = int64_t{1} << 40;

ProfileOutputOptions OutputOf(const gt_profile_options& options) {
  return {.path = std::string(WordOf(options.path)), .figures = options.figures != 0};
}

absl::Status StartParts(const gt_profile_options& options, ProfileParts* parts) {
  if (absl::Status alone = parts->claim.Take(); !alone.ok()) return alone;
  ProfileOptions made;
  ProfileOutputOptions output = OutputOf(options);
  output.memory_bytes_per_second = parts->device->device().info().memory_bytes_per_second;
  absl::StatusOr<std::unique_ptr<ProfileOutput>> opened = ProfileOutput::Open(output);
  if (!opened.ok()) return opened.status();
  parts->output = *std::move(opened);
  parts->output->Into(&made);
  made.mode = static_cast<ProfileMode>(options.mode);
  made.device = &parts->device->device();
  parts->source = OpenSourceOf(made, CuptiOf(options));
  made.forces_out = options.forces_out != 0;
  if (options.light_in != 0) made.light_in = options.light_in;
  if (options.most_replays != 0) made.most_replays = options.most_replays;
  if (options.most_ms != 0) {
    made.most_time = std::chrono::milliseconds(std::min(options.most_ms, kMostMs));
  }
  if (parts->runtime != nullptr) {
    made.counters = PoolCounters([of = parts->runtime] { return of->runtime().metrics(); });
  }
  absl::StatusOr<std::unique_ptr<Profile>> profile = Profile::Start(std::move(made));
  if (!profile.ok()) return profile.status();
  parts->profile = *std::move(profile);
  return absl::OkStatus();
}

// The profile that a function of this interface is about.
Ref<ProfileObject> ProfileOf(gt_profile profile, Entry* entry) {
  Ref<ProfileObject> of = entry->GetAlone<ProfileObject>(profile, "profile");
  entry->Fail(CheckNotTold("a profile is looked after"));
  return of;
}

}  // namespace
}  // namespace graphtree::c

using graphtree::c::Entry;
using graphtree::c::ProfileObject;
using graphtree::c::ProfileOf;
using graphtree::c::Ref;
using graphtree::c::Within;

gt_error gt_profile_start(gt_device device, const gt_profile_options* options,
                          gt_profile* out) noexcept {
  return Within("gt_profile_start", [&](Entry& entry) -> gt_error {
    gt_profile_options read;
    entry.Read(options, "gt_profile_options", &read);
    const auto of = entry.Get<graphtree::c::DeviceObject>(device, "device");
    graphtree::c::ProfileParts parts;
    if (entry.ok() && read.runtime != nullptr) {
      const auto runtime = entry.Get<graphtree::c::RuntimeObject>(read.runtime, "runtime");
      if (runtime) parts.runtime = runtime->opened();
    }
    if (entry.ok()) entry.Fail(graphtree::c::Check(read));
    entry.Fail(graphtree::c::CheckNotTold("a profile begins"));
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    parts.device = of->opened();
    entry.Fail(graphtree::c::StartParts(read, &parts));
    if (!entry.ok()) return entry.Failed();
    return entry.Give(graphtree::c::NewObject<ProfileObject>(std::move(parts)), out);
  });
}

gt_error gt_profile_wait(gt_profile profile, uint64_t ms, int32_t* over) noexcept {
  return Within("gt_profile_wait", [&](Entry& entry) -> gt_error {
    const Ref<ProfileObject> of = ProfileOf(profile, &entry);
    if (entry.ok()) entry.Fail(of->MayWait());
    if (!entry.Sets(over, "over") || !entry.ok()) return entry.Failed();
    const auto most = static_cast<uint64_t>(graphtree::c::kMostMs);
    *over = of->AwaitWindow(std::chrono::milliseconds(std::min(ms, most))) ? 1 : 0;
    return nullptr;
  });
}

gt_error gt_profile_stop(gt_profile profile, gt_profile_report* out) noexcept {
  return Within("gt_profile_stop", [&](Entry& entry) -> gt_error {
    const Ref<ProfileObject> of = ProfileOf(profile, &entry);
    if (!entry.ok()) return entry.Failed();
    entry.Fail(of->Stop());
    if (!entry.ok() || out == nullptr) return entry.Return();
    return entry.Return(graphtree::c::WriteFigures(of->Figures(), "gt_profile_report", out));
  });
}

gt_error gt_profile_look(gt_profile profile, gt_profile_report* out) noexcept {
  return Within("gt_profile_look", [&](Entry& entry) -> gt_error {
    const Ref<ProfileObject> of = ProfileOf(profile, &entry);
    if (!entry.ok()) return entry.Failed();
    return entry.Return(graphtree::c::WriteFigures(of->Figures(), "gt_profile_report", out));
  });
}

gt_error gt_profile_describe(gt_profile profile, gt_profile_text what, gt_text* out) noexcept {
  return Within("gt_profile_describe", [&](Entry& entry) -> gt_error {
    const Ref<ProfileObject> of = ProfileOf(profile, &entry);
    entry.Fail(graphtree::c::CheckEnum("text", what, GT_PROFILE_FIGURES_JSON));
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    const absl::StatusOr<std::string> text = of->Describe(what);
    return text.ok() ? graphtree::c::GiveText(entry, *text, out) : entry.Return(text.status());
  });
}

gt_error gt_cupti_leave(int32_t force, uint64_t* lingering) noexcept {
  return Within("gt_cupti_leave", [&](Entry& entry) -> gt_error {
    entry.Fail(graphtree::c::CheckNotTold("CUPTI leaves"));
    if (!entry.ok()) return entry.Failed();
    graphtree::LingeringSources& sources = graphtree::LingeringSources::OfProcess();
    if (force != 0) entry.Fail(sources.Force());
    if (lingering != nullptr) *lingering = sources.count();
    return entry.ok() ? nullptr : entry.Failed();
  });
}

gt_error gt_label_push(const char* label) noexcept {
  return Within("gt_label_push", [&](Entry& entry) -> gt_error {
    if (!entry.Has(label, "label")) return entry.Failed();
    return entry.Return(graphtree::RequestLabels::OfProcess().Push(label));
  });
}

gt_error gt_label_pop(void) noexcept {
  return Within("gt_label_pop", [](Entry& entry) -> gt_error {
    return entry.Return(graphtree::RequestLabels::OfProcess().Pop());
  });
}
