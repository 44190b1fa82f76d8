// Puts the work of one tree in one order, on whatever streams the tree is called.
//
//   caller's A   replay --+            caller's B   (waits) replay
//                         +-- event --------------^
//
// Replays share memory, so each must come after the one before. On one stream that is free; a
// change of streams costs an event. Where an event fails the host waits. Only where that fails,
// too, is work left without an order; the caller gets the error and must pass it on. The stream
// that had the last work may be gone meanwhile (stream_life.h).
//
// Callers read outputs on the stream of their call at any time until the step is over, also after
// the tree has gone on to another stream:
//
//   A   f ----.   read f's output ----.
//   B          `--> g                  `--> h, which may have the output's bytes
//
// So within a step each call comes after what is by then on all streams that the step was called
// on, and so does the first call of the next step. Steps on one stream each pay nothing for that.
#ifndef GRAPHTREE_GRAPHS_MEMORY_STREAM_ORDER_H_
#define GRAPHTREE_GRAPHS_MEMORY_STREAM_ORDER_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "device/stream.h"

namespace graphtree {

class StreamOrder {
 public:
  // Told which stream has just waited for all that was on the last one.
  using Tell = std::function<void(Stream&)>;

  // `own` is a stream of the tree's, on which nobody reads; may be null.
  explicit StreamOrder(std::unique_ptr<Event> event, const Stream* own = nullptr, Tell tell = {})
      : event_(std::move(event)),
        own_(own == nullptr ? nullptr : own->life().get()),
        tell_(std::move(tell)) {}

  // Work that is put on `stream` next runs after all of the tree's work so far, and after what
  // callers have put on other streams of this step.
  absl::Status ContinueOn(Stream& stream) {
    if (last_ != stream.life() || !readers_.empty()) return Settle(stream);
    is_first_ = false;
    return absl::OkStatus();
  }
  // The same, after a call that put work on `worked`. If ordering failed within the call, where its
  // work changed streams, `worked` need not be last().
  absl::Status ContinueAfter(Stream& worked, Stream& stream);
  // A step is over: outputs of its calls are read no more by what its callers queue from here on.
  void EndStep() { is_first_ = true; }
  // Work that is put on `stream` next runs after the work that is on `other` now.
  absl::Status WaitFor(StreamLife& other, Stream& stream);
  // Returns once the tree's last work is done. Fails if it cannot be awaited: its stream takes part
  // in a capture (StreamLife::AwaitOnHost), or is lost.
  absl::Status AwaitLast();
  // The stream that has the tree's last work; null if there was none.
  StreamLife* last() const { return last_.get(); }

 private:
  absl::Status Settle(Stream& stream);
  absl::Status Switch(Stream& stream);
  absl::Status WaitForReaders(Stream& stream);

  const std::unique_ptr<Event> event_;
  const StreamLife* const own_;
  const Tell tell_;
  std::shared_ptr<StreamLife> last_;
  StreamLives readers_;    // streams of this step, but for last_
  bool is_first_ = false;  // the next call is the first one of a step
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_STREAM_ORDER_H_
