// A door with pages of a test's own, and clients that are slow, huge, half-closed, malformed, many.
#include "runtime/door/server.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/door/http.h"
#include "runtime/door/test_client.h"

namespace graphtree {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

class DoorServerTest : public ::testing::Test {
 protected:
  ~DoorServerTest() override {
    Release();
    server_ = nullptr;
    EXPECT_EQ(rmdir(folder_.c_str()), 0) << "the socket is there";
  }

  // "/quick" and "/slow" answer with their query's "text"; "/large" is large; "/hang" waits for
  // Release.
  DoorPages Pages() {
    return {.quick = [this](const HttpRequest& request) -> std::optional<HttpResponse> {
              if (request.path != "/quick") return std::nullopt;
              ++quick_;
              return HttpResponse{.body = std::string(request.Find("text"))};
            },
            .slow = [this](const HttpRequest& request) -> HttpResponse {
              ++slow_;
              if (request.path == "/hang") released_.get_future().wait();
              if (request.path == "/large") return {.body = std::string(kLarge, 'x')};
              if (request.path != "/slow") return PlainResponse(404, "no such page");
              return {.body = std::string(request.Find("text"))};
            },
            .late =
                [](const HttpRequest* before) {
                  return PlainResponse(503, before == nullptr ? "it takes too long"
                                                              : "it waits for " + before->path);
                }};
  }
  void Open(const DoorLimits& limits = {}) {
    absl::StatusOr<std::unique_ptr<DoorServer>> server = DoorServer::Open(path_, Pages(), limits);
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
  }
  void Release() {
    if (!is_released_.exchange(true)) released_.set_value();
  }
  std::string GetBody(absl::string_view target) { return BodyOf(Get(path_, target)); }

  static constexpr size_t kLarge = 8 << 20;
  const std::string folder_ = NewFolder();
  const std::string path_ = folder_ + "/door";
  std::unique_ptr<DoorServer> server_;
  std::atomic<int> quick_{0};
  std::atomic<int> slow_{0};
  std::promise<void> released_;
  std::atomic<bool> is_released_{false};
};

TEST_F(DoorServerTest, Answers) {
  Open();
  EXPECT_EQ(GetBody("/quick?text=a"), "a");
  EXPECT_EQ(GetBody("/slow?text=b"), "b");
  EXPECT_EQ(GetBody("/large").size(), kLarge);
  EXPECT_EQ(CodeOf(Get(path_, "/none")), 404);
  TestClient head(path_);
  head.Send("HEAD /quick?text=abc HTTP/1.1\r\n\r\n");
  EXPECT_THAT(head.Read(), AllOf(HasSubstr("Content-Length: 3\r\n"), EndsWith("\r\n\r\n")));
}

TEST_F(DoorServerTest, ARequestComesInPieces) {
  Open();
  TestClient client(path_);
  for (const char c : std::string("GET /quick?text=pieces HTTP/1.1\r\n\r\n")) {
    ASSERT_TRUE(client.Send(std::string(1, c)));
  }
  EXPECT_EQ(BodyOf(client.Read()), "pieces");
}

TEST_F(DoorServerTest, AClientThatHasSentAllAndSaysSoGetsItsAnswer) {
  Open();
  TestClient client(path_);
  client.Send("GET /slow?text=half HTTP/1.1\r\n\r\n");
  client.EndSending();
  EXPECT_EQ(BodyOf(client.Read()), "half");
  TestClient half(path_);
  half.Send("GET /slow");
  half.EndSending();
  EXPECT_EQ(half.Read(), "");
}

TEST_F(DoorServerTest, AClientThatSendsTooMuchIsToldSo) {
  Open();
  TestClient client(path_);
  const std::string much(1 << 20, 'a');
  for (int i = 0; i < 64 && client.Send(much); ++i) continue;
  EXPECT_EQ(CodeOf(client.Read()), 431);
  EXPECT_EQ(GetBody("/quick?text=a"), "a");
}

TEST_F(DoorServerTest, ABodyThatIsOnItsWayDoesNotCostTheAnswer) {
  Open();
  TestClient client(path_);
  client.Send("POST /quick HTTP/1.1\r\nContent-Length: 30000\r\n\r\n");
  client.Send(std::string(30000, 'b'));
  EXPECT_EQ(CodeOf(client.Read()), 405);
}

TEST_F(DoorServerTest, SlowClientsAreClosedAtADeadlineAndHoldUpNobody) {
  Open({.read = milliseconds(200)});
  TestClient silent(path_), slow(path_);
  slow.Send("GET /qu");
  const auto start = steady_clock::now();
  EXPECT_EQ(GetBody("/quick?text=a"), "a");
  EXPECT_EQ(silent.Read(), "");
  EXPECT_EQ(slow.Read(), "");
  EXPECT_GE(steady_clock::now() - start, milliseconds(150));
}

TEST_F(DoorServerTest, AClientThatNeverReadsIsClosedAtADeadline) {
  Open({.unread_bytes = 1 << 20, .write = milliseconds(200)});
  TestClient client(path_);
  client.Send("GET /large HTTP/1.1\r\n\r\n");
  ASSERT_NE(client.Read(1), "");
  // Its answer is all that others may leave unread.
  EXPECT_EQ(CodeOf(Get(path_, "/quick?text=a")), 503);
  while (CodeOf(Get(path_, "/quick?text=a")) == 503) continue;
  EXPECT_EQ(GetBody("/quick?text=a"), "a");
  EXPECT_LT(client.Read().size(), kLarge);
}

TEST_F(DoorServerTest, APageThatHangsHoldsUpNoOtherRequest) {
  Open({.page = milliseconds(200)});
  TestClient first(path_);
  first.Send("GET /hang HTTP/1.1\r\n\r\n");
  EXPECT_EQ(GetBody("/quick?text=a"), "a");
  const std::string late = Get(path_, "/slow?text=b");
  EXPECT_EQ(CodeOf(late), 503);
  EXPECT_EQ(BodyOf(late), "it waits for /hang\n");
  const std::string hung = first.Read();
  EXPECT_EQ(CodeOf(hung), 503);
  EXPECT_EQ(BodyOf(hung), "it takes too long\n");
  Release();
  EXPECT_EQ(GetBody("/slow?text=c"), "c");
  EXPECT_EQ(slow_, 2) << "a page was made for a client that was told already";
}

TEST_F(DoorServerTest, AClientThatGoesAwayTakesNothingWithIt) {
  Open();
  {
    TestClient client(path_);
    client.Send("GET /hang HTTP/1.1\r\n\r\n");
    while (slow_ == 0) std::this_thread::yield();
    TestClient second(path_);
    second.Send("GET /slow?text=x HTTP/1.1\r\n\r\n");
    EXPECT_EQ(GetBody("/quick?text=a"), "a");
  }
  EXPECT_EQ(GetBody("/quick?text=a"), "a");
  Release();
  EXPECT_EQ(GetBody("/slow?text=b"), "b");
}

TEST_F(DoorServerTest, MoreClientsThanThereIsRoomForDoNotShutOthersOut) {
  Open({.connections = 8});
  std::vector<std::unique_ptr<TestClient>> idle;
  for (int i = 0; i < 100; ++i) {
    idle.push_back(std::make_unique<TestClient>(path_));
    ASSERT_TRUE(idle.back()->is_connected()) << i;
    if (i % 2 == 0) idle.back()->Send("GET /");
  }
  EXPECT_EQ(GetBody("/quick?text=a"), "a");
  EXPECT_EQ(idle[0]->Read(), "");
}

TEST_F(DoorServerTest, TenThousandConnectionsOfRubbish) {
  Open();
  const uint64_t seed = 77;
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 random(seed);
  std::vector<std::unique_ptr<TestClient>> open(100);
  for (int i = 0; i < 10000; ++i) {
    auto client = std::make_unique<TestClient>(path_);
    ASSERT_TRUE(client->is_connected()) << i;
    const std::string pieces[] = {"GET / HTTP/1.1\r\n\r\n", "GET /quick?text=a", "\r\n\r\n",
                                  std::string("\0\xff\x80", 3), "HTTP/1.1", ": ",
                                  std::string(random() % 3000, 'q')};
    std::string bytes;
    for (uint64_t piece = random() % 4; piece-- > 0;) bytes += pieces[random() % 7];
    client->Send(bytes);
    if (random() % 4 == 0) client->EndSending();
    open[random() % open.size()] = std::move(client);  // and the one before goes
    if (i % 500 != 0) continue;
    EXPECT_EQ(GetBody("/quick?text=a"), "a");
  }
  EXPECT_EQ(GetBody("/slow?text=b"), "b");
}

TEST_F(DoorServerTest, ManyAtOnce) {
  Open();
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 50; ++j) {
        const std::string text = absl::StrCat(i, ".", j);
        right += GetBody(absl::StrCat(j % 2 == 0 ? "/quick" : "/slow", "?text=", text)) == text;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 8 * 50);
}

TEST_F(DoorServerTest, ClosesWhileClientsAreInEveryState) {
  Open();
  TestClient reading(path_), waiting(path_), queued(path_), writing(path_);
  reading.Send("GET /");
  writing.Send("GET /large HTTP/1.1\r\n\r\n");
  ASSERT_NE(writing.Read(1), "");
  waiting.Send("GET /hang HTTP/1.1\r\n\r\n");
  while (slow_ < 2) std::this_thread::yield();
  queued.Send("GET /slow HTTP/1.1\r\n\r\n");
  EXPECT_EQ(GetBody("/quick?text=a"), "a");
  Release();
  server_ = nullptr;
  EXPECT_EQ(reading.Read(), "");
  EXPECT_LT(writing.Read().size(), kLarge);
  EXPECT_FALSE(TestClient(path_).is_connected());
}

TEST_F(DoorServerTest, OpensAgainAndAgain) {
  for (int i = 0; i < 20; ++i) {
    Open();
    EXPECT_EQ(GetBody("/quick?text=a"), "a");
    EXPECT_THAT(DoorServer::Open(path_, Pages()),
                FailsWith(absl::StatusCode::kAlreadyExists, "is taken"));
    server_ = nullptr;
  }
}

TEST_F(DoorServerTest, AChildThatWasForkedLeavesTheParentsDoorOpen) {
  Open();
  const pid_t child = fork();
  if (child == 0) {
    server_ = nullptr;
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(GetBody("/quick?text=a"), "a");
}

// Even where somebody has given others a right to the socket.
TEST_F(DoorServerTest, AnotherUserIsToldThatItIsNotForHim) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may become another user";
  Open();
  ASSERT_EQ(chmod(folder_.c_str(), 0711), 0);
  ASSERT_EQ(chmod(path_.c_str(), 0666), 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool is_other = setuid(65534) == 0;
    const std::string answer = Get(path_, "/quick?text=secret");
    const bool is_refused = CodeOf(answer) == 403 &&
                            answer.find("for user 0 alone, and was asked by user 65534") !=
                                std::string::npos;
    _exit(is_other && is_refused && answer.find("secret") == std::string::npos ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(quick_, 0);
}

std::atomic<int> handled{0};

TEST_F(DoorServerTest, ItsThreadsTakeNoSignals) {
  Open();
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) { ++handled; };
  sigaction(SIGUSR1, &action, &before);
  sigset_t only, mask;
  sigemptyset(&only);
  sigaddset(&only, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &only, &mask);
  kill(getpid(), SIGUSR1);
  EXPECT_EQ(GetBody("/slow?text=a"), "a");
  EXPECT_EQ(handled, 0);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  EXPECT_EQ(handled, 1);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(DoorServerTest, WithoutDescriptorsItGoesOnOnceThereAreSome) {
  Open();
  std::vector<int> taken;
  TestClient client(path_);  // waits to be accepted, or is
  for (int fd = dup(0); fd >= 0; fd = dup(0)) taken.push_back(fd);
  client.Send("GET /quick?text=a HTTP/1.1\r\n\r\n");
  for (const int fd : taken) close(fd);
  EXPECT_EQ(BodyOf(client.Read()), "a");
}

}  // namespace
}  // namespace graphtree
