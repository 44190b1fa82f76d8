// Puts the work of one tree in one order, on whatever streams the tree is called.
//
//   caller's A   replay --+            caller's B   (waits) replay
//                         +-- event --------------^
//
// Replays share memory, so each must come after the one before. On one stream that is free; a
// change of streams costs an event. Where an event fails the host waits. Only where that fails,
// too, is work left without an order; the caller gets the error and must pass it on. The stream
// that had the last work may be gone meanwhile (stream_life.h).
#ifndef GRAPHTREE_GRAPHS_MEMORY_STREAM_ORDER_H_
#define GRAPHTREE_GRAPHS_MEMORY_STREAM_ORDER_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "device/stream.h"

namespace graphtree {

class StreamOrder {
 public:
  explicit StreamOrder(std::unique_ptr<Event> event) : event_(std::move(event)) {}

  // Work that is put on `stream` next runs after all of the tree's work so far.
  absl::Status ContinueOn(Stream& stream) {
    return last_ == stream.life() ? absl::OkStatus() : Switch(stream);
  }
  // The same, after a call that put work on `worked`. If ordering failed within the call, where its
  // work changed streams, `worked` need not be last().
  absl::Status ContinueAfter(Stream& worked, Stream& stream);
  // Work that is put on `stream` next runs after the work that is on `other` now.
  absl::Status WaitFor(StreamLife& other, Stream& stream);
  // Returns once the tree's last work is done. Fails if it cannot be awaited: its stream takes part
  // in a capture (StreamLife::AwaitOnHost), or is lost.
  absl::Status AwaitLast();
  // The stream that has the tree's last work; null if there was none.
  StreamLife* last() const { return last_.get(); }

 private:
  absl::Status Switch(Stream& stream);

  const std::unique_ptr<Event> event_;
  std::shared_ptr<StreamLife> last_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_STREAM_ORDER_H_
