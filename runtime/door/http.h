// As much of HTTP/1.1 as a door for tools needs: GET and HEAD, one request for each connection, no
// bodies.
//
//   GET /debug/graphs?program=decode&steps=10 HTTP/1.1\r\n      path    /debug/graphs
//   Host: localhost\r\n                                         query   program=decode, steps=10
//   \r\n
//
// What a client sends is read as it comes, so a head may be cut anywhere; nothing of it is trusted.
// A head is bounded, and so is the time to read one: it is scanned for its end, and then once.
//
// Pure.
#ifndef GRAPHTREE_RUNTIME_DOOR_HTTP_H_
#define GRAPHTREE_RUNTIME_DOOR_HTTP_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphtree {

struct HttpRequest {
  bool is_head = false;
  std::string path;
  std::vector<std::pair<std::string, std::string>> query = {};  // decoded

  // The first value with this name, or the fallback.
  absl::string_view Find(absl::string_view name, absl::string_view fallback = "") const;
};

struct HttpResponse {
  int code = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
};

// A sentence for people, with a line end.
HttpResponse PlainResponse(int code, absl::string_view sentence);

enum class HttpRead {
  kMore,     // so far so good
  kRequest,  // a whole one
  kRefused,  // the client is to be told `refusal`
};

// Longer heads are refused.
inline constexpr size_t kMostHeadBytes = 8 << 10;

// Reads `bytes`, all that a client has sent so far. What follows the head is ignored.
HttpRead ReadHttpRequest(absl::string_view bytes, HttpRequest* request, HttpResponse* refusal);

// Head and body as they are sent. Of an answer to HEAD the body is left out, not its length.
std::string HttpBytes(const HttpResponse& response, bool is_head);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_DOOR_HTTP_H_
