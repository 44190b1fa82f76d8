// Work of one tree in one order, whatever streams it is called on.
//
//   caller's A   replay --+            caller's B   (waits) replay
//                         +-- event --------------^
//
// Replays share memory, so each must come after the one before. On one stream that is free; a
// change of streams costs an event.
#ifndef GRAPHTREE_GRAPHS_STREAM_ORDER_H_
#define GRAPHTREE_GRAPHS_STREAM_ORDER_H_

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
    if (last_ == &stream || last_ == nullptr) {
      last_ = &stream;
      return absl::OkStatus();
    }
    return Switch(stream);
  }
  // What comes next on `stream` runs after what is on `other` now.
  absl::Status WaitFor(Stream& other, Stream& stream) {
    if (&other == &stream) return absl::OkStatus();
    if (absl::Status status = other.Record(*event_); !status.ok()) return status;
    return stream.Wait(*event_);
  }
  Stream* last() const { return last_; }

 private:
  absl::Status Switch(Stream& stream) {
    if (absl::Status status = WaitFor(*last_, stream); !status.ok()) return status;
    last_ = &stream;
    return absl::OkStatus();
  }

  const std::unique_ptr<Event> event_;
  Stream* last_ = nullptr;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_STREAM_ORDER_H_
