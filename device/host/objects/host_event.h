// An Event of a host device: the ticket of the last work before it. Graphs that set the event share
// its state.
#ifndef GRAPHTREE_DEVICE_HOST_OBJECTS_HOST_EVENT_H_
#define GRAPHTREE_DEVICE_HOST_OBJECTS_HOST_EVENT_H_

#include <memory>

#include "device/host/engine/core.h"
#include "device/stream.h"

namespace graphtree::host {

class HostEvent : public Event {
 public:
  // With the engine locked.
  HostEvent(std::shared_ptr<Core> core, bool timing);
  ~HostEvent() override;

  absl::StatusOr<bool> IsDone() override;
  absl::Status Synchronize() override;
  absl::StatusOr<double> NanosecondsSince(Event& start) override;

  const Core* core() const { return core_.get(); }
  const std::shared_ptr<EventState>& state() const { return state_; }

 private:
  bool IsOver() const;

  const std::shared_ptr<Core> core_;
  const std::shared_ptr<EventState> state_;
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_OBJECTS_HOST_EVENT_H_
