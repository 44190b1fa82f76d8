// A random program as data: functions made of a few ops, and the actions of a caller.
//
// Data, so that it can be run by the tree and by a model, printed, and shrunk: an action names
// tensors by a number taken modulo what there is, so that any subset of a program is a program.
//
//   function 2: inputs s m f i   ops: t4 = add 0 2; increment 1 by 7; t5 = add 4 1   outputs 4 1 -
//     s static, m an output of this step, f a foreign buffer (or an output), i an integer,
//     o an opaque object with a version
//
// Some programs' bodies keep tensors for themselves, on a shelf (shelf.h): "store 2 on 1; t5 = take
// from 1".
//
// Foreign buffers are of several kinds: usual ones, one that is less aligned, one whose layout
// overlaps itself. In a restless program static inputs come at another address as often as not.
#ifndef GRAPHTREE_TESTS_SIMULATION_PROGRAM_H_
#define GRAPHTREE_TESTS_SIMULATION_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graphs/match/input_roles.h"

namespace graphtree::simulation {

enum class ParamKind : uint8_t { kStatic, kManaged, kAny, kInteger, kOpaque };
enum class OpSpecKind : uint8_t {
  kAdd,
  kFill,
  kIncrement,
  kSecret,  // an increment that is declared as a read; in checked programs only
  kDrop,
  kFork,     // an addition on another stream, joined again
  kForeign,  // an addition by way of memory of the tree's foreign allocator, given back
  kLibrary,  // the same by way of a block that a library keeps, once it has it
  kBreak,    // an addition on the host, which no graph can make: the recording is cut there
  kStore,    // onto the shelf, for later runs
  kLoad,     // what is on the shelf, or a fill
  kForget,   // empties a place of the shelf
};

// Registers: the inputs first, then one for each addition, kFill and kLoad.
struct OpSpec {
  OpSpecKind kind;
  int a = 0;  // additions: operand; kIncrement, kSecret, kDrop, kStore: register; kLoad: place
  int b = 0;  // additions: operand; kStore, kForget: place; kLoad: looks whether it may be used
  uint32_t immediate = 0;
};

constexpr int kNoRegister = -1;

struct FunctionSpec {
  std::vector<ParamKind> params;
  std::vector<OpSpec> ops;
  std::vector<int> outputs;  // registers, or kNoRegister for nothing
  std::vector<uint32_t> kept;  // outputs that outlive their step: of the function's own tensors
  std::vector<uint32_t> aligned;  // inputs that are declared to be aligned
  uint32_t asks = 0;  // bit n: run n of the body asks for another warm-up; the last bit: all later
  Moving moving = Moving::kPatch;

  bool Has(OpSpecKind kind) const;
  bool Asks(uint32_t run) const { return (asks >> (run < 31 ? run : 31) & 1) != 0; }
  // It writes to memory that it is given, said or not.
  bool Mutates() const { return Has(OpSpecKind::kIncrement) || Has(OpSpecKind::kSecret); }
  // The same for one input.
  bool Writes(uint32_t param) const;
  // An op behind this one takes the register, or it is an output.
  bool UsesBehind(size_t op, int number) const;
};

enum class ActionKind : uint8_t {
  kCall,
  kDrop,
  kStep,
  kRewrite,   // a foreign buffer gets other contents
  kRenew,     // an opaque object is replaced, with a version of its own
  kKill,      // a foreign buffer is given back, or taken again; in checked programs only
  kHoard,     // foreign code takes a block outside of any body, or gives one back
  kClean,     // the library gives its blocks back
  kRestream,  // the next calls go to the other stream
  kUnstore,   // somebody empties a place of the bodies' shelf
};

struct Action {
  ActionKind kind;
  uint32_t function = 0;
  std::vector<uint32_t> picks;  // for each parameter, or for a drop or rewrite
  uint32_t keep = 0;            // bit p: the caller keeps a handle of argument p
  uint32_t fail_at = 0;         // the n-th device call of this call fails; 0: none
  bool look = true;             // wait for the device behind it, and compare
  std::vector<uint32_t> turns = {};  // among several threads: who goes on when (together.h)
};

struct Program {
  uint32_t seed = 0;
  uint32_t elements = 0;
  bool restless = false;
  bool patches_all = false;  // inputs are patched whatever their size
  bool checked = false;      // the tree is in checked mode
  bool watched = false;      // an observer has joined
  std::vector<FunctionSpec> functions;
  std::vector<Action> actions;

  bool Has(OpSpecKind kind) const;
};

// `may_store`: of every seventh seed the bodies keep tensors for themselves.
Program MakeProgram(uint32_t seed, uint32_t actions, bool may_store = true);
std::string ToString(const Program& program);

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_PROGRAM_H_
