// A function as the tree keeps it: the options that its caller gave (function_options.h) and, for
// each shape that it was called with, what its runs have shown.
#ifndef GRAPHTREE_GRAPHS_MATCH_FUNCTION_H_
#define GRAPHTREE_GRAPHS_MATCH_FUNCTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "allocator/pool_types.h"
#include "graphs/match/admission.h"
#include "graphs/history/call_stack.h"
#include "graphs/listen/op_log.h"
#include "graphs/match/input_roles.h"
#include "graphs/match/keep.h"
#include "graphs/function_options.h"
#include "graphs/pad/room.h"
#include "graphs/reason.h"
#include "graphs/tensor.h"
#include "graphs/match/varying_sizes.h"

namespace graphtree {

// An opaque input with a version. The object is kept alive, so that no other one is taken for it.
struct HeldOpaque {
  uint32_t input = 0;
  Value value;
};

// One combination of integers and layouts that a function was called with. Each is warmed up,
// recorded and limited on its own: another shape is another computation.
struct Variant {
  struct Function* function = nullptr;
  uint32_t id = 0;             // counts the tree's variants
  Values key;                  // integers as they are, tensors with their layouts alone
  uint64_t hash = 0;           // of the key
  std::vector<bool> mutates;   // by input: declared, or seen in a run
  // By input: known to be written, but not by which op. Such are inputs that the options declare,
  // those that checked mode found, and, in checked mode, all mutated ones: checked mode sees that
  // an input was written, and not where.
  std::vector<bool> mutates_somewhere;
  std::vector<InputUse> uses;  // by input: seen in a run
  std::vector<HeldOpaque> opaque;
  std::vector<OpSite> writers;  // by input: the op that was seen to write to it, if any was
  std::string last_failure;     // of its recording or warm-up; empty after a warm-up
  bool keeps_by_copy = false;  // a kept output's address was hidden: the output is copied instead
  uint64_t doubts_hidden_at = 0;  // when `calls` is so many, hidden addresses are sought again
  bool warm = false;           // has run once in the pool
  std::vector<LoggedLaunch> last_launches;  // of its last run at once, in checked mode
  uint64_t last_launches_at = 0;            // Workspaces::changes after that run
  std::string works_elsewhere;  // what its recording lacked (work_log.h): it stays eager; or empty
  std::vector<size_t> generators;  // by section: how many generators a run drew from
  LearnedRoom room;            // behind what its body makes, for what it pads
  uint64_t asked_warm_ups = 0;  // runs in a row that asked for another warm-up
  std::string warm_up_asked_last;  // why, once runs asked too often; else empty
  uint64_t step = 0;           // in which it was last called
  uint64_t misses_in_step = 0;  // calls in that step that were not replays

  // For the budgets. "Calls" are those that were not replays.
  bool has_place = false;      // among the shapes that may be recorded
  uint64_t calls = 0;
  uint64_t last_call = 0;      // by the tree's count of calls
  Uses recent;                 // its calls since it last lost its place
  double before = 0;           // its uses up to that time, weighted as of call `before_at`
  uint64_t before_at = 0;
  bool was_recorded = false;
  uint64_t failures = 0;       // of its recordings, in a row
  uint64_t pause = 0;          // so many calls run eagerly before it is recorded again
  // Its recording was given up for memory, in a call, and for whom; nobody once it is recorded
  // again.
  std::string given_up_for;
  uint64_t given_up_at = 0;
  uint64_t rent = 0;           // the last one that it has paid for that (given_up.h)

  // Hidden addresses are sought again, from time to time: the body may have changed.
  bool DoubtsHiddenAt(uint64_t call) const { return call >= doubts_hidden_at; }
  void DoubtHidden() {
    if (!DoubtsHiddenAt(calls)) return;
    for (InputUse& use : uses) use.hidden = false;
    keeps_by_copy = false;
  }
  // A run did not ask for another warm-up: such runs are counted from 0 again.
  void SettleWarmUps() {
    asked_warm_ups = 0;
    warm_up_asked_last.clear();
  }
  // A run of it had an eager part.
  bool breaks() const { return generators.size() > 1; }
  bool Mutates(size_t input) const { return input < mutates.size() && mutates[input]; }
};

struct Function {
  FunctionId id = 0;
  std::string name;
  FunctionOptions options;
  Body body;
  bool breaks = false;  // a run of it, in any shape, had an eager part
  const std::string* permanent_name = nullptr;  // the name, outliving the function (entrance.h)
  absl::Status options_error;  // what is wrong with its options; every call is that error
  std::vector<bool> is_static;  // by input, up to the last static one
  std::vector<uint64_t> alignments;  // by input, up to the last with an alignment
  size_t inputs_named = 0;  // a call has to bring so many: its options name the last of them
  absl::flat_hash_map<uint64_t, std::vector<std::unique_ptr<Variant>>> variants;  // by hash of key
  uint64_t variant_count = 0;   // now
  uint64_t variants_seen = 0;   // ever, with what was forgotten and came again
  uint64_t places = 0;          // of its variants, among the shapes that may be recorded
  Admission admission;          // to these places
  VaryingSizes sizes;           // of its calls, if varying ones are not to be recorded
  bool is_retired = false;      // unregistered, and kept until no path needs it
  mutable WordId tag = 0;       // its name in the pool's journal
  bool warned[kReasonCount] = {};
  bool warned_of_shapes = false;

  uint64_t AlignmentOf(size_t input) const {
    return input < alignments.size() ? alignments[input] : 1;
  }
  bool IsStatic(size_t input) const { return input < is_static.size() && is_static[input]; }
};

// What is wrong with the function's options. If it is an error no call of the function is run.
absl::Status CheckOptions(const Function& function);

// "input 2", or "input 2 ('cache')" where it has a name.
std::string InputName(const Function& function, size_t input);

// The function's variant for these inputs; null if it has none.
Variant* FindVariant(const Function& function, absl::Span<const Value> inputs);
// A variant for these inputs, which the function does not have yet, and then has.
std::unique_ptr<Variant> NewVariant(Function* function, absl::Span<const Value> inputs,
                                    uint32_t id);
void AddVariant(std::unique_ptr<Variant> variant);
// REQUIRES: nothing refers to the variant.
void ForgetVariant(Function* function, const Variant* variant);

// May a call of this size be recorded? See FunctionOptions::recorded_sizes.
bool IsRecordedSize(const Function& function, absl::Span<const Value> inputs);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MATCH_FUNCTION_H_
