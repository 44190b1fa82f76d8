// Prepares the next step while the present one runs.
//
// Preparation that is part of a program (ProgramOptions::prepare) runs in the step's own launch.
// Where it takes long, it is a program of its own, in a lane of its own, that runs on a side stream
// as soon as the scheduler knows the next step:
//
//   stream   main, step 7 ..................| Take: waits | main, step 8 ...
//   side         Prepare for step 8 --------'
//
//   Ahead ahead(*runtime, plan);                          // `plan` keeps its outputs
//   while (serving) {
//     Values planned = *ahead.Take(key, rows, *stream);   // prepared while the last step ran
//     Step step = *runtime->Begin(decode, key, *stream);
//     step.Stage(kOffsets, Tensor::From(planned[0]));     // read by the step's first op
//     step.Run(&outputs);
//     ahead.Prepare(next_key, next_rows, *side);          // a guess: requests may still end
//   }
//
// What was prepared is used only if it is right: if key, rows and values are the same, byte for
// byte, and no dependency was touched meanwhile. Else Take prepares anew, on the step's own stream,
// and counts that. Rows on the device cannot be compared, as nothing says which bytes are there: so
// the caller gives a version with them, and what has none is never taken as the same. Nor is what
// was prepared with a slot left out, as whoever has the slot may have written there since.
//
// The program has a lane of its own, as its steps are to run beside those of the main program.
//
// Threads: one at a time, also with who adds programs. Cost of Take: a compare of the rows' bytes,
// and a wait of one stream for an event.
#ifndef GRAPHTREE_RUNTIME_AHEAD_H_
#define GRAPHTREE_RUNTIME_AHEAD_H_

#include <array>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/stream.h"
#include "graphs/tensor.h"
#include "runtime/program.h"
#include "runtime/runtime.h"
#include "runtime/shapes/key.h"
#include "runtime/slots/host_runs.h"
#include "runtime/slots/rows.h"
#include "runtime/slots/slot.h"

namespace graphtree {

// Rows on the device, which stay as they are until the preparing step has read them; on its stream
// they are there already. With the same version as before they have the same bytes as before,
// wherever they lie; 0: nobody knows.
struct VersionedRows {
  DeviceRows rows;
  uint64_t version = 0;
};

// What one slot of the preparing program is staged with.
struct AheadRows {
  SlotId slot = 0;
  std::variant<HostRows, VersionedRows, double> rows;
};

struct AheadStats {
  uint64_t prepared = 0;  // ahead
  uint64_t used = 0;      // of these
  uint64_t other_key = 0;   // not used, since the step came with another key
  uint64_t other_rows = 0;  // ... with other rows
  uint64_t touched = 0;     // ... after a dependency had changed
};

class Ahead {
 public:
  // The runtime outlives it. REQUIRES: the program keeps all of its outputs.
  Ahead(Runtime& runtime, ProgramId program) : runtime_(runtime), program_(program) {}

  // Runs the program with these rows on `side`, and keeps the outputs for a Take. What an earlier
  // call has prepared, and nobody has taken, goes. Host rows are copied. An error if another
  // program lies in the program's lane.
  absl::Status Prepare(const Key& key, absl::Span<const AheadRows> rows, Stream& side);
  // The program's outputs for these rows. A step on `stream` may be staged with them, and holds
  // them until then; who reads them otherwise keeps them until that work is over. On a stream that
  // captures both calls are refused, and what was prepared stays.
  absl::StatusOr<Values> Take(const Key& key, absl::Span<const AheadRows> rows, Stream& stream);

  const AheadStats& stats() const { return stats_; }

 private:
  struct Prepared {
    Key key;
    std::vector<uint8_t> bytes;  // of all rows
    bool is_known = true;        // all of it
    uint64_t touches = 0;        // of the runtime's dependencies, before
    Values outputs;
    std::unique_ptr<Event> done;
  };

  // Finds what is to be compared of each of the rows; an error if they are none of the program's.
  absl::Status Look(absl::Span<const AheadRows> rows);
  absl::StatusOr<Values> Run(const Key& key, absl::Span<const AheadRows> rows, Stream& stream);
  // Of the rows that were looked at last.
  std::vector<uint8_t> Copied() const;
  bool AreSame(absl::Span<const uint8_t> kept) const;
  // Counts why not. REQUIRES: the rows were looked at.
  bool IsRight(const Key& key);

  Runtime& runtime_;
  const ProgramId program_;
  std::unique_ptr<Prepared> prepared_;
  // What was looked at last. A head says what it is: the slot, its kind, type and number of rows,
  // and of what is not on the host the version or the value; then come the bytes, if any.
  using Head = std::array<uint64_t, 5>;
  struct Part {
    Head head;
    HostRuns runs;
  };
  std::vector<Part> parts_;
  std::vector<SlotId> slots_;  // of the rows
  bool is_known_ = true;
  AheadStats stats_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_AHEAD_H_
