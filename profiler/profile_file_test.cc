// The file's ending chooses the format; what cannot be written is told.
#include "profiler/profile_file.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/trace/sample_trace.h"

namespace graphtree {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string PathOf(const std::string& name) { return testing::TempDir() + "/" + name; }

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ProfileFileTest, JsonAndPerfettoByTheEnding) {
  for (const char* name : {"trace.json", "trace.pftrace", "trace.perfetto-trace", "trace.pb"}) {
    SCOPED_TRACE(name);
    const std::string path = PathOf(name);
    auto file = ProfileFile::Create(path);
    ASSERT_THAT(file, IsOk());
    trace::PlaySample((*file)->tables(), (*file)->listener());
    EXPECT_THAT((*file)->Finish(), IsOk());
    const std::string bytes = Read(path);
    EXPECT_THAT(bytes, HasSubstr("attend"));
    EXPECT_EQ(bytes.front() == '{', path == PathOf("trace.json"));
  }
}

TEST(ProfileFileTest, AnotherEndingIsRefusedWithTheOnesThereAre) {
  const absl::Status refused = ProfileFile::Create(PathOf("trace.txt")).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr(".json"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("trace.txt"));
}

TEST(ProfileFileTest, AFolderThatIsNotThereIsTold) {
  const absl::Status refused = ProfileFile::Create(PathOf("no/such/trace.json")).status();
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.message()), HasSubstr("no/such/trace.json"));
}

TEST(ProfileFileTest, OneThatIsDeletedWhileItIsWrittenIsTold) {
  const std::string path = PathOf("gone.json");
  auto file = ProfileFile::Create(path);
  ASSERT_THAT(file, IsOk());
  ASSERT_EQ(unlink(path.c_str()), 0);
  trace::PlaySample((*file)->tables(), (*file)->listener());
  const absl::Status written = (*file)->Finish();
  EXPECT_EQ(written.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(written.message()), HasSubstr("gone.json was deleted"));
  EXPECT_EQ((*file)->Finish(), written);
}

TEST(ProfileFileTest, AFullDiskEndsTheTraceAlone) {
  std::ifstream full("/dev/full");
  if (!full) GTEST_SKIP() << "there is no /dev/full here";
  // The name decides, so a link with a good one leads to the device that is always full.
  const std::string path = PathOf("full.json");
  ASSERT_EQ(std::system(("ln -sf /dev/full " + path).c_str()), 0);
  auto file = ProfileFile::Create(path);
  ASSERT_THAT(file, IsOk());
  trace::PlaySample((*file)->tables(), (*file)->listener());
  const absl::Status written = (*file)->Finish();
  EXPECT_FALSE(written.ok());
  EXPECT_THAT(std::string(written.message()), HasSubstr("full.json"));
}

}  // namespace
}  // namespace graphtree
