// A function that a tree may record: its body, and what its caller promises about its inputs.
#ifndef GRAPHTREE_GRAPHS_FUNCTION_H_
#define GRAPHTREE_GRAPHS_FUNCTION_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "allocator/pool_types.h"
#include "graphs/admission.h"
#include "graphs/call_stack.h"
#include "graphs/input_roles.h"
#include "graphs/keep.h"
#include "graphs/launcher.h"
#include "graphs/reason.h"
#include "graphs/tensor.h"
#include "graphs/varying_sizes.h"

namespace graphtree {

// Never given twice, also not when its function was unregistered.
using FunctionId = uint32_t;

// Launches work and returns what it made. `inputs` is the body's to keep or to drop: an input that
// it empties has died inside the function, and its memory may be used by what follows. Nothing that
// it computes on the host may depend on device data, but for what it does in a Launcher::Break. It
// may be called any number of times: once to warm up, once to be recorded, and once more there if a
// library takes a large input of it (see rehearsal.h). One that throws has failed, as with
// Launcher::Fail: the call is an error that says what was thrown, and is taken back as any other.
//
// Nor may what it launches depend on where its inputs lie, or on which of them share bytes: a
// recording is replayed for inputs that lie elsewhere.
//
// Of an input that no function of the tree made the body may be given a copy, which holds its
// elements and nothing of the gaps between them, and which is good while the body runs: to store
// such an input is to store the copy.
//
// What the tree knows of a body is what its launches declare. Found without checked mode: an input
// of at most 64 KiB that an op is told to read and writes to, if the kernel's signature has no
// const there (Params), in the first warm-up; memory that the body makes, or says to be written,
// and that no op of its recording takes (unseen_writes). Not found: a write to a larger input that
// is declared as read, or by a kernel whose parameters are known by their sizes alone, or in a
// later run only; work on another stream beside opaque work on the launcher's. Their replays give
// other bytes than the body. Checked mode (TreeOptions::check) finds these, while it is on.
using Body = std::function<Values(Launcher& on, Values& inputs)>;

// The body takes it that the input starts at a multiple of so many bytes (a power of two).
struct InputAlignment {
  uint32_t input = 0;
  uint64_t bytes = 1;
};

struct FunctionOptions {
  // Inputs whose address never changes for long (weights, caches). Checked at every call; at a
  // second address the function is recorded once more, for any address. A static input may be
  // mutated.
  std::vector<uint32_t> static_inputs = {};
  // Inputs that opaque work in the body writes to. What Launcher::Launch declares is seen anyway.
  std::vector<uint32_t> mutated_inputs = {};
  // An input that is less aligned than is said here is copied, whatever else is said about it.
  // Where the body writes to it the call runs eagerly, and what was written is copied back; that is
  // an error if it shares bytes with another input and no copy of both is aligned as declared.
  std::vector<InputAlignment> alignments = {};
  // Outputs that outlive their step with their value and their address, for as long as somebody
  // holds them. One that looks into an output of an earlier function is an error: keep that one.
  std::vector<uint32_t> kept_outputs = {};
  // More outputs than that are an error.
  size_t most_outputs = std::numeric_limits<size_t>::max();
  // Ops of it write through addresses that no launch shows, or it returns memory that nothing is to
  // write. Without this a recording that holds no op for what the body made or said to be written
  // is taken for one whose work went to another stream than Launcher::stream(), and is given up.
  bool unseen_writes = false;
  // Never record it.
  bool exclude = false;
  // What is done about inputs that come at changing addresses. A body that writes the address of
  // an input into memory, where no launch shows it, wants kCopy.
  Moving moving = Moving::kPatch;
  // The only sizes to record it for; others run eagerly. A size is the integers among a call's
  // inputs, in their order, or, where it has none, the first dimension of its first tensor that is
  // not static. Empty: all.
  std::vector<std::vector<int64_t>> recorded_sizes = {};
  // Do not record the function if its sizes vary: the first call that brings another integer, or
  // another dimension, than the first one is told, what was recorded goes, and all calls run
  // eagerly from then on. Sizes that are not listed above say nothing here.
  bool skip_varying_sizes = false;
  // What errors and warnings call the inputs, in their order; may be empty or short of the last.
  std::vector<std::string> input_names = {};
  // Look for undeclared writes and dead memory in this function's calls; see TreeOptions::check.
  bool check = false;
};

// An opaque input with a version, kept alive, so that no other object is taken for it.
struct KeptOpaque {
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
  // Of those, the ones of which nobody says when: declared for the whole body, or found out by
  // checked mode. Checked mode counts all of them: it sees that an input was written, not where.
  std::vector<bool> mutates_somewhere;
  std::vector<InputUse> uses;  // by input: seen in a run
  std::vector<KeptOpaque> opaque;
  std::vector<OpSite> writers;  // by input: the op that was seen to write to it, if any was
  std::string last_failure;     // of its recording
  bool keeps_by_copy = false;  // a kept output's address stands where nobody said so
  uint64_t doubts_hidden_at = 0;  // in `calls`: then it is looked again where addresses stand
  bool warm = false;           // has run once in the pool
  std::string works_elsewhere;  // what its recording lacked (work_log.h); it stays eager then
  std::vector<size_t> generators;  // of random numbers that a run drew from, by section
  uint64_t asked_warm_ups = 0;  // runs in a row that asked for another warm-up
  std::string warm_up_asked_last;  // why, once that was too often; else empty
  uint64_t step = 0;           // in which it was last called
  uint64_t misses_in_step = 0;  // calls in that step that were not replays

  // For the budgets. Calls are those that were not replays.
  bool has_place = false;      // among the shapes that may be recorded
  uint64_t calls = 0;
  uint64_t last_call = 0;      // by the tree's count of calls
  Uses recent;                 // calls, since it last lost its place
  double before = 0;           // all uses of before that, as of
  uint64_t before_at = 0;
  bool was_recorded = false;
  uint64_t failures = 0;       // of its recording, in a row
  uint64_t pause = 0;          // calls to come before it is recorded again

  // Hidden addresses are sought again: the body may have changed its ways.
  void DoubtHidden() {
    if (calls < doubts_hidden_at) return;
    for (InputUse& use : uses) use.hidden = false;
    keeps_by_copy = false;
  }
  // A run did not ask for another warm-up.
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
  const std::string* lasting_name = nullptr;  // for who may look when the function has gone
  absl::Status refusal;  // what is wrong with its options; every call is that error
  std::vector<bool> is_static;  // by input; short of the inputs behind the last static one
  std::vector<uint64_t> alignments;  // by input, likewise
  size_t inputs_named = 0;  // a call has to bring so many: the options speak of the last of them
  absl::flat_hash_map<uint64_t, std::vector<std::unique_ptr<Variant>>> variants;  // by hash of key
  uint64_t variant_count = 0;   // now
  uint64_t variants_seen = 0;   // ever, with what was forgotten and came again
  uint64_t places = 0;          // of its variants, among the shapes that may be recorded
  Admission admission;          // to them
  VaryingSizes sizes;           // of its calls, where that matters
  bool is_retired = false;      // unregistered, and there until no path needs it
  mutable WordId tag = 0;       // its name, as the pool last knew it
  bool warned[kReasonCount] = {};
  bool warned_of_shapes = false;

  uint64_t AlignmentOf(size_t input) const {
    return input < alignments.size() ? alignments[input] : 1;
  }
  bool IsStatic(size_t input) const { return input < is_static.size() && is_static[input]; }
};

// What is wrong with a function that was registered so. No call of it is run then.
absl::Status CheckOptions(const Function& function);

// "input 2", or "input 2 ('cache')" where it has a name.
std::string InputName(const Function& function, size_t input);

// The function's variant for these inputs; made if it is new, with ids from `next_id`.
Variant* VariantFor(Function* function, absl::Span<const Value> inputs, uint32_t* next_id);
// REQUIRES: nothing refers to the variant.
void ForgetVariant(Function* function, const Variant* variant);

// May a call of this size be recorded? See FunctionOptions::recorded_sizes.
bool IsRecordedSize(const Function& function, absl::Span<const Value> inputs);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_FUNCTION_H_
