// How a runtime and its steps are to behave, and what a runtime counts.
#ifndef GRAPHTREE_RUNTIME_RUNTIME_OPTIONS_H_
#define GRAPHTREE_RUNTIME_RUNTIME_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graphs/shared_budget.h"
#include "graphs/tree_options.h"
#include "runtime/serving.h"
#include "runtime/shapes/mode.h"
#include "runtime/why.h"

namespace graphtree {

enum class LogLevel : uint8_t { kInfo, kWarning };

struct RuntimeOptions {
  // For the tree of each lane: budgets, checked mode, warnings.
  TreeOptions tree = {};
  // Memory that the trees of one device may take together, and each no more than
  // TreeOptions::pool_bytes; 0: only that. A lane maps TreeOptions::initial_bytes of it at first,
  // as far as others have left so much. A lane without a step gives back what nobody uses there
  // when another one lacks memory, and when a program of its leaves; where that does not do for a
  // step whose need is known, it gives recordings up, too. So it does for a recording that is tried
  // again, as it lacked memory before, but not within a plan.
  uint64_t pool_bytes = 0;
  // Recordings, executables and the device memory of these that the trees of one device may have
  // together, and each no more than TreeOptions::budget; 0: only that. It is never exceeded, and a
  // lane may have what others have not taken. A lane that finds nothing left and has less than its
  // fair share has the others give up what they have beyond theirs, between their steps.
  Share shared = {};
  // False: a shape that was not recorded ahead is never chosen.
  bool records_while_serving = true;
  // How steps are served at first; see Runtime::SetServing.
  ServingMode serving = {};
  // Told what a log should have, warnings once each; the trees' warnings, too, unless
  // TreeOptions::warn is set. Called on the thread that acts; an exception of it is caught.
  std::function<void(LogLevel, const std::string&)> log = {};
  // Nanoseconds of a clock that never goes back, which all times are taken from; empty: the
  // system's steady clock. Any thread may call it. An exception of it is an error of the call that
  // looked at it, which names it: before a step has run, or after it, which the error says.
  std::function<int64_t()> clock_ns = {};
  // False: steps are counted, and neither timed nor kept for Explain.
  bool watches_steps = true;
  // Where a door for tools is opened with the runtime (Runtime::OpenDoor); empty: none is.
  std::string door = {};
  // For people: the settings that came from the environment (configuration.h).
  std::vector<std::string> from_environment = {};
};

struct RuntimeStats {
  uint64_t steps = 0;  // that were run, not those whose Run was refused
  WhyCounts why = {};             // of each step
  uint64_t staging_waits = 0;     // for the device, before a block could be written
  // Steps whose graph had to be told where its block is, as after a step that was no replay. All
  // others patch nothing; but where a body has work that may hide an address each step names its
  // block, and that is not counted.
  uint64_t staging_told = 0;
  uint64_t recordings = 0;
  // That steps have tried to make for Runtime::Commit, and could not. Each is told through
  // TreeOptions::warn, and tried again after 1, 2, 4, ... steps that ran without it, up to
  // TreeBudget::retry_after. Others the tree counts (TreeStats).
  uint64_t failed_recordings = 0;
  uint64_t workspace_moves = 0;   // that made recordings stale
  uint64_t stale_recordings = 0;  // that were made stale so, ever
  uint64_t slot_bytes = 0;        // device memory of slots, now
  uint64_t staging_bytes = 0;     // page-locked memory, now
};

struct StepOptions {
  // What the caller allows now. An eager run is always allowed.
  Modes modes = Modes::All();
  // The ranks did not agree on a graph (Agreement::outcome): the step runs eagerly.
  bool is_voted_down = false;
  // Goes on where the lane's last step ended: its outputs stay good.
  bool continues = false;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_RUNTIME_OPTIONS_H_
