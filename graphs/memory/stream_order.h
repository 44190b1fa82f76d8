// Work of one tree in one order, whatever streams it is called on.
//
//   caller's A   replay --+            caller's B   (waits) replay
//                         +-- event --------------^
//
// Replays share memory, so each must come after the one before. On one stream that is free; a
// change of streams costs an event. Where no event can be had the host waits: only a device on
// which even that fails leaves work without an order, and whoever has put it there must say so. The
// stream that had the last work may be gone by then (stream_life.h).
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

  // What comes next on `stream` runs after all of the tree's work so far.
  absl::Status ContinueOn(Stream& stream) {
    return last_ == stream.life() ? absl::OkStatus() : Switch(stream);
  }
  // The same, where a call has put work on `worked` that may not be what came last: its work went
  // to and fro, and could not be ordered at one of the turns.
  absl::Status ContinueAfter(Stream& worked, Stream& stream);
  // What comes next on `stream` runs after what is on `other` now.
  absl::Status WaitFor(StreamLife& other, Stream& stream);
  // Returns once the tree's last work is done, or cannot be awaited: its stream is in a capture of
  // its owner's, or lost.
  void AwaitLast();
  // The stream that has the tree's last work; null if there was none.
  StreamLife* last() const { return last_.get(); }

 private:
  absl::Status Switch(Stream& stream);

  const std::unique_ptr<Event> event_;
  std::shared_ptr<StreamLife> last_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_STREAM_ORDER_H_
