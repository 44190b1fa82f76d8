// Which part of a snapshot a verb looks at: the GPUs or host memory, one device, one moment.
#ifndef GRAPHTREE_TOOLS_MEMORY_SELECTION_H_
#define GRAPHTREE_TOOLS_MEMORY_SELECTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "allocator/snapshot/snapshot.h"
#include "tools/cli/arguments.h"
#include "tools/cli/verb.h"
#include "tools/snapshot/analysis/history.h"
#include "tools/snapshot/analysis/holdings.h"

namespace graphtree::memory {

// --host, --device N
std::vector<cli::Option> SideOptions();
// --at end|peak|start|ENTRY
cli::Option AtOption();

// What was selected. The side is a copy without the devices that were not asked for.
struct Selection {
  snapshot::Side side;
  bool host = false;
  std::vector<snapshot::DeviceHistory> histories;
};
absl::StatusOr<Selection> Select(const snapshot::Snapshot& snapshot,
                                 const cli::Arguments& arguments);

// What was held at the moment that --at names, and what that moment is called.
struct HeldAt {
  std::vector<snapshot::Holding> holdings;
  std::string moment;  // "at the end", "at the peak"
};
// The moment that --at names: "peak", "start" or the number of an entry that there is. The error is
// the user's, with the numbers that there are.
struct Moment {
  enum Kind { kEnd, kPeak, kStart, kEntry } kind = kEnd;
  uint32_t entry = 0;

  // In this history; kNever before its first entry. False where it has no such entry.
  bool In(const snapshot::DeviceHistory& history, uint32_t& event) const;
};
absl::StatusOr<Moment> MomentOf(const Selection& selection, const cli::Arguments& arguments);

absl::StatusOr<HeldAt> HoldingsOf(const snapshot::Snapshot& snapshot, const Selection& selection,
                                  const cli::Arguments& arguments);

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_SELECTION_H_
