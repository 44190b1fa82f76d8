// Lets streams wait for others, by events; has a stream of its own that carries the work of those
// that are gone.
//
//   A  ---work---(forgotten)
//   courier ------wait for A----.        A's bit is free for another stream
//   B  -------------------------`--wait for the courier--work
//
// Threads: none of its own. The host waits in AwaitOnHost and Synchronize alone.
#ifndef GRAPHTREE_ALLOCATOR_ORDER_COURIER_H_
#define GRAPHTREE_ALLOCATOR_ORDER_COURIER_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "allocator/order/stream_slots.h"
#include "device/device.h"
#include "device/stream.h"

namespace graphtree {

class Courier {
 public:
  explicit Courier(Device& device) : device_(device) {}
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  // Comes after the stream's work, which is then awaited by awaiting the courier.
  absl::Status Carry(StreamLife& life);
  // Null: it has carried nothing yet.
  Stream* stream() const { return stream_.get(); }
  // Whether nobody need ask for the stream any more: it has ended, and its work is carried, or was
  // of a capture that is over.
  bool TakesOver(const KnownStream& known);

  // The stream goes on after the work of the slot's streams, also of those that were forgotten.
  // `capture` is the one that it is in, or 0. In a capture the graph's launches, and not the
  // capture's ops, wait for work from before it.
  absl::Status OrderAfter(Stream& stream, uint64_t capture, const StreamSlot& slot);

  // The host waits. An error for a stream whose capture uses the pool.
  absl::Status AwaitOnHost(const KnownStream& known);
  // The host waits for all that was carried.
  absl::Status Synchronize();
  // Gives the courier away; null if there is none.
  std::unique_ptr<Stream> Take() { return std::move(stream_); }

  // `what` cannot be done to a stream: "forgotten".
  static absl::Status StreamCaptures(const char* what);

 private:
  absl::Status MakeEvent();
  absl::Status Await(StreamLife& other, Stream& stream);
  absl::Status OrderAfterOne(const KnownStream& other, Stream& stream, uint64_t capture);

  Device& device_;
  std::unique_ptr<Event> event_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_ORDER_COURIER_H_
