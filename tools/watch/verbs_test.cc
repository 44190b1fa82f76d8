// The verbs on a runtime that serves in this process, and on paths where no server is.
#include "tools/watch/verbs.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "graphs/launcher.h"
#include "runtime/runtime.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tools/cli/registry.h"
#include "tools/cli/run_verbs.h"
#include "tools/watch/door_client.h"

namespace graphtree::watch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using cli::Outcome;

Outcome Ask(const std::vector<std::string>& args) {
  cli::Registry registry;
  registry.Add(WatchVerbs());
  return cli::RunVerbs(registry, args);
}

class WatchVerbsTest : public ::testing::Test {
 protected:
  WatchVerbsTest() {
    char name[] = "/tmp/watch.XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/door";
  }
  ~WatchVerbsTest() override {
    runtime_ = nullptr;
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }

  void Serve() {
    RuntimeOptions options;
    options.tree.pool_bytes = 16 << 20;
    options.door = path_;
    absl::StatusOr<std::unique_ptr<Runtime>> runtime = Runtime::Create(*device_, options);
    ASSERT_THAT(runtime, IsOk());
    runtime_ = *std::move(runtime);
    ProgramOptions program;
    program.name = "decode 1";
    program.slots = {
        {.name = "ids", .type = DType::kI32, .sizes = {64}, .rows = KeyField::kTokens}};
    program.body = [](Launcher& on, const ProgramInputs& in) -> Values {
      const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
      if (!on.ok()) return {};
      on.Launch(AddKernel(), TestShape(), {Out(out), In(in.slot(0)), In(in.slot(0)),
                                           Val(static_cast<uint32_t>(in.key().tokens))});
      return {out};
    };
    program_ = runtime_->AddProgram(std::move(program)).value();
    ASSERT_THAT(runtime_->AddShapes(program_, {{.tokens = 4}, {.tokens = 16}}), IsOk());
  }
  void Step(int32_t tokens) {
    graphtree::Step step = runtime_->Begin(program_, {.tokens = tokens}, *stream_).value();
    ASSERT_THAT(step.Stage(0, 1.0), IsOk());
    Values outputs;
    ASSERT_THAT(step.Run(&outputs), IsOk());
  }

  std::string folder_, path_;
  const std::unique_ptr<Device> device_ = *OpenHostDevice();
  const std::unique_ptr<Stream> stream_ = *device_->NewStream();
  std::unique_ptr<Runtime> runtime_;
  ProgramId program_;
};

TEST_F(WatchVerbsTest, TopShowsARunningServerOnce) {
  Serve();
  for (const int32_t tokens : {4, 4, 4, 60}) Step(tokens);
  const Outcome outcome = Ask({"top", path_, "--every", "0.05"});
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("mode replay, 50 % of the shapes"),
                                 HasSubstr("steps    0.0 a second, - of them replayed; 4 in all"),
                                 HasSubstr("\ndecode 1 "), HasSubstr("\nabove_ceiling ")));
  EXPECT_EQ(outcome.err, "");
  const Outcome lines = Ask({"top", path_, "--every", "0.05", "--count", "3", "--json"});
  const std::vector<std::string> split = absl::StrSplit(lines.out, '\n');
  EXPECT_EQ(split.size(), 4u) << "three lines, and nothing behind the last one";
}

TEST_F(WatchVerbsTest, ExplainSaysWhatTheServerSays) {
  Serve();
  for (const int32_t tokens : {4, 4, 4, 60}) Step(tokens);
  const Outcome all = Ask({"explain", path_});
  EXPECT_EQ(all.code, cli::kFine) << all.err;
  EXPECT_THAT(all.out, AllOf(HasSubstr("decode 1, device 0 lane 0: 4 steps, 1 replayed"),
                             HasSubstr("add a shape with tokens=60"), HasSubstr("the last steps")));
  const Outcome one = Ask({"explain", path_, "decode 1", "--steps", "0"});
  EXPECT_EQ(one.code, cli::kFine) << one.err;
  EXPECT_THAT(one.out, Not(HasSubstr("the last steps")));
  EXPECT_THAT(Ask({"explain", path_, "--json"}).out, StartsWith("{\"programs\":[{"));
  const Outcome none = Ask({"explain", path_, "prefill"});
  EXPECT_EQ(none.code, cli::kBadInput);
  EXPECT_EQ(none.err,
            "graphtree explain: there is no program \"prefill\"; there are: decode 1\n");
  EXPECT_EQ(Ask({"explain", path_, "--steps", "5000"}).code, cli::kWrongUse);
}

TEST_F(WatchVerbsTest, MemoryWatchFollowsUntilTheServerEnds) {
  Serve();
  std::thread server([&] {
    for (const int32_t tokens : {4, 4, 4, 16, 16}) Step(tokens);
    const Outcome looks = Ask({"memory", "watch", path_, "--count", "2", "--every", "0.05"});
    EXPECT_EQ(looks.code, cli::kFine) << looks.err;
    runtime_ = nullptr;
  });
  const Outcome outcome = Ask({"memory", "watch", path_, "--every", "0.05"});
  server.join();
  EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(StartsWith("time  "), HasSubstr("MiB")));
  EXPECT_THAT(outcome.err, HasSubstr(path_));
}

// The server steps until the window is there.
TEST_F(WatchVerbsTest, AProfileIsAWindowOfTheServer) {
  Serve();
  for (const int32_t tokens : {4, 4, 4}) Step(tokens);
  const std::string out = folder_ + "/window.json";
  for (const std::string mode : {"full", "light", "host"}) {
    std::atomic<bool> is_there{false};
    std::thread server([&] {
      while (!is_there) {
        Step(4);
        EXPECT_THAT(stream_->Synchronize(), IsOk());
      }
    });
    const Outcome outcome =
        Ask({"profile", "attach", path_, out, "--mode", mode, "--replays", "5", "--ms", "3000",
             "--force"});
    is_there = true;
    server.join();
    EXPECT_EQ(outcome.code, cli::kFine) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("graphtree profile show " + out));
    std::ifstream file(out);
    const std::string trace = {std::istreambuf_iterator<char>(file), {}};
    EXPECT_THAT(trace, AllOf(HasSubstr("\"traceEvents\""), HasSubstr("cudaGraphLaunch decode 1")));
    EXPECT_EQ(trace.find("\"cat\":\"kernel\"") != std::string::npos, mode == "full") << mode;
    unlink(out.c_str());
  }
}

TEST_F(WatchVerbsTest, AProfileThatMakesNoSenseIsRefused) {
  Serve();
  const std::string out = folder_ + "/window.json";
  const auto refused = [&](std::vector<std::string> more, const std::string& words) {
    more.insert(more.begin(), {"profile", "attach", path_});
    const Outcome outcome = Ask(more);
    EXPECT_EQ(outcome.code, cli::kWrongUse);
    EXPECT_THAT(outcome.err, HasSubstr(words));
  };
  refused({out, "--replays", "0"}, "a window of 0 replays and 1000 ms");
  refused({out, "--ms", "4000"}, "--ms at most 3000");
  refused({folder_ + "/window.txt"}, "name the file .json");
}

TEST_F(WatchVerbsTest, PathsWithoutAServer) {
  const auto told = [&](const std::string& path, const std::string& words) {
    for (const std::vector<std::string>& verb :
         {std::vector<std::string>{"top"}, {"explain"}, {"memory", "watch"}}) {
      std::vector<std::string> args = verb;
      args.push_back(path);
      const Outcome outcome = Ask(args);
      EXPECT_EQ(outcome.code, cli::kBadInput);
      EXPECT_THAT(outcome.err, HasSubstr(words));
      EXPECT_EQ(outcome.out, "");
    }
  };
  told(path_, absl::StrCat("there is no door at ", path_, ": No such file or directory. A server"));
  told(folder_, folder_ + " is a folder, and not the socket");
  told(std::string(200, 'x'), "has 200 bytes, and the system takes 107 at most");
  told("", "a socket's path is empty");
  std::ofstream(path_) << "letters";
  told(path_, path_ + " is a file, and not the socket");
  unlink(path_.c_str());
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  told(path_, "nobody answers at " + path_ + " any more");
  // Somebody who speaks another language.
  ASSERT_EQ(listen(fd, 8), 0);
  std::thread other([fd] {
    for (int i = 0; i < 3; ++i) {
      const int caller = accept(fd, nullptr, nullptr);
      EXPECT_EQ(send(caller, "220 mail\r\n", 10, MSG_NOSIGNAL), 10);
      shutdown(caller, SHUT_WR);
      char rest[4096];
      while (recv(caller, rest, sizeof(rest), 0) > 0) continue;
      close(caller);
    }
  });
  told(path_, "what answers at " + path_ + " is no door of a Graphtree runtime");
  other.join();
  close(fd);
}

// Its process is there, and does nothing.
TEST_F(WatchVerbsTest, ADoorThatNobodyServes) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd, 0), 0);
  const std::chrono::milliseconds patience(50);
  for (int caller = 0; caller < 3; ++caller) {  // the first is taken, and later ones wait
    EXPECT_THAT(AskDoor(path_, "/metrics", patience),
                FailsWith(absl::StatusCode::kDeadlineExceeded, "gives no answer"));
  }
  close(fd);
}

TEST_F(WatchVerbsTest, AServerThatHangsIsToldOfAndExplained) {
  Serve();
  for (const int32_t tokens : {4, 4, 4}) Step(tokens);
  std::promise<void> goes_on, hangs;
  std::thread looker([&] {
    runtime_->tree()->Inspect([&] {
      hangs.set_value();
      goes_on.get_future().wait();
    });
  });
  hangs.get_future().wait();
  const Outcome top = Ask({"top", path_});
  EXPECT_EQ(top.code, cli::kFoundSomething);
  EXPECT_THAT(top.err, HasSubstr("the runtime's trees are in use, and this page waits for them"));
  EXPECT_THAT(Ask({"explain", path_}).out, HasSubstr("decode 1, device 0 lane 0: 3 steps"));
  goes_on.set_value();
  looker.join();
}

TEST_F(WatchVerbsTest, NumbersThatMakeNoSense) {
  EXPECT_EQ(Ask({"top"}).code, cli::kWrongUse);
  EXPECT_THAT(Ask({"top", path_, "--every", "0"}).err, HasSubstr("--every 0 is not between 0.05"));
  EXPECT_THAT(Ask({"top", path_, "--every", "nan"}).err, HasSubstr("--every"));
  EXPECT_THAT(Ask({"top", path_, "--count", "0"}).err, HasSubstr("--count 0 is not 1 or more"));
  EXPECT_THAT(Ask({"top", path_, "--count", "-2"}).err, HasSubstr("--count -2 is not 1 or more"));
}

}  // namespace
}  // namespace graphtree::watch
