// A random program of a server's as data: what its programs are, and what it does with a runtime.
//
// Data, so that it can be run by the runtime and by a model, printed, and shrunk: an action names
// what it means by a number taken modulo what there is, so that any subset of a script is a script.
// (Called a script, since a runtime has programs of its own.)
//
//   program 1 in lane 0: slots ids i32[24] rows=tokens pad=last_row; ops show 0, log, break
//   add 1; shapes of 1: 0 2; record 1
//   step 1 tokens=5 on stream 2: ids from the host, 5 rows
//   move dependency 0
#ifndef GRAPHTREE_TESTS_RUNTIME_SIMULATION_SCRIPT_H_
#define GRAPHTREE_TESTS_RUNTIME_SIMULATION_SCRIPT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graphs/layout.h"
#include "runtime/shapes/key.h"
#include "runtime/slots/slot.h"

namespace graphtree::runtime_simulation {

constexpr uint32_t kStreams = 3;
constexpr uint32_t kMostPrograms = 4;
// Dependencies by number: first those without memory of their own, then workspaces.
// The last one is for a program that runs ahead.
constexpr uint32_t kLanes = 3;
constexpr uint32_t kDeps = 3;
constexpr uint32_t kWorkspaces = 2;
constexpr uint32_t kAllDeps = kDeps + kWorkspaces;

enum class OpKind : uint8_t {
  kShow,     // an output: the slot as the body sees it
  kPattern,  // an output: words that depend on the key
  kDep,      // an output: twice the words of a dependency
  kLog,      // appends the key to the program's log, in place
  kSum,      // adds the slot's words to the program's sum, in place
  kBreak,    // an output: twice a pattern, by a part that runs eagerly in segmented shapes
  kHog,      // memory that a small pool seldom has
  kScratch,  // an output: twice a pattern, by way of a workspace
  kPad,      // an output: something padded (pad_cases.h)
  kPart,     // an output: the front of a slot, read by a part as kBreak's
  kReturn,   // an output: the front of a slot, which the body returns as it is
};
constexpr uint32_t kOpKinds = static_cast<uint32_t>(OpKind::kReturn) + 1;

struct Op {
  OpKind kind;
  uint32_t at = 0;  // a slot, a dependency of the program's, or a pad's number
};

struct ProgramSpec {
  uint32_t lane = 0;
  KeyRules rules;
  std::vector<SlotSpec> slots;
  std::vector<uint32_t> deps;
  std::vector<Op> ops;
  bool needs_commit = false;   // then it has no breaks
  bool prepares = false;       // one more output, made of what `prepare` made
  bool tells_when_free = false;
  bool says_when_free = false;  // in its body, behind the last op that reads a slot
  bool plans = false;           // runs ahead of others' steps, too, and keeps all outputs
  std::vector<uint32_t> kept;   // outputs
  std::vector<Key> shapes;     // that the server may add

  size_t outputs() const;
};

enum class SourceKind : uint8_t { kNothing, kHost, kDevice, kOutput, kValue };

struct Staging {
  SourceKind kind = SourceKind::kHost;
  DType type = DType::kI32;
  uint32_t fewer = 0;  // rows than the call has
  uint32_t gap = 0;    // elements between two rows, and two pieces
  uint32_t seed = 0;
};

// Each of them is refused, in words, and the step goes on; after the last two it is over.
enum class Mistake : uint8_t {
  kNone,
  kTwice,
  kTooManyRows,
  kNegativeRows,
  kOtherType,
  kNoAddress,
  kNoSlot,
  kCannotHold,
  kMisaligned,
  kBadStride,
  kStepInStep,
  kChangesInStep,
  kBadKey,
  kForgets,
  kNoOutputs,
};
constexpr uint32_t kMistakes = static_cast<uint32_t>(Mistake::kNoOutputs) + 1;

struct StepSpec {
  uint32_t program = 0;
  Key call;
  std::vector<Staging> staging;  // by slot
  uint32_t stream = 0;
  uint8_t modes = 3;
  bool is_voted_down = false;
  bool continues = false;
  bool is_canceled = false;
  bool body_fails = false;
  bool moves_dep = false;  // between Begin and Run
  bool excludes = false;   // what was chosen, between Begin and Run
  Mistake mistake = Mistake::kNone;
  bool holds = false;  // the outputs, beyond the step
  // What is done behind the step's free events, on a stream that waits for nothing else.
  uint32_t fills = 0;     // slots that may be left out, a bit for each
  bool rewrites = false;  // the device rows that it was staged with
};

enum class ActionKind : uint8_t {
  kAdd,      // the program, or once more
  kRemove,
  kShapes,   // the program gets some of its shapes
  kExclude,  // or includes
  kRecord,
  kStep,
  kPair,     // two steps, in two lanes if there are two, that overlap
  kVote,     // a step after a vote with a rank that calls with the second step's key
  kMove,     // a dependency: its memory is elsewhere, and what was there is overwritten; a
             // workspace may have more or less of it then
  kTouch,    // a dependency, which stayed where it is
  kRewrite,  // what steps are staged from
  kDrop,     // an output that is held
  kWrong,    // what a runtime refuses outside of steps
  kCapture,  // a step, a recording and a removal while a stream captures
  kCommit,   // the epoch of now, after another one was refused
  kPrepare,  // the program runs ahead of a Take
  kTake,     // its outputs, prepared or not, go into the second step
  kMode,     // the step twice in another mode of serving, or with parity
  kPark,     // the step's lane is parked and woken before it
  kLend,     // the step's lane lends memory before it
};
constexpr uint32_t kActionKinds = static_cast<uint32_t>(ActionKind::kLend) + 1;

struct Action {
  ActionKind kind;
  uint32_t program = 0;
  uint32_t pick = 0;
  std::vector<StepSpec> steps = {};
  uint32_t fail_at = 0;  // the n-th device call of this action fails; 0: none
  bool look = true;      // wait for the device behind it, and compare
};

struct Script {
  uint32_t seed = 0;
  bool records_while_serving = true;
  bool is_small = false;    // little memory and small budgets: much may fail, and says so
  bool is_checked = false;  // the trees are in checked mode
  bool has_faults = false;
  bool is_hasty = false;  // blocks are large, and seldom does anybody wait
  bool shares_device = false;  // with other servers, on threads of their own
  std::vector<ProgramSpec> programs;
  std::vector<Action> actions;
};

Script MakeScript(uint32_t seed, uint32_t actions);
std::string ToString(const Script& script);

}  // namespace graphtree::runtime_simulation

#endif  // GRAPHTREE_TESTS_RUNTIME_SIMULATION_SCRIPT_H_
