// One client's connection, from its first byte to its end:
//
//   kReading -- a request --> kWaiting -- its page --> kWriting -- sent --> kLingering -- its end
//      |                                                  ^
//      `----------- refused, or a quick page -------------'
//
// Lingering, what the client still sends is thrown away: a socket that is closed with bytes unread
// would take the answer from a client that is still writing.
//
// Nothing here waits. Each state has a deadline, at which its owner closes the connection or
// answers.
//
// Threads: like a container.
#ifndef GRAPHTREE_RUNTIME_DOOR_CONNECTION_H_
#define GRAPHTREE_RUNTIME_DOOR_CONNECTION_H_

#include <chrono>
#include <cstddef>
#include <string>

#include "runtime/door/http.h"
#include "runtime/door/server.h"

namespace graphtree {

class Connection {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State { kReading, kWaiting, kWriting, kLingering };
  enum class Got { kNothing, kRequest, kRefused, kEnd };

  // Owns the socket. `limits` outlive it.
  Connection(int fd, const DoorLimits& limits);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  int fd() const { return fd_; }
  State state() const { return state_; }
  Clock::time_point deadline() const { return deadline_; }
  short events() const;  // of poll
  // Of the memory that the answer takes.
  size_t answer_bytes() const { return answer_.size(); }

  // In kReading. What is to be told to a client that is refused is in `refusal`.
  Got Read(HttpRequest* request, HttpResponse* refusal);
  // The page comes later.
  void Wait();
  // False if the connection is over; so for Send.
  bool Answer(const HttpResponse& response);
  bool Send();
  bool Linger();

 private:
  void SetDeadline(std::chrono::milliseconds from_now) { deadline_ = Clock::now() + from_now; }

  const int fd_;
  const DoorLimits& limits_;
  State state_ = State::kReading;
  Clock::time_point deadline_;
  Clock::time_point last_deadline_;  // however well the client reads
  std::string head_;
  bool is_head_ = false;
  std::string answer_;
  size_t sent_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_DOOR_CONNECTION_H_
