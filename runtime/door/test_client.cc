// Blocking calls, with a time after which a test has failed.
#include "runtime/door/test_client.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace graphtree {

TestClient::TestClient(const std::string& path)
    : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(),
              std::min(path.size(), sizeof(address.sun_path) - 1));
  const timeval patience = {60, 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  is_connected_ =
      connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

TestClient::~TestClient() {
  if (fd_ >= 0) close(fd_);
}

bool TestClient::Send(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

void TestClient::EndSending() { shutdown(fd_, SHUT_WR); }

std::string TestClient::Read(size_t most) {
  std::string text;
  char piece[4096];
  while (text.size() < most) {
    const ssize_t got = recv(fd_, piece, std::min(sizeof(piece), most - text.size()), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece, static_cast<size_t>(got));
  }
  return text;
}

std::string Get(const std::string& path, absl::string_view target) {
  TestClient client(path);
  if (!client.is_connected()) return "";
  client.Send(absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  return client.Read();
}

std::string BodyOf(absl::string_view answer) {
  const size_t end = answer.find("\r\n\r\n");
  return end == answer.npos ? "" : std::string(answer.substr(end + 4));
}

int CodeOf(absl::string_view answer) {
  int code = 0;
  return answer.size() > 12 && absl::SimpleAtoi(answer.substr(9, 3), &code) ? code : 0;
}

std::string NewFolder() {
  char name[] = "/tmp/door.XXXXXX";
  return mkdtemp(name);
}

}  // namespace graphtree
