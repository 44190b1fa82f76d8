// Makes two events, and records them.
#include "runtime/core/free_event_calls.h"

#include <utility>

#include "device/base/status_macros.h"

namespace graphtree {

absl::StatusOr<FreeEvents> NewFreeEvents(Device& device) {
  FreeEvents events;
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Event> rows, device.NewEvent({}));
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Event> slots, device.NewEvent({}));
  events.rows = std::move(rows);
  events.slots = std::move(slots);
  return events;
}

void SetAfterFailure(const FreeEvents& events, Stream& stream) {
  if (!events.are_told()) return;
  if (stream.IsCapturing()) return;
  absl::Status set = stream.Record(*events.rows);
  set.Update(stream.Record(*events.slots));
  // Else the events stand for an earlier step, which is as good once this one's work is over. If it
  // cannot be awaited the device is lost, and so says every wait.
  if (!set.ok()) stream.Synchronize().IgnoreError();
}

}  // namespace graphtree
