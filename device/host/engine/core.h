// The Core of a host device: the engine, the memory's books, and the count of the objects that are
// still there. All objects of the device share and own it, so an object that outlives its device
// does no harm.
#ifndef GRAPHTREE_DEVICE_HOST_ENGINE_CORE_H_
#define GRAPHTREE_DEVICE_HOST_ENGINE_CORE_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "device/host/engine/engine.h"
#include "device/host/engine/memory_books.h"
#include "device/host/host_options.h"

namespace graphtree {
class Device;
}  // namespace graphtree

namespace graphtree::host {

// Guarded by the engine's lock, but for `device`, which never changes.
struct Core {
  Core(const HostOptions& options, Device* device)
      : device(device), engine(options), books(options.memory_bytes, engine.checks()) {}

  Device* const device;
  Engine engine;
  MemoryBooks books;
  bool closed = false;
  std::multiset<std::string> streams;
  int events = 0;
  int graphs = 0;
  int executables = 0;

  // OK, or an error that says that `what` cannot be done as the device is closed.
  absl::Status Usable(absl::string_view what) const;
  // "2 streams (stream 0, stream 3), 1 event"; empty if nothing is left.
  std::string Leftovers() const;
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_ENGINE_CORE_H_
