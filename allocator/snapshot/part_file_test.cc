// Parts are moved, removed, or removed by a signal.
#include "allocator/snapshot/part_file.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"

namespace graphtree::snapshot {
namespace {

std::string Path(const std::string& name) {
  const char* folder = std::getenv("TEST_TMPDIR");  // which only Bazel sets
  static const pid_t process = getpid();  // also in a child
  return absl::StrCat(folder != nullptr ? folder : "/tmp", "/graphtree-part-", process, "-", name);
}
bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

TEST(PartFileTest, IsMovedOrRemoved) {
  const std::string whole = Path("whole");
  {
    PartFile part(whole);
    std::ofstream(part.path()) << "half";
  }
  EXPECT_FALSE(Exists(whole));
  std::string name;
  {
    PartFile part(whole);
    name = part.path();
    std::ofstream(name) << "all";
    EXPECT_THAT(part.Move(), IsOk());
  }
  EXPECT_TRUE(Exists(whole));
  EXPECT_FALSE(Exists(name));
  unlink(whole.c_str());
  PartFile nothing(Path("nothing"));
  EXPECT_THAT(nothing.Move(), FailsWith(absl::StatusCode::kUnavailable, "into its place"));
}

TEST(PartFileTest, ASignalHandlerRemovesEveryPartAndNothingElse) {
  const std::string done = Path("done");
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGTERM, [](int) {
      PartFile::RemoveAll();
      _exit(7);
    });
    PartFile moved(done);
    std::ofstream(moved.path()) << "x";
    if (!moved.Move().ok()) _exit(1);
    std::vector<std::unique_ptr<PartFile>> parts;
    for (int i = 0; i < 16; ++i) {
      parts.push_back(std::make_unique<PartFile>(Path(absl::StrCat("open", i))));
      std::ofstream(parts.back()->path()) << "x";
    }
    parts.erase(parts.begin());
    raise(SIGTERM);
    _exit(2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 7);
  EXPECT_TRUE(Exists(done));
  unlink(done.c_str());
  for (int i = 0; i < 16; ++i) {
    EXPECT_FALSE(Exists(absl::StrCat(Path(absl::StrCat("open", i)), ".part-", child))) << i;
  }
}

}  // namespace
}  // namespace graphtree::snapshot
