// Calls of sockets that do not block.
#include "runtime/door/connection.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace graphtree {
namespace {

constexpr size_t kPieceBytes = 4 << 10;
// A client that reads, if ever so slowly, has so many times the time of one that does not.
constexpr int kMostWrites = 6;

bool IsLater(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Connection::Connection(int fd, const DoorLimits& limits) : fd_(fd), limits_(limits) {
  SetDeadline(limits_.read);
}

Connection::~Connection() { close(fd_); }

short Connection::events() const {
  switch (state_) {
    case State::kReading:
    case State::kLingering:
      return POLLIN;
    case State::kWaiting:
      return 0;  // poll tells of a client that is gone in any case
    case State::kWriting:
      return POLLOUT;
  }
  return 0;
}

Connection::Got Connection::Read(HttpRequest* request, HttpResponse* refusal) {
  char piece[kPieceBytes];
  while (true) {
    const ssize_t got = recv(fd_, piece, sizeof(piece), 0);
    if (got < 0) return IsLater(errno) ? Got::kNothing : Got::kEnd;
    if (got == 0) return Got::kEnd;  // half a request
    head_.append(piece, static_cast<size_t>(got));
    switch (ReadHttpRequest(head_, request, refusal)) {
      case HttpRead::kMore:
        break;
      case HttpRead::kRequest:
        is_head_ = request->is_head;
        return Got::kRequest;
      case HttpRead::kRefused:
        return Got::kRefused;
    }
  }
}

void Connection::Wait() {
  state_ = State::kWaiting;
  SetDeadline(limits_.page);
}

bool Connection::Answer(const HttpResponse& response) {
  state_ = State::kWriting;
  head_ = {};
  answer_ = HttpBytes(response, is_head_);
  SetDeadline(limits_.write);
  last_deadline_ = Clock::now() + kMostWrites * limits_.write;
  return Send();
}

bool Connection::Send() {
  const size_t before = sent_;
  while (sent_ < answer_.size()) {
    const ssize_t sent = send(fd_, answer_.data() + sent_, answer_.size() - sent_, MSG_NOSIGNAL);
    if (sent < 0 && !IsLater(errno)) return false;
    if (sent < 0) break;
    sent_ += static_cast<size_t>(sent);
  }
  if (sent_ == answer_.size()) {
    state_ = State::kLingering;
    answer_ = {};
    sent_ = 0;
    shutdown(fd_, SHUT_WR);
    SetDeadline(limits_.linger);
    return Linger();
  }
  if (sent_ > before) {
    SetDeadline(limits_.write);
    deadline_ = std::min(deadline_, last_deadline_);
  }
  return true;
}

bool Connection::Linger() {
  constexpr int kMostPieces = 16;
  char piece[kPieceBytes];
  for (int i = 0; i < kMostPieces; ++i) {
    const ssize_t got = recv(fd_, piece, sizeof(piece), 0);
    if (got < 0) return IsLater(errno);
    if (got == 0) return false;
  }
  return true;  // as much as one turn of the loop is to take
}

}  // namespace graphtree
