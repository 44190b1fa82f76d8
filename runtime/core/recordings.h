// The recordings of a runtime's shapes: made ahead on slots of padding, or by the steps that
// need them, and those that wait for a commit.
//
//   Record      each shape of a program that has no good recording      RecordShape
//   NoteRoute   a step that ran: what the tree has made of it           a hit, or why none
//                  `--- the tree waits to be told (needs_commit)        RecordWhileServing
//   Commit      what was recorded in this epoch serves steps from now on
//
// What is known of each shape is its ShapeLife (shape_life.h); here lies the epoch, and nothing
// else that changes.
//
// Threads: Record and NoteRoute by the thread that has the lane, of several lanes at once. Commit
// while no step is under way.
#ifndef GRAPHTREE_RUNTIME_CORE_RECORDINGS_H_
#define GRAPHTREE_RUNTIME_CORE_RECORDINGS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/stream.h"
#include "graphs/tree_stats.h"
#include "runtime/core/dependencies.h"
#include "runtime/core/lanes.h"
#include "runtime/core/open_step.h"
#include "runtime/core/program_state.h"
#include "runtime/core/programs.h"
#include "runtime/core/shape_life.h"
#include "runtime/program.h"
#include "runtime/runtime_options.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/why.h"

namespace graphtree {

class Recordings {
 public:
  // All of them outlive it.
  Recordings(Lanes& lanes, const Programs& programs, const Dependencies& dependencies,
             const RuntimeOptions& options)
      : lanes_(lanes), programs_(programs), dependencies_(dependencies), options_(options) {}
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  // An error while a step is under way, and for a stream that nothing can be recorded on.
  absl::Status MayRecord(ProgramState& program, Stream& stream) const;
  absl::Status Record(ProgramState& program, Stream& stream);
  // The same for one shape, whether it is recorded or not. REQUIRES: the caller has the lane, and
  // the stream is of its device.
  using AfterRun = std::function<void(CallRoute)>;
  struct How {
    AfterRun after_run = nullptr;   // told how each run of the shape went
    bool takes_recordings = true;   // of idle lanes, if it has lacked memory before
  };
  absl::Status RecordShape(ProgramState& program, uint32_t index, Stream& stream, const How& how);
  // Runs the shape once towards its recording: a warm-up, or the recording itself, which is true.
  // What fails is tried again later, as a recording that a step failed to make. REQUIRES: likewise.
  absl::StatusOr<bool> Advance(ProgramState& program, uint32_t index, Stream& stream);
  // Whether the shape has a recording that steps may replay now, as far as its life knows.
  bool IsGood(ProgramState& program, uint32_t index) const;
  // A step that a shape was to serve has run: notes what became of the shape's recording, and why
  // the step was no replay if it was none. Records the shape if the tree waits for that. Returns
  // what the tree has made of it.
  LastCall NoteRoute(OpenStep& step);
  // A step ran without `step.choice.better`, a shape that would serve it if it were usable: a shape
  // that a step failed to record is tried again after enough of these.
  static void NoteWithout(OpenStep& step) {
    const uint32_t better = step.choice.better;
    if (better == kNoShape) return;
    ++step.program->shape(better).wanted;
    step.program->NoteWaited(better);
  }

  // To which recordings belong that are made now.
  uint64_t epoch() const { return epoch_; }
  std::vector<UncommittedShape> Uncommitted() const;
  absl::Status Commit(uint64_t epoch);

 private:
  absl::Status RecordAll(ProgramState& program, Stream& stream);
  static bool IsGoodWith(const ShapeLife::Generations& now, ProgramState& program, uint32_t index);
  absl::Status TryShape(ProgramState& program, uint32_t index, Stream& stream, const How& how,
                        Why* why);
  struct Try {
    bool is_last = false;  // it must not need another run
    bool takes_recordings = true;
    Why why = Why::kFailed;  // what failed
  };
  // True: it has a recording now.
  absl::StatusOr<bool> RunOnce(ProgramState& program, uint32_t index, Stream& stream, Try* run);
  absl::Status RunToRecord(OpenStep& step, Try* run);
  void NoteMiss(OpenStep& step, const LastCall& last);
  void NoteRecorded(OpenStep& step);
  // The shape is recorded without being launched; a failure is counted.
  absl::Status RecordForCommit(OpenStep& step);
  // The step ran eagerly, since its shape is recorded without being launched: does that now.
  void RecordWhileServing(OpenStep& step);
  // The shape is tried again after steps that ran without it.
  void NoteFailedServing(ProgramState& program, uint32_t index, Why why,
                         const absl::Status& failure);

  Lanes& lanes_;
  const Programs& programs_;
  const Dependencies& dependencies_;
  const RuntimeOptions& options_;
  uint64_t epoch_ = 1;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_RECORDINGS_H_
