// The poll loop.
#include "runtime/door/server.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "runtime/door/connection.h"
#include "runtime/door/page_thread.h"
#include "runtime/door/quiet_thread.h"
#include "runtime/door/socket_file.h"

namespace graphtree {
namespace {

using Clock = Connection::Clock;
using State = Connection::State;

// Wakes a poll.
class Bell {
 public:
  Bell() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Bell() {
    if (fd_ >= 0) close(fd_);
  }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  int fd() const { return fd_; }
  void Ring() const {
    const uint64_t one = 1;
    // It fails where the bell was rung very often already, and then it rings.
    (void)!write(fd_, &one, sizeof(one));
  }
  void Silence() const {
    uint64_t rings = 0;
    (void)!read(fd_, &rings, sizeof(rings));
  }

 private:
  const int fd_;
};

// All that the door thread has.
class Loop {
 public:
  Loop(std::unique_ptr<SocketFile> socket, DoorPages pages, const DoorLimits& limits)
      : socket_(std::move(socket)), pages_(std::move(pages)), limits_(limits) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() {
    is_over_ = true;
    bell_.Ring();
    thread_ = nullptr;
    page_thread_ = nullptr;
  }

  absl::Status Start() {
    if (bell_.fd() < 0) {
      return absl::UnavailableError(
          absl::StrCat("cannot make an event for ", socket_->path(), ": ", std::strerror(errno)));
    }
    GRAPHTREE_ASSIGN_OR_RETURN(page_thread_,
                               PageThread::Start(pages_.slow, [this] { bell_.Ring(); }));
    GRAPHTREE_ASSIGN_OR_RETURN(thread_, QuietThread::Start("graphtree-door", [this] { Run(); }));
    return absl::OkStatus();
  }

  const SocketFile& socket() const { return *socket_; }

 private:
  using Connections = std::map<uint64_t, std::unique_ptr<Connection>>;

  void Run() {
    while (!is_over_) {
      Poll();
      bell_.Silence();
      TakePages();
      Expire();
    }
  }

  // Waits for whatever comes first, and serves it.
  void Poll() {
    std::vector<pollfd> polled = {{bell_.fd(), POLLIN, 0}};
    std::vector<uint64_t> ids = {0};
    for (const auto& [id, connection] : connections_) {
      polled.push_back({connection->fd(), connection->events(), 0});
      ids.push_back(id);
    }
    const bool listens = MayAccept();
    if (listens) polled.push_back({socket_->fd(), POLLIN, 0});
    if (poll(polled.data(), polled.size(), Timeout()) <= 0) return;
    for (size_t i = 1; i < ids.size(); ++i) {
      if (polled[i].revents != 0) Serve(ids[i], polled[i].revents);
    }
    if (listens && polled.back().revents != 0) Accept();
  }

  // Until the next deadline, in milliseconds.
  int Timeout() const {
    Clock::time_point first = Clock::time_point::max();
    for (const auto& [id, connection] : connections_) {
      first = std::min(first, connection->deadline());
    }
    if (accepts_from_ > Clock::now()) first = std::min(first, accepts_from_);
    if (first == Clock::time_point::max()) return -1;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(first - Clock::now());
    return static_cast<int>(std::max<int64_t>(left.count() + 1, 0));
  }

  // Who has asked for nothing yet, or has his answer, makes way for a newcomer.
  Connections::iterator Oldest() {
    return std::find_if(connections_.begin(), connections_.end(), [](const auto& entry) {
      return entry.second->state() == State::kReading ||
             entry.second->state() == State::kLingering;
    });
  }

  bool MayAccept() {
    if (accepts_from_ > Clock::now()) return false;
    return connections_.size() < limits_.connections || Oldest() != connections_.end();
  }

  void Accept() {
    constexpr int kMostInATurn = 32;
    constexpr std::chrono::milliseconds kPause(100);
    for (int i = 0; i < kMostInATurn && MayAccept(); ++i) {
      const int fd = accept4(socket_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) {
        const bool is_over = errno == EAGAIN || errno == EWOULDBLOCK;
        // The process has no descriptors left, or the system no memory: later, it may have.
        if (!is_over && errno != EINTR && errno != ECONNABORTED) {
          accepts_from_ = Clock::now() + kPause;
        }
        return;
      }
      if (connections_.size() >= limits_.connections) connections_.erase(Oldest());
      const uint64_t id = ++last_id_;
      connections_[id] = std::make_unique<Connection>(fd, limits_);
      Greet(id);
    }
  }

  // Another user is told so. Of others the request has come, most often.
  void Greet(uint64_t id) {
    Connection& connection = *connections_[id];
    ucred peer = {};
    socklen_t size = sizeof(peer);
    const bool is_known =
        getsockopt(connection.fd(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    if (is_known && peer.uid == geteuid()) return Serve(id, POLLIN);
    Answer(id, PlainResponse(403, absl::StrCat("this door is for user ", geteuid(),
                                               " alone, and was asked by user ", peer.uid)));
  }

  void Serve(uint64_t id, short events) {
    Connection& connection = *connections_.at(id);
    switch (connection.state()) {
      case State::kReading:
        return Read(id);
      case State::kWaiting:
        if ((events & (POLLHUP | POLLERR)) != 0) Close(id);
        return;
      case State::kWriting:
        if (!connection.Send()) Close(id);
        return;
      case State::kLingering:
        if (!connection.Linger()) Close(id);
        return;
    }
  }

  void Read(uint64_t id) {
    HttpRequest request;
    HttpResponse refusal;
    switch (connections_.at(id)->Read(&request, &refusal)) {
      case Connection::Got::kNothing:
        return;
      case Connection::Got::kEnd:
        return Close(id);
      case Connection::Got::kRefused:
        return Answer(id, refusal);
      case Connection::Got::kRequest:
        return Dispatch(id, request);
    }
  }

  void Dispatch(uint64_t id, const HttpRequest& request) {
    size_t unread = 0;
    for (const auto& [other, connection] : connections_) unread += connection->answer_bytes();
    if (unread > limits_.unread_bytes) {
      return Answer(id, PlainResponse(503, absl::StrCat(unread, " bytes wait for clients that do "
                                                                "not read; try again")));
    }
    const std::optional<HttpResponse> page = pages_.quick(request);
    if (page.has_value()) return Answer(id, *page);
    connections_.at(id)->Wait();
    page_thread_->Submit(id, request);
  }

  void TakePages() {
    for (PageThread::Done& done : page_thread_->TakeDone()) {
      const auto found = connections_.find(done.id);
      // Whoever was told that it takes too long does not wait any more.
      if (found == connections_.end() || found->second->state() != State::kWaiting) continue;
      Answer(done.id, done.page);
    }
  }

  void Expire() {
    const Clock::time_point now = Clock::now();
    std::vector<uint64_t> late;
    for (const auto& [id, connection] : connections_) {
      if (connection->deadline() <= now) late.push_back(id);
    }
    for (const uint64_t id : late) {
      if (connections_.at(id)->state() != State::kWaiting) {
        Close(id);
        continue;
      }
      const std::optional<HttpRequest> before = page_thread_->Drop(id);
      Answer(id, pages_.late(before.has_value() ? &*before : nullptr));
    }
  }

  void Answer(uint64_t id, const HttpResponse& response) {
    if (!connections_.at(id)->Answer(response)) Close(id);
  }

  void Close(uint64_t id) {
    page_thread_->Drop(id);
    connections_.erase(id);
  }

  const std::unique_ptr<SocketFile> socket_;
  const DoorPages pages_;
  const DoorLimits limits_;
  const Bell bell_;
  std::atomic<bool> is_over_{false};
  // By the door thread alone:
  Connections connections_;  // the oldest first
  uint64_t last_id_ = 0;
  Clock::time_point accepts_from_ = {};
  std::unique_ptr<PageThread> page_thread_;
  std::unique_ptr<QuietThread> thread_;
};

class LoopServer : public DoorServer {
 public:
  explicit LoopServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)), owner_(getpid()) {}
  ~LoopServer() override {
    if (getpid() == owner_) return;
    // The threads are the parent's, and may have had any lock when it forked: nothing of theirs can
    // be touched here. What the child has is a way in that nobody answers.
    close(loop_->socket().fd());
    (void)loop_.release();
  }

  const std::string& path() const override { return loop_->socket().path(); }

 private:
  std::unique_ptr<Loop> loop_;
  const pid_t owner_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DoorServer>> DoorServer::Open(const std::string& path,
                                                             DoorPages pages,
                                                             const DoorLimits& limits) {
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<SocketFile> socket, SocketFile::Listen(path));
  auto loop = std::make_unique<Loop>(std::move(socket), std::move(pages), limits);
  GRAPHTREE_RETURN_IF_ERROR(loop->Start());
  return std::make_unique<LoopServer>(std::move(loop));
}

}  // namespace graphtree
