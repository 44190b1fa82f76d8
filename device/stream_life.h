// A StreamLife outlives its stream. Whoever has put work on a stream holds its life, and can order
// later work after that work, or wait for it, whether the stream is still there or not.
//
//   request's stream   work --- work --|   (destroyed: an event after its last work stays)
//   holder             ...................... Await --> another stream goes on after that event
//
// A stream ends when it is destroyed. Holders are not told: they see it when they look next. A
// stream whose life nobody holds records no event at its end. The address of a held life names the
// stream: a new stream at the old one's address has another life.
//
// A stream that ends within a capture that another stream has begun can be awaited inside of that
// capture alone. The work that was put on it before the capture cannot be awaited at all, and
// asking for that is an error. Where no event can be recorded after its work, or the stream cannot
// say whether it captures, the stream's destructor waits for the work; where that fails too, every
// Await returns that failure.
//
// A holder on another thread than the stream's may come while the stream captures, for the graph of
// somebody else. An event that is recorded then is the capture's, and the holder's stream would
// become a part of it. So a stream whose life somebody holds leaves an event also where it begins a
// capture, and holders come after that one:
//
//   stream   work --- work --| event, BeginCapture   captured   captured   EndCapture
//   holder   ....................... Await --> another stream goes on after that event
//
// A stream that only joins a capture leaves none, nor does one whose capture was begun on the
// native stream: Await is refused until that capture has ended. Whose streams capture at any time
// hands out the life of the work so far instead (OfWorkSoFar), which stands for an event and never
// touches the stream.
//
// Threads: safe from all. A stream's destructor waits for calls that use the stream through its
// life.
#ifndef GRAPHTREE_DEVICE_STREAM_LIFE_H_
#define GRAPHTREE_DEVICE_STREAM_LIFE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
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
  // The number of a capture that could not be asked for; no capture has it.
  static constexpr uint64_t kSomeCapture = ~uint64_t{0};
  // The capture that the stream was in when it ended; 0 if it has not ended, or was in none.
  uint64_t ended_in() const { return ended_in_.load(std::memory_order_acquire); }

  // A life that has ended, of all that was put on the stream so far: `event`, recorded now. Called
  // where the stream does not capture.
  static absl::StatusOr<std::shared_ptr<StreamLife>> OfWorkSoFar(Stream& stream,
                                                                 std::unique_ptr<Event> event);

  // `behind` goes on after all that was put on the stream so far. `event` is any event of the
  // caller's: it is recorded on the stream, if the stream has not ended. Fails, and leaves `behind`
  // as it was, if the stream is in a capture that `behind` is not in, and left no event before it;
  // and if `behind` is in a capture that the stream is not in.
  absl::Status Await(Event& event, Stream& behind);
  // The host waits for all that was put on the stream so far. `event` is as above. Fails where
  // Await would. No capture is harmed, whenever it begins: a stream that is asked whether it
  // captures, and is synchronized then, may have begun one in between.
  absl::Status AwaitOnHost(Event& event);
  // Records the event on the stream. Fails if the stream has ended, or if it captures: the event
  // may then be the capture's, and stands for nothing.
  absl::Status Record(Event& event);
  // REQUIRES: the stream does not begin a capture meanwhile, or it breaks; else AwaitOnHost.
  absl::Status Synchronize();
  absl::StatusOr<bool> IsDone();
  // No capture if the stream has ended.
  absl::StatusOr<CaptureInfo> Capture();
  // Whether the stream left an event where it began that capture: then Await succeeds meanwhile,
  // and what comes behind comes after all that was put on the stream before.
  bool HasLeftEventBefore(uint64_t capture) { return BeforeThe(capture) != nullptr; }
  // Calls `use` with the stream, which does not end meanwhile. Fails if the stream has ended.
  absl::Status Use(absl::FunctionRef<absl::Status(Stream&)> use);

 private:
  friend class Stream;
  // The event that the stream left where it began the capture.
  struct BeforeCapture {
    uint64_t capture = 0;
    std::shared_ptr<Event> event;
  };

  void End(NewEvent new_event);
  // Ends a life for which End was not called: nobody else held it, or the kind of stream does not
  // call EndLife.
  void EndUntold();
  absl::Status KeepEvent(NewEvent new_event);
  // Records the event on the stream, which has not ended. If the stream captures it must be in the
  // same capture as `behind`, which may be null.
  absl::Status RecordFor(Stream* behind, Event& event);
  // The event to wait for, of a stream that has not ended: `event`, recorded now, or the one before
  // its capture. `behind` may be null.
  absl::StatusOr<std::shared_ptr<Event>> MarkFor(Stream* behind, Event& event);
  absl::Status BeginCapture(NewEvent new_event, absl::FunctionRef<absl::Status()> begin);
  void SetBefore(BeforeCapture before);
  std::shared_ptr<Event> BeforeThe(uint64_t capture);
  // After the last work of a stream that has ended. Null: there is nothing to wait for.
  absl::StatusOr<Event*> EventOfEnded() const;
  absl::Status AwaitLiving(Event& event, Stream& behind);
  absl::Status WhyUnordered() const;

  std::mutex before_mutex_;  // no call is made with it: the stream's own thread needs it, too
  BeforeCapture before_;     // guarded by before_mutex_
  std::shared_mutex mutex_;  // held shared while the stream, or its event, is used
  Stream* stream_;           // null once the stream has ended
  std::unique_ptr<Event> last_;  // after the last work of an ended stream; null: the work is done
  absl::Status unordered_;       // why that work cannot be awaited; OK if it can
  std::atomic<bool> has_ended_{false};
  std::atomic<uint64_t> ended_in_{0};
};

using StreamLives = std::vector<std::shared_ptr<StreamLife>>;

// The capture that the stream is in. Asked again where the device could not say: else the work of a
// capture would be taken for work that runs.
absl::StatusOr<CaptureInfo> AskCapture(Stream& stream);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_STREAM_LIFE_H_
