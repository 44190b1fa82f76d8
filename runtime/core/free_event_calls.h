// Makes a program's events that say when its inputs are free (slots/free_events.h), and sets them
// where no body does: after a step that failed.
#ifndef GRAPHTREE_RUNTIME_CORE_FREE_EVENT_CALLS_H_
#define GRAPHTREE_RUNTIME_CORE_FREE_EVENT_CALLS_H_

#include "absl/status/statusor.h"
#include "device/device.h"
#include "device/stream.h"
#include "runtime/slots/free_events.h"

namespace graphtree {

absl::StatusOr<FreeEvents> NewFreeEvents(Device& device);

// A step on `stream` has failed: some of its work may have been launched, and what it wrote may
// have been put back after that. Does nothing if the program does not tell, or if the stream
// captures, on which no step has run.
void SetAfterFailure(const FreeEvents& events, Stream& stream);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_FREE_EVENT_CALLS_H_
