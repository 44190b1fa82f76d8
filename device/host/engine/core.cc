// Names the objects that are left, for messages.
#include "device/host/engine/core.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/error.h"

namespace graphtree::host {
namespace {

void Count(uint64_t count, absl::string_view what, absl::string_view details,
           std::vector<std::string>& parts) {
  if (count == 0) return;
  parts.push_back(absl::StrCat(count, " ", what, count == 1 ? "" : "s",
                               details.empty() ? "" : absl::StrCat(" (", details, ")")));
}

}  // namespace

absl::Status Core::Usable(absl::string_view what) const {
  if (closed) {
    return DeviceError(ErrorCode::kNotPermitted, absl::StrCat(what, ": the device is closed"));
  }
  return engine.MayCall();
}

std::string Core::Leftovers() const {
  std::vector<std::string> parts;
  Count(streams.size(), "stream", absl::StrJoin(streams, ", "), parts);
  Count(events, "event", "", parts);
  Count(graphs, "graph", "", parts);
  Count(executables, "executable", "", parts);
  Count(books.map().reservation_count(), "address range",
        absl::StrCat(books.map().reserved_bytes(), " bytes"), parts);
  Count(books.physical_count(), "piece",
        absl::StrCat("of physical memory, ", books.physical_bytes(), " bytes"), parts);
  Count(books.host_buffer_count(), "host buffer", "", parts);
  return absl::StrJoin(parts, ", ");
}

}  // namespace graphtree::host
