// A client that does what a test wants to a door: connects, sends bytes of any kind, reads or does
// not.
#ifndef GRAPHTREE_RUNTIME_DOOR_TEST_CLIENT_H_
#define GRAPHTREE_RUNTIME_DOOR_TEST_CLIENT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphtree {

class TestClient {
 public:
  explicit TestClient(const std::string& path);
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;
  ~TestClient();

  bool is_connected() const { return is_connected_; }
  // False if the other end does not take it any more.
  bool Send(absl::string_view bytes);
  void EndSending();
  // So many bytes, or less at the end of the stream. All that comes, without a number.
  std::string Read(size_t most = std::string::npos);

 private:
  int fd_ = -1;
  bool is_connected_ = false;
};

// The whole answer to "GET target"; empty if there is none.
std::string Get(const std::string& path, absl::string_view target);
// The answer's body, and its code.
std::string BodyOf(absl::string_view answer);
int CodeOf(absl::string_view answer);

// A folder of the test's own, with a short name: sockets' paths are short.
std::string NewFolder();

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_DOOR_TEST_CLIENT_H_
