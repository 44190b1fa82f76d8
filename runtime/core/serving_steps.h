// What the mode of serving (serving.h) makes of a step, from its shape to what is noted of it:
//
//   off, shadow    Choose: no shape                                        Note: shadow's sums
//   replay         Choose: as the table has it    Mark: one in N           Note: parity
//   strict         CheckStrict, before the step   Mark  RefuseInRun: the tree would run it eagerly
//
// A step reads the mode once, when it begins. So a change is refused while a step is under way.
//
// Threads: Set by one thread at a time; what is of a step, by the thread that has its lane; the
// rest by any.
#ifndef GRAPHTREE_RUNTIME_CORE_SERVING_STEPS_H_
#define GRAPHTREE_RUNTIME_CORE_SERVING_STEPS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/core/dependencies.h"
#include "runtime/core/lanes.h"
#include "runtime/core/open_step.h"
#include "runtime/core/program_state.h"
#include "runtime/core/serving_state.h"
#include "runtime/core/teller.h"
#include "runtime/runtime_options.h"
#include "runtime/serving.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/watch/watch.h"
#include "runtime/why.h"

namespace graphtree {

class ServingSteps {
 public:
  // All of them outlive it.
  ServingSteps(Lanes& lanes, const Dependencies& dependencies, Watch& watch,
               const RuntimeOptions& options)
      : lanes_(lanes),
        dependencies_(dependencies),
        watch_(watch),
        options_(options),
        state_({}),
        teller_(options) {}
  ServingSteps(const ServingSteps&) = delete;
  ServingSteps& operator=(const ServingSteps&) = delete;

  absl::Status Set(const ServingMode& mode);
  ServingMode mode() const { return state_.get(); }
  bool serves_graphs() const { return ServesGraphs(state_.serving()); }
  // Whether recordings are made now: by Record, by a plan, in idle slots. If not, says so once,
  // with who asked first ("a plan").
  bool MayRecord(absl::string_view who);
  // Why not, for people: "nothing is recorded, as the mode is off".
  std::string WhyNotRecorded() const;
  // What Begin would choose.
  Choice Choose(const ProgramState& program, const Key& key, Modes allowed) const;
  // Ranks agree on no graph where this one serves none.
  Modes Voted(Modes allowed) const { return serves_graphs() ? allowed : Modes::None(); }

  // Strict: an error if the step would run eagerly, as far as that is known before it runs.
  absl::Status CheckStrict(ProgramState& program, const Key& key, const Choice& choice);
  // The step has begun: says whether it is strict, and whether it is to be compared.
  void Mark(OpenStep& step) const;
  // Strict: the tree would have run the step eagerly. Says why.
  absl::Status RefuseInRun(OpenStep& step);
  // The step has run, in so many nanoseconds of the host's.
  void Note(const OpenStep& step, uint64_t ran_ns) {
    if (step.choice.why == Why::kShadow) NoteShadow(step, ran_ns);
    if (step.is_compared) NoteParity(step);
  }

  Teller& teller() { return teller_; }

 private:
  // Counts the lane's replays: one in N is compared.
  bool IsCompared(Lane& lane, const Choice& choice) const;
  static void NoteShadow(const OpenStep& step, uint64_t ran_ns);
  void NoteParity(const OpenStep& step);

  Lanes& lanes_;
  const Dependencies& dependencies_;
  Watch& watch_;
  const RuntimeOptions& options_;
  ServingState state_;
  Teller teller_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_SERVING_STEPS_H_
