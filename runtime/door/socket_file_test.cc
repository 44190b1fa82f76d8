// Paths that are free, taken, stale, somebody else's, too long.
#include "runtime/door/socket_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using Code = absl::StatusCode;

class SocketFileTest : public ::testing::Test {
 protected:
  SocketFileTest() {
    char name[] = "/tmp/socket_file.XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/s";
  }
  ~SocketFileTest() override {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }

  static bool IsThere(const std::string& path) {
    struct stat about;
    return lstat(path.c_str(), &about) == 0;
  }
  // A socket that a program has left behind when it ended at once.
  void LeaveStale() {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    close(fd);
  }

  std::string folder_;
  std::string path_;
};

TEST_F(SocketFileTest, IsThereForItsUserAloneAndGoesWithItsOwner) {
  const mode_t before = umask(0);
  {
    absl::StatusOr<std::unique_ptr<SocketFile>> file = SocketFile::Listen(path_);
    ASSERT_THAT(file, IsOk());
    struct stat about;
    ASSERT_EQ(lstat(path_.c_str(), &about), 0);
    EXPECT_TRUE(S_ISSOCK(about.st_mode));
    EXPECT_EQ(about.st_mode & 07777, 0600u);
  }
  umask(before);
  EXPECT_FALSE(IsThere(path_));
}

TEST_F(SocketFileTest, OneThatAnswersIsTaken) {
  const absl::StatusOr<std::unique_ptr<SocketFile>> first = SocketFile::Listen(path_);
  ASSERT_THAT(first, IsOk());
  const std::string who = absl::StrCat(path_, " is taken: process ", getpid());
  EXPECT_THAT(SocketFile::Listen(path_), FailsWith(Code::kAlreadyExists, who));
  EXPECT_TRUE(IsThere(path_));
}

TEST_F(SocketFileTest, AStaleOneIsTakenAway) {
  LeaveStale();
  ASSERT_TRUE(IsThere(path_));
  EXPECT_THAT(SocketFile::Listen(path_), IsOk());
}

TEST_F(SocketFileTest, WhatIsNoSocketStays) {
  std::ofstream(path_) << "somebody's letters";
  EXPECT_THAT(SocketFile::Listen(path_), FailsWith(Code::kAlreadyExists, "is no socket"));
  std::string word;
  std::ifstream(path_) >> word;
  EXPECT_EQ(word, "somebody's");
  unlink(path_.c_str());
  ASSERT_EQ(symlink("/nowhere/at/all", path_.c_str()), 0);
  EXPECT_THAT(SocketFile::Listen(path_), FailsWith(Code::kAlreadyExists, "is no socket"));
}

TEST_F(SocketFileTest, PathsThatNoSocketHas) {
  EXPECT_THAT(SocketFile::Listen(""), FailsWith(Code::kInvalidArgument, "is empty"));
  EXPECT_THAT(SocketFile::Listen(std::string("a\0b", 3)),
              FailsWith(Code::kInvalidArgument, "zero byte"));
  const std::string most = absl::StrCat(folder_, "/", std::string(106 - folder_.size(), 'x'));
  ASSERT_EQ(most.size(), 107u);
  EXPECT_THAT(SocketFile::Listen(most), IsOk());
  EXPECT_FALSE(IsThere(most));
  EXPECT_THAT(SocketFile::Listen(most + "x"),
              FailsWith(Code::kInvalidArgument, "has 108 bytes, and the system takes 107 at most"));
  EXPECT_THAT(SocketFile::Listen("/nowhere/s"),
              FailsWith(Code::kUnavailable, "/nowhere: No such file"));
  EXPECT_THAT(SocketFile::Listen("/dev/null/s"),
              FailsWith(Code::kInvalidArgument, "/dev/null is no folder"));
}

TEST_F(SocketFileTest, AFolderWhereAnybodyMayRenameFilesIsRefused) {
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  EXPECT_THAT(SocketFile::Listen(path_),
              FailsWith(Code::kFailedPrecondition, absl::StrCat("chmod o-w ", folder_)));
  EXPECT_FALSE(IsThere(path_));
  ASSERT_EQ(chmod(folder_.c_str(), 01777), 0);
  EXPECT_THAT(SocketFile::Listen(path_), IsOk());
}

TEST_F(SocketFileTest, WhatAnotherHasPutThereSinceStays) {
  {
    const absl::StatusOr<std::unique_ptr<SocketFile>> file = SocketFile::Listen(path_);
    ASSERT_THAT(file, IsOk());
    ASSERT_EQ(rename(path_.c_str(), (path_ + "2").c_str()), 0);
    std::ofstream(path_) << "another's";
  }
  EXPECT_TRUE(IsThere(path_));
  unlink((path_ + "2").c_str());
}

TEST_F(SocketFileTest, APathFromHereGoesAlsoFromElsewhere) {
  char here[4096];
  ASSERT_NE(getcwd(here, sizeof(here)), nullptr);
  ASSERT_EQ(chdir(folder_.c_str()), 0);
  {
    const absl::StatusOr<std::unique_ptr<SocketFile>> file = SocketFile::Listen("s");
    ASSERT_THAT(file, IsOk());
    ASSERT_EQ(chdir(here), 0);
  }
  EXPECT_FALSE(IsThere(path_));
}

TEST_F(SocketFileTest, AChildThatWasForkedLeavesTheParents) {
  absl::StatusOr<std::unique_ptr<SocketFile>> file = SocketFile::Listen(path_);
  ASSERT_THAT(file, IsOk());
  const pid_t child = fork();
  if (child == 0) {
    file->reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(IsThere(path_));
}

TEST_F(SocketFileTest, OfManyThatStartAtOnceOneHasThePath) {
  for (int round = 0; round < 20; ++round) {
    if (round % 2 == 0) LeaveStale();
    constexpr int kStarters = 8;
    std::vector<absl::StatusOr<std::unique_ptr<SocketFile>>> files(kStarters);
    std::vector<std::thread> threads;
    std::atomic<int> ready{0};
    for (int i = 0; i < kStarters; ++i) {
      threads.emplace_back([&, i] {
        for (++ready; ready < kStarters;) std::this_thread::yield();
        files[i] = SocketFile::Listen(path_);
      });
    }
    for (std::thread& thread : threads) thread.join();
    int have = 0;
    for (const auto& file : files) have += file.ok();
    EXPECT_EQ(have, 1) << "round " << round;
    EXPECT_TRUE(IsThere(path_));
  }
}

TEST_F(SocketFileTest, AFolderThatAnotherKeepsLockedIsAnErrorAfterAWhile) {
  const int fd = open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  EXPECT_THAT(SocketFile::Listen(path_), FailsWith(Code::kUnavailable, "keeps the folder"));
  close(fd);
  EXPECT_THAT(SocketFile::Listen(path_), IsOk());
}

}  // namespace
}  // namespace graphtree
