// The same programs while profiles come and go between actions and between the ops of bodies: the
// caller sees what it saw without them, and each op of a replay has its launch.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/device.h"
#include "device/host/host_device.h"
#include "device/host/host_options.h"
#include "gtest/gtest.h"
#include "profiler/activity/activity_source.h"
#include "profiler/open_source.h"
#include "profiler/profile.h"
#include "profiler/profile_options.h"
#include "profiler/trace/store.h"
#include "profiler/trace/tables.h"
#include "tests/simulation/program.h"
#include "tests/simulation/seeds.h"
#include "tests/simulation/world.h"

namespace graphtree::simulation {
namespace {

constexpr size_t kMostRecords = 10'000;
constexpr ProfileMode kModes[] = {ProfileMode::kHost, ProfileMode::kFull, ProfileMode::kLight};

// At most one profile, which begins and ends by lot.
class Profiles {
 public:
  Profiles(Device& device, uint32_t seed) : device_(device), random_(seed) {}

  // A light profile waits for a stream of its own, so it begins outside of bodies.
  void Turn(bool in_body) {
    if (random_() % 4 != 0) return;
    if (profile_ != nullptr) return End();
    const ProfileMode mode = kModes[random_() % (in_body ? 2 : 3)];
    tables_ = std::make_unique<trace::TraceTables>();
    store_ = std::make_unique<trace::TraceStore>(kMostRecords);
    ProfileOptions options;
    options.mode = mode;
    options.device = &device_;
    options.tables = tables_.get();
    options.listener = store_.get();
    options.light_in = 1;
    source_ = OpenSourceOf(options, {});
    absl::StatusOr<std::unique_ptr<Profile>> profile = Profile::Start(std::move(options));
    if (!profile.ok()) return Fail(profile.status().ToString());
    profile_ = *std::move(profile);
    if (profile_->mode() != mode) Fail(absl::StrCat("the mode is ", ProfileModeName(mode)));
  }
  void End() {
    if (profile_ == nullptr) return;
    const ProfileReport report = profile_->Stop();
    profile_ = nullptr;
    CloseSource(std::move(source_), device_);
    ++ended_;
    joined_ += report.join.joined;
    if (report.join.mismatched + report.join.short_launches + report.dropped > 0) {
      Fail(absl::StrCat(report.join.mismatched, " ops are of another graph, ",
                        report.join.short_launches, " launches lack ops, and ", report.dropped,
                        " records were dropped"));
    }
    if (!report.why_not_full.empty()) Fail(report.why_not_full);
  }

  const std::string& failure() const { return failure_; }
  uint64_t ended() const { return ended_; }
  uint64_t joined() const { return joined_; }

 private:
  void Fail(const std::string& failure) {
    if (failure_.empty()) failure_ = failure;
  }

  Device& device_;
  std::mt19937 random_;
  std::unique_ptr<trace::TraceTables> tables_;
  std::unique_ptr<trace::TraceStore> store_;
  std::unique_ptr<activity::ActivitySource> source_;
  std::unique_ptr<Profile> profile_;
  std::string failure_;
  uint64_t ended_ = 0;
  uint64_t joined_ = 0;
};

struct Reached {
  uint64_t profiles = 0;
  uint64_t joined = 0;
};

std::string FailureBesideProfiles(Program program, Reached* reached) {
  for (Action& action : program.actions) action.fail_at = 0;
  HostOptions options;
  options.seed = program.seed;
  absl::StatusOr<std::unique_ptr<Device>> device = OpenHostDevice(options);
  if (!device.ok()) return device.status().ToString();
  Profiles profiles(**device, program.seed);
  absl::Status status;
  {
    World world(**device, nullptr, program, OptionsFor(program));
    world.set_between([&](size_t) { profiles.Turn(/*in_body=*/false); },
                      [&] { profiles.Turn(/*in_body=*/true); });
    status = world.Run();
    if (program.seed % 2 == 0) profiles.End();
  }
  profiles.End();  // after its tree
  reached->profiles += profiles.ended();
  reached->joined += profiles.joined();
  if (status.ok()) status = (*device)->Close();
  return status.ok() ? profiles.failure() : status.ToString();
}

TEST(ProfiledTest, ProfilesThatComeAndGoChangeNothing) {
  Reached reached;
  ForSeeds(std::chrono::seconds(10), 20, [&](uint32_t seed) {
    const Program program = MakeProgram(seed, 80);
    const std::string failure = FailureBesideProfiles(program, &reached);
    ASSERT_EQ(failure, "") << "seed " << seed << "\n" << ToString(program);
  });
  EXPECT_GT(reached.profiles, 20u);
  EXPECT_GT(reached.joined, 0u) << "no profile has seen a replay";
}

}  // namespace
}  // namespace graphtree::simulation
