// Two processes, each with a runtime of its own, that vote over a socket. This binary is also what
// they run: with --rank=N it is a rank instead of a test.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "device/open.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/runtime/socket_rank.h"

namespace graphtree {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Ended {
  int status = -1;  // as waitpid has it
  std::string said;
};

// A rank in a process of its own, with the socket and what it prints.
class RankProcess {
 public:
  // `options.socket` is the rank's end, which the rank alone has from here on.
  explicit RankProcess(const RankOptions& options) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const std::vector<std::string> words = {
        "/proc/self/exe", absl::StrCat("--rank=", options.rank),
        absl::StrCat("--socket=", options.socket), absl::StrCat("--device=", options.device),
        absl::StrCat("--steps=", options.steps), absl::StrCat("--parts_at=", options.parts_at)};
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    child_ = fork();
    if (child_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      fcntl(options.socket, F_SETFD, 0);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    close(ends[1]);
    close(options.socket);
    output_ = ends[0];
  }
  // It ends in time by itself (RunRank).
  Ended Wait() {
    Ended ended;
    std::array<char, 4096> some;
    for (ssize_t got; (got = read(output_, some.data(), some.size())) > 0;) {
      ended.said.append(some.data(), got);
    }
    close(output_);
    waitpid(child_, &ended.status, 0);
    return ended;
  }

 private:
  pid_t child_ = -1;
  int output_ = -1;
};

// Each rank inherits its own end alone: with both it would never see that the other one is gone.
std::array<int, 2> Sockets() {
  std::array<int, 2> sockets = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
  return sockets;
}

std::vector<Ended> RunBoth(const std::array<std::string, 2>& devices, uint32_t parts_at) {
  const std::array<int, 2> sockets = Sockets();
  std::vector<RankProcess> ranks;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    RankOptions options = {.rank = rank, .socket = sockets[rank], .device = devices[rank]};
    if (rank == 1) options.parts_at = parts_at;
    ranks.emplace_back(options);
  }
  return {ranks[0].Wait(), ranks[1].Wait()};
}

void ExpectAgree(const std::array<std::string, 2>& devices) {
  for (const Ended& ended : RunBoth(devices, 300)) {
    EXPECT_EQ(ended.status, 0) << ended.said;
    EXPECT_THAT(ended.said, HasSubstr("300 steps"));
    EXPECT_THAT(ended.said, Not(HasSubstr("parted")));
    // Both ways were gone, and often.
    EXPECT_THAT(ended.said, Not(HasSubstr(" 0 replayed")));
    EXPECT_THAT(ended.said, Not(HasSubstr(" 0 voted down")));
    std::printf("%s", ended.said.c_str());
  }
}

void ExpectFound(const std::array<std::string, 2>& devices) {
  const std::vector<Ended> both = RunBoth(devices, 150);
  std::vector<std::string> dumps;
  for (const Ended& ended : both) {
    EXPECT_EQ(ended.status, 0) << ended.said;
    EXPECT_THAT(ended.said, HasSubstr("parted in step 150"));
    dumps.push_back(ended.said.substr(0, ended.said.rfind("rank ")));
    const std::vector<std::string> lines = absl::StrSplit(dumps.back(), '\n');
    EXPECT_GE(lines.size(), 64u) << dumps.back();
  }
  EXPECT_EQ(dumps[0], dumps[1]) << "both ranks tell the same";
}

TEST(SocketsTest, TwoProcessesAgreeInEveryStep) { ExpectAgree({"host", "host"}); }

TEST(SocketsTest, ARankThatGoesItsOwnWayIsFoundByBoth) { ExpectFound({"host", "host"}); }

TEST(SocketsTest, ARankWhoseOtherIsGoneSaysSoAndEnds) {
  const std::array<int, 2> sockets = Sockets();
  close(sockets[1]);
  const Ended ended = RankProcess({.rank = 0, .socket = sockets[0]}).Wait();
  EXPECT_EQ(WEXITSTATUS(ended.status), 1);
  EXPECT_THAT(ended.said, HasSubstr("the other rank went away"));
}

// At once, and not when nobody has answered for a while.
TEST(SocketsTest, ARankWhoseOtherDiesSaysSo) {
  const std::vector<Ended> both = RunBoth({"host", "no such device"}, 300);
  EXPECT_EQ(WEXITSTATUS(both[0].status), 1);
  EXPECT_THAT(both[0].said, HasSubstr("the other rank went away"));
  EXPECT_THAT(both[0].said, Not(HasSubstr("temporarily unavailable")));
  EXPECT_EQ(WEXITSTATUS(both[1].status), 1);
}

TEST(SocketsTest, TwoProcessesOnTwoGpus) {
  for (const char* gpu : {"cuda:0", "cuda:1"}) {
    const auto device = OpenDevice(gpu);
    if (!device.ok()) GTEST_SKIP() << gpu << ": " << device.status().message();
    EXPECT_TRUE((*device)->Close().ok());
  }
  ExpectAgree({"cuda:0", "cuda:1"});
  ExpectFound({"cuda:0", "cuda:1"});
}

// As a rank if the command line says so.
bool ParseRank(int count, char** words, RankOptions* options) {
  bool is_rank = false;
  for (int i = 1; i < count; ++i) {
    absl::string_view word = words[i];
    if (absl::ConsumePrefix(&word, "--rank=")) {
      is_rank = absl::SimpleAtoi(word, &options->rank);
    } else if (absl::ConsumePrefix(&word, "--device=")) {
      options->device = std::string(word);
    } else if (absl::ConsumePrefix(&word, "--socket=")) {
      if (!absl::SimpleAtoi(word, &options->socket)) return false;
    } else if (absl::ConsumePrefix(&word, "--steps=")) {
      if (!absl::SimpleAtoi(word, &options->steps)) return false;
    } else if (absl::ConsumePrefix(&word, "--parts_at=")) {
      if (!absl::SimpleAtoi(word, &options->parts_at)) return false;
    }
  }
  return is_rank;
}

}  // namespace
}  // namespace graphtree

int main(int argc, char** argv) {
  graphtree::RankOptions options;
  if (graphtree::ParseRank(argc, argv, &options)) return graphtree::RunRank(options);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
