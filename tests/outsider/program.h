// A program as plain numbers: what a tree is made with, what its functions do, what its caller
// does. Every number is taken modulo what there is when it is used, so that any program is a valid
// one, also after the shrinker has taken lines out of it.
//
//   option check 1
//   function                      a body in lines, nested where it breaks
//     trait inputs 2
//     new 3 0 17
//     break 0 2 0 4
//       mix 0 1 9
//     end
//     returns 2 -1
//   run 0 0 4 ; buffer 0 16 3 ; shelf 4 1
//   step 0
//
// The same text comes back as the same program.
#ifndef GRAPHTREE_TESTS_OUTSIDER_PROGRAM_H_
#define GRAPHTREE_TESTS_OUTSIDER_PROGRAM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace graphtree::outsider {

// What trees and their device are made with.
enum class Option : uint8_t {
  kCheck,
  kStrict,
  kDisabled,
  kPoolKib,
  kInitialKib,
  kRerecordLimit,
  kPatchBytes,
  kNoSpare,
  kKeptBytes,
  kNodes,
  kExecutables,
  kExecutableKib,
  kSiblings,
  kShapesOfFunction,
  kShapes,
  kRetryAfter,
  kWarmUpLimit,
  kImmediate,    // the device runs work at once
  kDeviceSeed,
  kObserved,
  kCloseOrder,
  kRoundTrips,   // how often the program is run again on the same trees
};
constexpr size_t kOptionCount = 22;

// What a function is registered with.
enum class Trait : uint8_t {
  kTree,
  kInputs,
  kStatics,    // masks of inputs
  kMutated,
  kWritable,   // what its body may write to
  kKept,       // a mask of outputs
  kExclude,
  kMoving,
  kChecked,
  kAlignedInput,
  kAlignment,
  kMostOutputs,
  kRecordedSize,
  kSkipVarying,
};
constexpr size_t kTraitCount = 14;

// One line of a body. Slots are what the body has in hand: first its inputs, then what it made.
enum class Do : uint8_t {
  kNew,          // layout, source, by: memory of the tree's, written at once
  kRows,         // input, source, by: the same, as many rows as an integer says
  kUnused,       // layout: memory that nothing touches
  kMix,          // target, source, by
  kBump,         // target, by: read and written
  kJoin,         // target, one source, another, by
  kElements,     // target, source, by: along strides
  kFill,         // target, byte
  kCopy,         // target, source
  kView,         // of, offset, layout
  kRawFill,      // the same three on the raw stream
  kRawMix,
  kRawCopy,
  kFork,         // target, source, by, style: work on a side stream
  kUnjoined,     // target, by: that is left there
  kScratch,      // target, source, bytes, by
  kScratchFill,  // bytes
  kForeignTemp,  // target, source, bytes, by: a block of foreign code's
  kForeignHeld,  // place, target, source, by: one that it keeps between calls
  kWorkspace,    // workspace, target, source, by
  kRandom,       // generator, target, count
  kDrop,         // slot
  kBreak,        // slot, slot, slot, accesses, how many
  kHostSees,     // target, source: a part's launch depends on data
  kKeepAlive,    // target: an object that the launch reads
  kWarmUpAgain,  // how often
  kSync,         // what no recording allows
  kNested,       // function of the other tree, target, source
  kStash,        // place, slot: a handle that is stored and not returned
  kClosure,      // buffer, offset, layout, may write
  kAligned,      // input, target: is it aligned as was said?
  kByInteger,    // target, input
  kFailIf,       // input, value
  kThrowIf,      // input, value
  kReenter,      // how: the tree is called while it runs
  kScratchPart,  // target, source, bytes, by: a part that is given scratch
};
constexpr size_t kDoCount = 36;

struct Statement {
  Do what = Do::kNew;
  std::array<int, 6> n = {};
  std::vector<Statement> part = {};  // of a break
};

struct FunctionPlan {
  std::array<int, kTraitCount> traits = {};
  std::vector<Statement> body;
  std::vector<int> returns;  // slots; -1: nothing, -2: an integer

  int operator[](Trait trait) const { return traits[static_cast<size_t>(trait)]; }
  int& operator[](Trait trait) { return traits[static_cast<size_t>(trait)]; }
};

// Where an input of a call comes from.
enum class From : uint8_t {
  kShelf,     // place, keep a handle, pass it though it is stale
  kBuffer,    // buffer, offset, layout
  kBlock,     // place of a foreign block, offset, layout
  kInteger,   // value
  kOpaque,    // object
  kVersioned, // object: its version is its number
  kNothing,
  kConsumed,
};
constexpr size_t kFromCount = 8;

struct InputPlan {
  From from = From::kNothing;
  std::array<int, 3> n = {};
};

// What the caller does.
enum class Act : uint8_t {
  kRun,            // function, stream, shelf place for its outputs
  kStep,           // tree
  kDrop,           // shelf place
  kDropOnThread,   // shelf place
  kHold,           // shelf place, another: a second handle
  kLook,           // shelf place, another, offset, layout: a view
  kWrite,          // buffer, offset, bytes, by: from the host
  kFill,           // buffer, offset, bytes, by, stream: on a stream
  kReadBack,       // shelf place: copied to the host in stream order
  kCheck,
  kPark,           // tree
  kWake,           // tree
  kTrim,           // tree, hard
  kStats,          // tree
  kSnapshot,       // tree
  kMoveWorkspace,  // workspace, to
  kAllocateBlock,  // place, bytes: foreign code, outside of bodies
  kFreeBlock,      // place
  kSeed,           // generator, seed
  kFault,          // which call, code
  kFaultAt,        // name, which of these, code
  kForget,         // stash place
  kPrune,          // opaque objects are made anew
  kUnregister,     // function, which comes back under another id
};
constexpr size_t kActCount = 24;

struct Action {
  Act what = Act::kCheck;
  std::array<int, 5> n = {};
  std::vector<InputPlan> inputs = {};
};

struct Program {
  std::array<int, kOptionCount> options = {};
  std::vector<FunctionPlan> functions;
  std::vector<Action> actions;

  int operator[](Option option) const { return options[static_cast<size_t>(option)]; }
  int& operator[](Option option) { return options[static_cast<size_t>(option)]; }
};

const char* NameOf(Option option);
const char* NameOf(Trait trait);
const char* NameOf(Do what);
const char* NameOf(From from);
const char* NameOf(Act act);

std::string TextOf(const Program& program);
// False, with the line in `wrong`, if a line is not understood.
bool ProgramOf(const std::string& text, Program* program, std::string* wrong);

}  // namespace graphtree::outsider

#endif  // GRAPHTREE_TESTS_OUTSIDER_PROGRAM_H_
