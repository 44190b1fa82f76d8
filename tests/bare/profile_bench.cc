// What a profile costs the replays that it watches, and those that come after it.
//
// Both sides make the same replays of one tree. Before each batch of ours a profile begins, and
// after it the profile ends; neither is timed, nor are the first replays after either: the first
// launch under CUPTI alone takes some hundred microseconds.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/device.h"
#include "profiler/activity/activity_source.h"
#include "profiler/open_source.h"
#include "profiler/profile.h"
#include "profiler/profile_options.h"
#include "profiler/trace/store.h"
#include "profiler/trace/tables.h"
#include "tests/bare/tree_bench_world.h"
#include "tools/benching/row.h"
#include "tools/benching/timing.h"

namespace graphtree {
namespace {

using bench::Measurement;
using bench::Outcome;
using bench::RegisterRow;
using bench::Skipped;

struct Plan {
  const char* name;
  const char* ours;
  ProfileMode mode;
  uint64_t light_in;
  bool is_after;  // the profile ends before the batch
  const char* goal;
};

const Plan kPlans[] = {
    {"host", "replay, host profile", ProfileMode::kHost, 1, false, ""},
    {"light_64", "replay, light profile of one in 64", ProfileMode::kLight, 64, false,
     "ratio <= 1.02"},
    {"light_1", "replay, light profile of each", ProfileMode::kLight, 1, false, ""},
    {"full", "replay, full profile", ProfileMode::kFull, 1, false, ""},
    {"after_light", "replay after a light profile", ProfileMode::kLight, 64, true,
     "ratio <= 1.02"},
    {"after_full", "replay after a full profile", ProfileMode::kFull, 1, true, "ratio <= 1.02"},
};

// Begins and ends profiles, each into a store of its own.
class Profiles {
 public:
  Profiles(Device& device, const Plan& plan, activity::ActivitySource* source)
      : device_(device), plan_(plan), source_(source) {}

  absl::Status Begin() {
    tables_ = std::make_unique<trace::TraceTables>();
    store_ = std::make_unique<trace::TraceStore>(1 << 16);
    ProfileOptions options;
    options.mode = plan_.mode;
    options.device = &device_;
    options.source = source_;
    options.tables = tables_.get();
    options.listener = store_.get();
    options.light_in = plan_.light_in;
    GRAPHTREE_ASSIGN_OR_RETURN(profile_, Profile::Start(std::move(options)));
    if (profile_->mode() == plan_.mode) return absl::OkStatus();
    return absl::FailedPreconditionError(profile_->Stop().why_not_full);
  }
  void End() { launches_ += profile_->Stop().launches; }
  uint64_t launches() const { return launches_; }

 private:
  Device& device_;
  const Plan& plan_;
  activity::ActivitySource* const source_;
  std::unique_ptr<trace::TraceTables> tables_;
  std::unique_ptr<trace::TraceStore> store_;
  std::unique_ptr<Profile> profile_;  // goes first
  uint64_t launches_ = 0;
};

constexpr int kUntimed = 32;

double NsOf(BenchWorld& world, int64_t calls, absl::Status* status) {
  for (int i = 0; i < kUntimed; ++i) status->Update(world.Step());
  world.Drain();
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < calls; ++i) status->Update(world.Step());
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

Outcome Profiled(const char* device, const Plan& plan) {
  absl::StatusOr<std::unique_ptr<BenchWorld>> made =
      BenchWorld::Make(device, {.statics = 1, .kernels = 1});
  if (!made.ok()) return Skipped(std::string(made.status().message()));
  BenchWorld& world = **made;
  GRAPHTREE_RETURN_IF_ERROR(world.WarmUp());
  std::unique_ptr<activity::ActivitySource> source;
  if (plan.mode == ProfileMode::kFull) {
    auto opened = OpenActivitySource(world.device(), {});
    if (!opened.ok()) return Skipped(std::string(opened.status().message()));
    source = *std::move(opened);
  }
  Profiles profiles(world.device(), plan, source.get());
  absl::Status status;
  const bench::BatchTimer ours = [&](int64_t calls) {
    status.Update(profiles.Begin());
    if (!status.ok()) return 1.0;
    if (plan.is_after) profiles.End();
    const double ns = NsOf(world, calls, &status);
    world.Drain();
    if (!plan.is_after) profiles.End();
    return ns;
  };
  const bench::BatchTimer alone = [&](int64_t calls) { return NsOf(world, calls, &status); };
  bench::TimingOptions options;
  options.most_calls = 256;
  options.batches = 101;
  options.between = [&] { world.Drain(); };
  const Measurement pair = bench::CompareBatches(ours, alone, options);
  if (!status.ok()) return status;
  if (profiles.launches() == 0 && !plan.is_after) return absl::InternalError("nothing was told");
  return pair;
}

bool RegisterAll() {
  for (const char* device : {"host", "cuda"}) {
    for (const Plan& plan : kPlans) {
      RegisterRow({.name = absl::StrCat("profile.", device, ".", plan.name),
                   .ours = plan.ours,
                   .against = "the same replay, unwatched",
                   .goal = plan.goal},
                  [device, &plan] { return Profiled(device, plan); });
    }
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
