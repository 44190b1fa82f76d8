// A function that a tree may record: its body, and what its caller promises about its inputs.
#ifndef GRAPHTREE_GRAPHS_FUNCTION_OPTIONS_H_
#define GRAPHTREE_GRAPHS_FUNCTION_OPTIONS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "graphs/function_hooks.h"
#include "graphs/moving.h"
#include "graphs/tensor.h"

namespace graphtree {

class Launcher;

// Never given twice, also not when its function was unregistered.
using FunctionId = uint32_t;

// A body launches work and returns the values that it made. `inputs` is the body's to keep or to
// drop: an input that the body empties has died inside the function, and what the body allocates
// next may use its memory. A body may be called any number of times: once to warm up, once to be
// recorded, and once more for that recording if a library takes a large input (see rehearsal.h). A
// body that throws has failed, as with Launcher::Fail: the call is an error that says what was
// thrown. A failed recording or replay leaves nothing behind. Of a failed run at once, as a
// function's first run is one, what the body has written to the caller's memory stays, unless the
// function is known by then to break (Launcher::Break).
//
// Nothing that a body computes on the host may depend on device data, but for what it does in a
// Launcher::Break. Nor may its launches depend on where its inputs lie, or on which of them share
// bytes: a recording is replayed for inputs that lie elsewhere.
//
// In place of an input that no function of the tree made the body may be given a copy. The copy
// holds the elements and nothing of the gaps between them, and is good while the body runs: a body
// that stores such an input stores the copy.
//
// What the tree knows of a body is what its launches declare. Where a body does something else its
// replays leave other bytes than the body would. What is found of that, and when:
//
//   first warm-up   a write to an input of at most 64 KiB that the op is told to read, if the
//                   kernel's signature has no const there (Params)
//   recording       memory that the body makes, or says to be written, and that no op takes
//                   (unseen_writes)
//   checked mode    a write to a larger input that is declared as read, or by a kernel whose
//   alone           parameters are known by their sizes alone, or in a later run only; work on
//                   another stream beside opaque work on the launcher's (TreeOptions::check)
using Body = std::function<Values(Launcher& on, Values& inputs)>;

// The body relies on this input starting at a multiple of so many bytes (a power of two).
struct InputAlignment {
  uint32_t input = 0;
  uint64_t bytes = 1;
};

struct FunctionOptions {
  // Inputs whose address seldom changes (weights, caches). Every call compares the address; at a
  // second one the function is recorded once more, for any address. A static input may be mutated.
  std::vector<uint32_t> static_inputs = {};
  // Inputs that opaque work in the body writes to. A write that Launcher::Launch declares needs no
  // entry here.
  std::vector<uint32_t> mutated_inputs = {};
  // An input that is less aligned than is declared here is copied, whatever else is declared about
  // it. Where the body writes to that input the call runs eagerly, and what was written is copied
  // back after everything else went well. The call is an error if the input shares bytes with
  // another one and no copy of both is aligned as declared, and if the body, a part of it or a call
  // inside of it reaches the input's bytes by another name where that makes a difference
  // (graphs/inputs/clone_watch.h). Bytes in the gaps of a strided input count as its own there.
  std::vector<InputAlignment> alignments = {};
  // Outputs that outlive their step with their value and their address, for as long as somebody
  // holds them, and with them other outputs that look into the same bytes. What the body has stored
  // of those bytes may be other memory then. One that looks into an output of an earlier function
  // is an error: keep that one.
  std::vector<uint32_t> kept_outputs = {};
  // A body that returns more outputs than that has failed.
  size_t most_outputs = std::numeric_limits<size_t>::max();
  // Ops of the body write through addresses that no launch shows, or the body returns memory that
  // nothing is to write. Without this, a recording in which no op takes memory that the body made
  // or said to be written is given up: its work seems to have gone to another stream than
  // Launcher::stream().
  bool unseen_writes = false;
  // Never record the function.
  bool exclude = false;
  // Only Tree::Record records the function, and launches nothing. Tree::Run replays such a
  // recording where one serves the call; else it runs the body. For graphs that must not be
  // launched before somebody else knows them: peers that exchange handles, for example.
  bool recorded_apart = false;
  // How the tree takes inputs that come at changing addresses. A body that writes the address of
  // an input into memory, where no launch shows it, needs kCopy.
  Moving moving = Moving::kPatch;
  // The only sizes to record the function for; calls of other sizes run eagerly. A size is the
  // integers among a call's inputs, in their order, or, where a call has none, the first dimension
  // of its first tensor that is not static. Empty: all sizes.
  std::vector<std::vector<int64_t>> recorded_sizes = {};
  // Do not record the function if its sizes vary. When a call brings another integer, or another
  // dimension, than the first call did, a warning says so, all recordings of the function go, and
  // its calls run eagerly from then on. Calls whose sizes are not in recorded_sizes do not count.
  bool skip_varying_sizes = false;
  // Names of the inputs for errors and warnings, in the order of the inputs; may be shorter.
  std::vector<std::string> input_names = {};
  // Look for undeclared writes and dead memory in this function's calls; see TreeOptions::check.
  bool check = false;
  // For a function that its owner alone may call: the thread that its owner calls from now, or
  // none. A call of another thread is an error, also one that a recording would serve. It outlives
  // the function. Null: all may.
  const std::atomic<std::thread::id>* owners_thread = nullptr;
  // Asked before each launch, and told after it.
  FunctionHooks hooks = {};
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_FUNCTION_OPTIONS_H_
