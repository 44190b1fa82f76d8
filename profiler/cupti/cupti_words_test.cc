// What codes, versions and the environment say.
#include "profiler/cupti/cupti_words.h"

#include <map>
#include <string>

#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/cupti/cupti_source.h"
#include "profiler/cupti/test_listener.h"

namespace graphtree::cupti {
namespace {

using testing::HasSubstr;

TEST(CuptiWordsTest, CodesSayWhatCanBeDone) {
  EXPECT_THAT(CuptiError("cuptiSubscribe", 0, "CUPTI_SUCCESS"), IsOk());
  EXPECT_THAT(CuptiError("cuptiSubscribe", 35, "X"),
              FailsWith(absl::StatusCode::kPermissionDenied, "CAP_SYS_ADMIN"));
  EXPECT_THAT(CuptiError("cuptiSubscribe", 15, "X"),
              FailsWith(absl::StatusCode::kFailedPrecondition, "no driver"));
  EXPECT_THAT(CuptiError("cuptiSubscribe", 39, "X"),
              FailsWith(absl::StatusCode::kFailedPrecondition, "another tool"));
  EXPECT_THAT(CuptiError("cuptiSubscribe", 999, "CUPTI_ERROR_UNKNOWN"),
              FailsWith(absl::StatusCode::kFailedPrecondition, "no driver"));
  EXPECT_THAT(CuptiError("cuptiFinalize", 7, "CUPTI_ERROR_INVALID_OPERATION"),
              FailsWith(absl::StatusCode::kInternal, "cuptiFinalize: it failed (CUPTI's code 7, "));
  for (int code = 1; code < 60; ++code) EXPECT_FALSE(CuptiError("call", code, "X").ok());
}

TEST(CuptiWordsTest, TheHolderIsNamed) {
  EXPECT_THAT(HeldError("cuptiSubscribe_v2", "CUPTI for Kineto"),
              FailsWith(absl::StatusCode::kFailedPrecondition, "\"CUPTI for Kineto\""));
}

TEST(CuptiWordsTest, VersionsAreToolkits) {
  EXPECT_EQ(VersionWords(130001), "13.0");
  EXPECT_EQ(VersionWords(130200), "13.2");
  EXPECT_EQ(VersionWords(27), "12.9");
  EXPECT_EQ(VersionWords(18), "before 12.0");
  EXPECT_THAT(CheckVersion(27, "libcupti.so"), IsOk());
  EXPECT_THAT(CheckVersion(130001, "libcupti.so"), IsOk());
  EXPECT_THAT(CheckVersion(22, "libcupti.so"),
              FailsWith(absl::StatusCode::kFailedPrecondition, "is of CUDA 12.4"));
  EXPECT_FALSE(CheckVersion(0, "libcupti.so").ok());
}

CuptiOptions Read(const std::map<std::string, std::string>& variables) {
  return OptionsOf([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(CuptiOptionsTest, SwitchesCountByValue) {
  EXPECT_TRUE(Read({}).finalizes);
  EXPECT_TRUE(Read({}).attaches_again);
  EXPECT_TRUE(Read({{"TEARDOWN_CUPTI", "1"}}).finalizes);
  EXPECT_TRUE(Read({{"TEARDOWN_CUPTI", ""}}).finalizes);
  EXPECT_FALSE(Read({{"TEARDOWN_CUPTI", "0"}}).finalizes);
  EXPECT_TRUE(Read({{"DISABLE_CUPTI_LAZY_REINIT", "0"}}).attaches_again);
  EXPECT_FALSE(Read({{"DISABLE_CUPTI_LAZY_REINIT", "1"}}).attaches_again);
}

TEST(CuptiOptionsTest, OwnSwitchesWin) {
  EXPECT_TRUE(Read({{"TEARDOWN_CUPTI", "0"}, {"GRAPHTREE_CUPTI_TEARDOWN", "1"}}).finalizes);
  EXPECT_FALSE(Read({{"TEARDOWN_CUPTI", "1"}, {"GRAPHTREE_CUPTI_TEARDOWN", "0"}}).finalizes);
  EXPECT_TRUE(Read({{"DISABLE_CUPTI_LAZY_REINIT", "1"}, {"GRAPHTREE_CUPTI_REINIT", "1"}})
                  .attaches_again);
  EXPECT_FALSE(Read({{"GRAPHTREE_CUPTI_REINIT", "0"}}).attaches_again);
}

TEST(CuptiOptionsTest, PlacesAreRead) {
  const CuptiOptions options = Read({{"GRAPHTREE_CUPTI", "/a/b"}, {"CUDA_HOME", "/c"}});
  EXPECT_EQ(options.library, "/a/b");
  EXPECT_EQ(options.cuda_home, "/c");
}

TEST(OpenHostSourceTest, ListensToHostDevices) {
  const auto device = OpenHostDevice();
  ASSERT_THAT(device, IsOk());
  const auto source = OpenHostSource({device->get()});
  ASSERT_THAT(source, IsOk());
  TestListener listener;
  ASSERT_THAT((*source)->Attach(&listener, {}), IsOk());
  EXPECT_THAT((*source)->NowNs(), IsOk());
  ASSERT_THAT((*source)->Detach({}), IsOk());
  EXPECT_THAT((*source)->name(), HasSubstr("stand-in"));
}

// On whatever machine this runs: a source, or a reason.
TEST(OpenCuptiSourceTest, ALibraryThatIsNotThereIsAReason) {
  CuptiOptions options;
  options.library = "/no/such/folder/libcupti.so";
  const auto source = OpenCuptiSource(options);
  if (source.ok()) return;  // the process has one already
  EXPECT_FALSE(source.status().message().empty());
  const bool is_left_out = source.status().code() == absl::StatusCode::kUnimplemented;
  EXPECT_THAT(std::string(source.status().message()),
              HasSubstr(is_left_out ? "this program has none" : "/no/such/folder/libcupti.so"));
}

}  // namespace
}  // namespace graphtree::cupti
