// One connection, one request, one answer.
#include "tools/watch/door_client.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "device/base/status_macros.h"
#include "runtime/door/socket_file.h"

namespace graphtree::watch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostBytes = size_t{1} << 30;

// Closes with its scope.
class Socket {
 public:
  Socket() : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

absl::Status Late(const std::string& path) {
  return absl::DeadlineExceededError(absl::StrCat(
      "the door at ", path, " gives no answer: its process may be stopped, or be no Graphtree"));
}

absl::Status WhyNotConnected(const std::string& path, int error) {
  struct stat about;
  if (error == EAGAIN) return Late(path);
  if (error == ENOENT || lstat(path.c_str(), &about) != 0) {
    return absl::NotFoundError(absl::StrCat(
        "there is no door at ", path, ": ", std::strerror(error),
        ". A server opens one where RuntimeOptions::door or GRAPHTREE_DOOR says; `graphtree demo "
        "--serve` is such a server"));
  }
  if (stat(path.c_str(), &about) == 0 && !S_ISSOCK(about.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is ", S_ISDIR(about.st_mode) ? "a folder" : "a file",
                     ", and not the socket of a running server"));
  }
  if (error == ECONNREFUSED) {
    return absl::UnavailableError(absl::StrCat(
        "nobody answers at ", path, " any more: the server that opened the door has ended"));
  }
  if (error == EACCES || error == EPERM) {
    return absl::PermissionDeniedError(
        absl::StrCat("the door at ", path, " is for user ", about.st_uid, " alone, and you are ",
                     geteuid(), "; try: sudo -u '#", about.st_uid, "' ..."));
  }
  return absl::UnavailableError(
      absl::StrCat("cannot connect to ", path, ": ", std::strerror(error)));
}

absl::Status Connect(int fd, const std::string& path) {
  GRAPHTREE_RETURN_IF_ERROR(CheckSocketPath(path));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return WhyNotConnected(path, errno);
  }
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return WhyNotConnected(path, errno);
  }
  if (peer.uid == geteuid()) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("the door at ", path, " is that of process ", peer.pid, " of user ", peer.uid,
                   ", and you are ", geteuid(), "; try: sudo -u '#", peer.uid, "' ..."));
}

absl::Status SendAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return absl::UnavailableError("the door closed before it was asked");
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadAll(int fd, const std::string& path, Clock::time_point deadline) {
  std::string bytes;
  char piece[1 << 16];
  while (bytes.size() < kMostBytes) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd polled = {fd, POLLIN, 0};
    const int ready = left <= 0 ? 0 : poll(&polled, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Late(path);
    const ssize_t got = recv(fd, piece, sizeof(piece), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return bytes;  // what is cut off shows in its length
    bytes.append(piece, static_cast<size_t>(got));
  }
  return absl::ResourceExhaustedError(absl::StrCat("the door at ", path, " sends without end"));
}

absl::StatusOr<DoorAnswer> Parse(absl::string_view bytes, const std::string& path) {
  if (bytes.empty()) {
    return absl::UnavailableError(
        absl::StrCat("the door at ", path, " closed without an answer: its server has ended"));
  }
  const size_t end = bytes.find("\r\n\r\n");
  DoorAnswer answer;
  const bool is_answer = absl::StartsWith(bytes, "HTTP/1.") && end != bytes.npos && end > 12 &&
                         absl::SimpleAtoi(bytes.substr(9, 3), &answer.code);
  if (!is_answer) {
    return absl::InvalidArgumentError(
        absl::StrCat("what answers at ", path, " is no door of a Graphtree runtime"));
  }
  const absl::string_view head = bytes.substr(0, end + 2);
  answer.body = std::string(bytes.substr(end + 4));
  constexpr absl::string_view kLength = "\r\nContent-Length: ";
  const size_t at = head.find(kLength);
  if (at == head.npos) return answer;
  const size_t from = at + kLength.size();
  uint64_t length = 0;
  const bool is_cut = absl::SimpleAtoi(head.substr(from, head.find('\r', from) - from), &length) &&
                      answer.body.size() < length;
  if (!is_cut) return answer;
  return absl::UnavailableError(
      absl::StrCat("the door at ", path, " closed in the middle of its answer"));
}

}  // namespace

absl::StatusOr<DoorAnswer> AskDoor(const std::string& path, absl::string_view target,
                                   std::chrono::milliseconds patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  const Socket socket;
  if (socket.fd() < 0) {
    return absl::UnavailableError(absl::StrCat("cannot make a socket: ", std::strerror(errno)));
  }
  // A process that is stopped takes a few callers, and lets the next ones wait.
  const timeval wait = {patience.count() / 1000, patience.count() % 1000 * 1000};
  setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
  GRAPHTREE_RETURN_IF_ERROR(Connect(socket.fd(), path));
  GRAPHTREE_RETURN_IF_ERROR(SendAll(
      socket.fd(), absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: localhost\r\n\r\n")));
  GRAPHTREE_ASSIGN_OR_RETURN(const std::string bytes, ReadAll(socket.fd(), path, deadline));
  return Parse(bytes, path);
}

std::string Escaped(absl::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || absl::StrContains("-._~", c)) {
      escaped.push_back(c);
    } else {
      absl::StrAppendFormat(&escaped, "%%%02X", byte);
    }
  }
  return escaped;
}

}  // namespace graphtree::watch
