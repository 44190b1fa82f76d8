// What outlives a stream: who has put work on a stream holds its life, and can order later work
// after it, or wait for it, whether the stream is still there or not.
//
//   request's stream   work --- work --|   (destroyed: an event behind its last work stays)
//   holder             ...................... Await --> another stream goes on after it
//
// Nobody is told when a stream ends, and nobody is waited for: holders see it when they look next.
// A stream that nobody holds ends as cheaply as ever. The address of a life is its stream's name as
// long as it is held: a new stream at the old one's address has another life.
//
// A stream that ends within a capture that another stream has begun can be awaited inside of that
// capture alone; what was put on it before cannot, and asking for that is an error. Where no event
// can be recorded behind its work the stream's end waits for it; where that fails too, every Await
// tells that failure.
//
// Threads: safe from all. A stream that ends waits for those that use it through its life.
#ifndef GRAPHTREE_DEVICE_STREAM_LIFE_H_
#define GRAPHTREE_DEVICE_STREAM_LIFE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphtree {

class Event;
class Stream;
struct CaptureInfo;

class StreamLife {
 public:
  using NewEvent = absl::FunctionRef<absl::StatusOr<std::unique_ptr<Event>>()>;

  explicit StreamLife(Stream* stream) : stream_(stream) {}
  ~StreamLife();
  StreamLife(const StreamLife&) = delete;
  StreamLife& operator=(const StreamLife&) = delete;

  bool has_ended() const { return has_ended_.load(std::memory_order_acquire); }
  // The capture that it was in when it ended; 0 if it has not, or was in none.
  uint64_t ended_in() const { return ended_in_.load(std::memory_order_acquire); }

  // `behind` goes on after all that was put on the stream so far. `event` is the caller's, to be
  // recorded there while the stream lives.
  absl::Status Await(Event& event, Stream& behind);
  absl::Status Synchronize();
  absl::StatusOr<bool> IsDone();
  // None behind its end.
  absl::StatusOr<CaptureInfo> Capture();
  // Calls `use` with the stream, which does not end meanwhile. Fails behind its end.
  absl::Status Use(absl::FunctionRef<absl::Status(Stream&)> use);

 private:
  friend class Stream;
  void End(NewEvent new_event);
  // Nobody held it when its end was told, or the stream is of a kind that does not tell.
  void EndUntold();
  absl::Status KeepEvent(NewEvent new_event);
  absl::Status WhyUnordered() const;

  std::shared_mutex mutex_;  // shared by those that use the stream, or its event
  Stream* stream_;           // null behind its end
  std::unique_ptr<Event> last_;  // behind the last work of one that has ended; null: it is done
  absl::Status unordered_;       // why that cannot be awaited; else OK
  std::atomic<bool> has_ended_{false};
  std::atomic<uint64_t> ended_in_{0};
};

using StreamLives = std::vector<std::shared_ptr<StreamLife>>;

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_STREAM_LIFE_H_
