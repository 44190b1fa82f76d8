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
// What was prepared is used only if it is right: if key and rows are the same, byte for byte, and
// no dependency was touched meanwhile. Else Take prepares anew, on the step's own stream, and
// counts that.
//
// Threads: one at a time. Cost of Take: a compare of the rows' bytes, and a wait of one stream for
// an event.
#ifndef GRAPHTREE_RUNTIME_AHEAD_H_
#define GRAPHTREE_RUNTIME_AHEAD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/stream.h"
#include "graphs/tensor.h"
#include "runtime/program.h"
#include "runtime/runtime.h"
#include "runtime/shapes/key.h"
#include "runtime/slots/rows.h"
#include "runtime/slots/slot.h"

namespace graphtree {

// Rows without gaps, one slot's of the preparing program.
struct AheadRows {
  SlotId slot = 0;
  HostRows rows;
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
  // call has prepared, and nobody has taken, goes. The rows are copied.
  absl::Status Prepare(const Key& key, absl::Span<const AheadRows> rows, Stream& side);
  // The program's outputs for these rows. A step on `stream` may be staged with them, and holds
  // them until then; who reads them otherwise keeps them until that work is over.
  absl::StatusOr<Values> Take(const Key& key, absl::Span<const AheadRows> rows, Stream& stream);

  const AheadStats& stats() const { return stats_; }

 private:
  struct Prepared {
    Key key;
    std::vector<uint8_t> bytes;  // of all rows (BytesOf)
    uint64_t touches = 0;        // of the runtime's dependencies, before
    Values outputs;
    std::unique_ptr<Event> done;
  };

  // How many bytes each of the rows has; an error if they are none of the program's.
  absl::Status Measure(absl::Span<const AheadRows> rows);
  absl::StatusOr<Values> Run(const Key& key, absl::Span<const AheadRows> rows, Stream& stream);
  // Counts why not. REQUIRES: the rows were measured.
  bool IsRight(const Key& key, absl::Span<const AheadRows> rows);

  Runtime& runtime_;
  const ProgramId program_;
  std::unique_ptr<Prepared> prepared_;
  std::vector<uint64_t> sizes_;  // of the rows that were measured last, in bytes
  AheadStats stats_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_AHEAD_H_
