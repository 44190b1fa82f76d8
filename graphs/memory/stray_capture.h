// A body, or a part, that begins a capture on its own stream and does not end it: what it launches
// after that is captured, and never runs. The capture is ended here, as no later call could use the
// stream, and the graph goes.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_MEMORY_STRAY_CAPTURE_H_
#define GRAPHTREE_GRAPHS_MEMORY_STRAY_CAPTURE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/stream.h"
#include "device/stream_life.h"

namespace graphtree {

// Ends the capture of a stream that did not capture before the body ran; an error if there was one,
// or if the device cannot say so.
inline absl::Status EndStrayCapture(Stream& stream) {
  const absl::StatusOr<CaptureInfo> capture = AskCapture(stream);
  if (capture.ok() && capture->state == CaptureState::kNone) return absl::OkStatus();
  stream.EndCapture().IgnoreError();
  if (!capture.ok()) return capture.status();
  return absl::FailedPreconditionError(
      "it has begun a capture on its stream and has not ended it: what it launched after that was "
      "captured, and did not run. Work that is to be part of the tree's graph is launched without "
      "a capture of the body's own");
}

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_STRAY_CAPTURE_H_
