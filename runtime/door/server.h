// Serves pages over a Unix socket, on threads of its own that nobody else waits for.
//
//   door thread    one poll loop over all connections: reads heads, sends bytes, keeps deadlines
//        | ^         answers what is quick by itself
//        v |       at most one request at a time, each with a deadline
//   page thread    makes the pages that wait for others, such as for a call in a tree
//
// So one page that waits, for a step that hangs, holds up no other request: whoever has asked for
// it is told what runs, and the rest of the door works. That is when people need it.
//
// Clients are not trusted to be fast, correct, or few:
//
//   sends nothing, or slowly    closed at a deadline; a newcomer takes the oldest one's place
//   sends rubbish, or too much  told so, and closed (http.h)
//   reads nothing               closed at a deadline; what waits to be read is bounded, for all
//   goes away                   its page is dropped
//   is another user             told so, and closed: the socket's mode keeps him out before
//
// A connection serves one request. Both threads take no signals, so handlers of the process run on
// its own threads.
//
// In a process that was forked from the server's the threads are not there: its destructor closes
// what the child has, and leaves the parent's socket where it is.
#ifndef GRAPHTREE_RUNTIME_DOOR_SERVER_H_
#define GRAPHTREE_RUNTIME_DOOR_SERVER_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/door/http.h"

namespace graphtree {

struct DoorPages {
  // On the door thread, so it waits for nobody. Nothing: the page is made by `slow`.
  std::function<std::optional<HttpResponse>(const HttpRequest&)> quick;
  // On the page thread.
  std::function<HttpResponse(const HttpRequest&)> slow;
  // What a client is told whose page takes too long; `before`: the request that is served in its
  // stead, where its own page was not begun, or null. On the door thread.
  std::function<HttpResponse(const HttpRequest* before)> late;
};

struct DoorLimits {
  size_t connections = 64;
  size_t unread_bytes = 64 << 20;  // that wait for clients; one page may go beyond
  std::chrono::milliseconds read{5000};    // to send a request
  std::chrono::milliseconds page{5000};    // to make a page
  std::chrono::milliseconds write{10000};  // to read some more of an answer
  std::chrono::milliseconds linger{500};   // to read the rest of it, once it is sent
};

class DoorServer {
 public:
  // Tools may connect once this returns. An error says what was tried, and leaves nothing behind.
  static absl::StatusOr<std::unique_ptr<DoorServer>> Open(const std::string& path, DoorPages pages,
                                                          const DoorLimits& limits = {});
  DoorServer(const DoorServer&) = delete;
  DoorServer& operator=(const DoorServer&) = delete;
  // Waits for the page that is being made, and for nothing else.
  virtual ~DoorServer() = default;

  virtual const std::string& path() const = 0;

 protected:
  DoorServer() = default;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_DOOR_SERVER_H_
