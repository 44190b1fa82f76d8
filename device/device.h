// A Device is a place where work runs: the host, or one GPU through CUDA.
//
//   Device --- memory()       reserve, map, unmap
//          --- NewStream()    Stream, Event      work, order, capture
//          --- stream.EndCapture() -> Graph -> Executable
//
// Everything made from a device is owned by the caller (unique_ptr) and must be gone before the
// device is closed; Close says what is left. A caller's own native stream can be adopted: it is
// used and never destroyed. Native handles are reachable only from device/cuda/native.h and
// device/host/native.h.
//
// A device that met an error that kills its context is lost: every later call returns that first
// error, and Close still works.
//
// Threads: all calls are safe from several threads. One thread's capture never breaks another's
// work. The calling thread's current CUDA device is left as it was found.
#ifndef GRAPHTREE_DEVICE_DEVICE_H_
#define GRAPHTREE_DEVICE_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/capability.h"
#include "device/graph.h"
#include "device/kernel.h"
#include "device/leftovers.h"
#include "device/memory.h"
#include "device/stream.h"

namespace graphtree {

struct DeviceInfo {
  std::string name;          // what OpenDevice was given: "host", "cuda:0"
  std::string model;         // "NVIDIA H200"
  std::string architecture;  // "sm_90"; "host"
  std::string identity;      // stable over processes: the GPU's UUID; "host"
  int driver_version = 0;    // 13000 for 13.0; 0 on the host
  int runtime_version = 0;
  int multiprocessors = 0;
  uint64_t total_bytes = 0;
  // What its memory moves at most, read and written together, by its clock and width; 0: not known.
  uint64_t memory_bytes_per_second = 0;
  // The device checks ops against what Memory::NoteLive and the other notes say. False: nobody need
  // call these.
  bool checks_accesses = false;
  // Every opening is a device of its own, with its own memory, though the identity is the same.
  bool is_opened_anew = false;
};

// A caller's own stream: a cudaStream_t on CUDA, see device/host/native.h on the host.
using NativeStream = void*;

struct EventOptions {
  bool timing = false;
};

class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual const DeviceInfo& info() const = 0;
  virtual const Capabilities& capabilities() const = 0;
  virtual Memory& memory() = 0;

  virtual absl::StatusOr<std::unique_ptr<Stream>> NewStream() = 0;
  virtual absl::StatusOr<std::unique_ptr<Stream>> AdoptStream(NativeStream native) = 0;
  virtual absl::StatusOr<std::unique_ptr<Event>> NewEvent(const EventOptions& options) = 0;

  // Loads a kernel's body for this device now, and not at its first launch. Fails if the kernel has
  // no body that works here, with the compiler's own lines where a compiler was asked.
  virtual absl::Status Load(const Kernel& kernel) = 0;

  // Captures begun through this device and not yet ended, on any thread.
  virtual int open_captures() const = 0;

  // Keeps what its owner cannot give back while a capture is open.
  void LeaveBehind(std::unique_ptr<Leftover> leftover) { leftovers_.Add(std::move(leftover)); }
  // Gives back what was left behind, for as long as no capture is open. Close does so, too.
  absl::Status GiveBackLeftovers() {
    return leftovers_.GiveBack([this] { return open_captures() == 0; });
  }

  // Whether the calling thread runs this device's work, a kernel's body or a host call: whoever
  // waits there for the device waits for itself.
  virtual bool IsInsideWork() const = 0;

  // OK, or the error that lost the device.
  virtual absl::Status health() const = 0;

  // Waits for all work of this device's own streams and gives everything back. Fails, naming them,
  // if streams, events, graphs, executables, address ranges or physical memory are left; the device
  // is closed all the same once those are gone. Close may be called again. Called inside a host
  // call or a kernel of this device, Close fails and changes nothing.
  virtual absl::Status Close() = 0;

 protected:
  Device() = default;
  // Every kind of device calls this first in its destructor, while the device still works.
  void EndLeftovers() {
    GiveBackLeftovers().IgnoreError();
    leftovers_.Drop();
  }

 private:
  Leftovers leftovers_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_DEVICE_H_
