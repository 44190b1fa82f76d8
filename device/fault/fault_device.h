// A device that wraps another and fails the calls that a FaultPlan names.
//
//   caller --> fault device --FaultPlan::Enter("Stream.Copy")--> OK: the wrapped device does it
//                                                           \--> else: its status comes back
//
// With it a test sees what a real device does only on its worst day: any call may fail.
// Run a body once for every n with the n-th call failing (every_call.h) and check that nothing is
// lost and nothing leaks.
//
// A call that fails has done nothing, with one exception: EndCapture has ended the capture, as it
// has on a real device. Close that fails has not closed. Names are "Device.", "Memory.", "Stream.",
// "Event.", "Graph." and "Executable." followed by the call. Not counted, because they cannot fail
// on any device: getters, Graph::Find, NoteLive and NoteDead, and destroying things.
//
// After a fault with a code that kills a device every call but Close fails, and health() says so.
//
// Objects that come from the wrapped device or from another one are handed on as they are, so that
// the wrapped device refuses them in its own words. Threads: as safe as the wrapped device.
#ifndef GRAPHTREE_DEVICE_FAULT_FAULT_DEVICE_H_
#define GRAPHTREE_DEVICE_FAULT_FAULT_DEVICE_H_

#include <memory>

#include "device/device.h"
#include "device/fault/fault_memory.h"
#include "device/fault/fault_plan.h"

namespace graphtree {

class FaultDevice : public Device {
 public:
  explicit FaultDevice(std::unique_ptr<Device> wrapped);
  ~FaultDevice() override { EndLeftovers(); }

  FaultPlan& plan() { return plan_; }
  Device& wrapped() { return *wrapped_; }

  const DeviceInfo& info() const override { return wrapped_->info(); }
  const Capabilities& capabilities() const override { return wrapped_->capabilities(); }
  Memory& memory() override { return memory_; }
  absl::StatusOr<std::unique_ptr<Stream>> NewStream() override;
  absl::StatusOr<std::unique_ptr<Stream>> AdoptStream(NativeStream native) override;
  absl::StatusOr<std::unique_ptr<Event>> NewEvent(const EventOptions& options) override;
  absl::Status Load(const Kernel& kernel) override;
  int open_captures() const override { return wrapped_->open_captures(); }
  bool IsInsideWork() const override { return wrapped_->IsInsideWork(); }
  absl::Status health() const override;
  absl::Status Close() override;

 private:
  FaultPlan plan_;
  const std::unique_ptr<Device> wrapped_;
  FaultMemory memory_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_FAULT_FAULT_DEVICE_H_
