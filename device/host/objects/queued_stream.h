// A Stream that has a queue. Executables use this class for the stream that they are launched on.
#ifndef GRAPHTREE_DEVICE_HOST_OBJECTS_QUEUED_STREAM_H_
#define GRAPHTREE_DEVICE_HOST_OBJECTS_QUEUED_STREAM_H_

#include "device/host/engine/stream_queue.h"
#include "device/stream.h"

namespace graphtree::host {

// Every stream of a host device is one.
class QueuedStream : public Stream {
 public:
  StreamQueue& queue() const { return *queue_; }

 protected:
  explicit QueuedStream(StreamQueue* queue) : queue_(queue) {}

  StreamQueue* const queue_;
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_OBJECTS_QUEUED_STREAM_H_
