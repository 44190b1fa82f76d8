// Where a profile cannot be had, or cannot end, and what it says there. (What is in one is in
// tests/profile, where trees run.)
#include "profiler/profile.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "device/base/status_matchers.h"
#include "device/device.h"
#include "device/host/host_device.h"
#include "device/request_labels.h"
#include "device/stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/activity/activity.h"
#include "profiler/activity/activity_source.h"
#include "profiler/open_source.h"
#include "profiler/profile_options.h"
#include "profiler/trace/records.h"
#include "profiler/trace/store.h"
#include "profiler/trace/tables.h"

namespace graphtree {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class ProfileTest : public testing::Test {
 protected:
  void SetUp() override {
    auto device = OpenHostDevice({});
    ASSERT_THAT(device, IsOk());
    device_ = *std::move(device);
    auto stream = device_->NewStream();
    ASSERT_THAT(stream, IsOk());
    stream_ = *std::move(stream);
  }
  ProfileOptions OptionsOf(ProfileMode mode) {
    ProfileOptions options;
    options.mode = mode;
    options.device = device_.get();
    options.tables = &tables_;
    options.listener = &store_;
    return options;
  }
  std::unique_ptr<Profile> Start(ProfileOptions options) {
    auto profile = Profile::Start(std::move(options));
    EXPECT_THAT(profile, IsOk());
    return profile.ok() ? *std::move(profile) : nullptr;
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  trace::TraceTables tables_;
  trace::TraceStore store_{1000};
};

TEST_F(ProfileTest, WhyThereIsNoSourceIsSaidInEachPlaceAlike) {
  ProfileOptions options = OptionsOf(ProfileMode::kFull);
  options.why_no_source = absl::NotFoundError("no CUPTI is here");
  const std::unique_ptr<Profile> profile = Start(std::move(options));
  ASSERT_NE(profile, nullptr);
  EXPECT_EQ(profile->mode(), ProfileMode::kLight);
  const ProfileReport report = profile->Stop();
  EXPECT_EQ(report.why_not_full, "no CUPTI is here");
  EXPECT_THAT(report.remarks, Contains(HasSubstr("no CUPTI is here")));
  EXPECT_THAT(store_.notes().remarks, Contains(HasSubstr("no CUPTI is here")));
}

TEST_F(ProfileTest, ASourceIsOpenedForTheFullModeAlone) {
  ProfileOptions light = OptionsOf(ProfileMode::kLight);
  EXPECT_EQ(OpenSourceOf(light, {}), nullptr);
  EXPECT_THAT(light.why_no_source, IsOk());
  ProfileOptions full = OptionsOf(ProfileMode::kFull);
  const auto source = OpenSourceOf(full, {});
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(full.source, source.get());
  const std::unique_ptr<Profile> profile = Start(std::move(full));
  EXPECT_EQ(profile->mode(), ProfileMode::kFull);
  EXPECT_EQ(profile->Stop().why_not_full, "");
}

class Deaf : public activity::ActivityListener {
 public:
  void Op(const activity::Activity&) override {}
  void Dropped(uint64_t) override {}
  void Note(absl::string_view) override {}
};

TEST_F(ProfileTest, WhereSomebodyElseListensItIsTriedAgain) {
  Deaf deaf;
  auto other = OpenActivitySource(*device_, {});
  ASSERT_THAT(other, IsOk());
  ASSERT_THAT((*other)->Attach(&deaf, {}), IsOk());
  ProfileOptions options = OptionsOf(ProfileMode::kFull);
  const auto source = OpenSourceOf(options, {});
  const std::unique_ptr<Profile> profile = Start(std::move(options));
  ASSERT_NE(profile, nullptr);
  EXPECT_EQ(profile->mode(), ProfileMode::kLight);
  ASSERT_THAT((*other)->Detach({}), IsOk());
  while (profile->mode() != ProfileMode::kFull) std::this_thread::yield();
  const ProfileReport report = profile->Stop();
  EXPECT_EQ(report.why_not_full, "");
  EXPECT_THAT(report.remarks, Contains(HasSubstr("have no ops: ")));
  EXPECT_EQ(source->state(), activity::SourceState::kDetached);
}

// The end waits for work that would be waiting for the end.
TEST_F(ProfileTest, InsideOfWorkItNeitherBeginsNorEnds) {
  for (const ProfileMode mode : {ProfileMode::kLight, ProfileMode::kFull}) {
    ProfileOptions options = OptionsOf(mode);
    const auto source = OpenSourceOf(options, {});
    std::unique_ptr<Profile> profile = Start(std::move(options));
    ASSERT_NE(profile, nullptr);
    absl::Status began, ends;
    ASSERT_THAT(stream_->CallHost([&] {
      began = Profile::Start(OptionsOf(mode)).status();
      ends = profile->MayStop();
    }), IsOk());
    ASSERT_THAT(stream_->Synchronize(), IsOk());
    EXPECT_THAT(began, FailsWith(absl::StatusCode::kFailedPrecondition, "inside work of host"));
    EXPECT_THAT(ends, FailsWith(absl::StatusCode::kFailedPrecondition, "inside work of host"));
    EXPECT_THAT(profile->MayStop(), IsOk());
    EXPECT_EQ(profile->Stop().mode, mode);
    EXPECT_THAT(profile->MayStop(), IsOk());
  }
}

TEST_F(ProfileTest, OneThatGoesInsideOfWorkWaitsForNothing) {
  for (const ProfileMode mode : {ProfileMode::kLight, ProfileMode::kFull}) {
    ProfileOptions options = OptionsOf(mode);
    const auto source = OpenSourceOf(options, {});
    std::unique_ptr<Profile> profile = Start(std::move(options));
    ASSERT_THAT(stream_->CallHost([&] { profile = nullptr; }), IsOk());
    ASSERT_THAT(stream_->Synchronize(), IsOk());
  }
}

TEST_F(ProfileTest, AForkedProcessLeavesItAlone) {
  for (const ProfileMode mode : {ProfileMode::kHost, ProfileMode::kFull}) {
    ProfileOptions options = OptionsOf(mode);
    const auto source = OpenSourceOf(options, {});
    std::unique_ptr<Profile> profile = Start(std::move(options));
    ASSERT_NE(profile, nullptr);
    const pid_t child = fork();
    if (child == 0) {
      const absl::Status may = profile->MayStop();
      const ProfileReport report = profile->Stop();
      profile = nullptr;
      const absl::Status next = Profile::Start(OptionsOf(mode)).status();
      const bool said = absl::StrContains(next.message(), "was forked from") &&
                        absl::StrContains(may.message(), "was forked from it") &&
                        report.remarks.size() == 1 && report.remarks[0] == may.message();
      _exit(said ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_THAT(profile->MayStop(), IsOk());
    EXPECT_EQ(profile->Stop().mode, mode);
  }
}

TEST_F(ProfileTest, LabelsOfRequestsAreSpansAroundWhatTheyAreFor) {
  const std::unique_ptr<Profile> profile = Start(OptionsOf(ProfileMode::kHost));
  ASSERT_NE(profile, nullptr);
  {
    const RequestLabel outer("request 81");
    const RequestLabel inner("request 81, token 4");
  }
  profile->Stop();
  std::vector<std::string> names;
  for (const trace::HostSpan& span : store_.spans()) {
    EXPECT_EQ(span.kind, trace::SpanKind::kRequest);
    names.emplace_back(tables_.text(span.name));
  }
  EXPECT_THAT(names, testing::ElementsAre("request 81, token 4", "request 81"));
}

}  // namespace
}  // namespace graphtree
