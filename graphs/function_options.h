// A function that a tree may record: its body, and what its caller promises about its inputs.
#ifndef GRAPHTREE_GRAPHS_FUNCTION_OPTIONS_H_
#define GRAPHTREE_GRAPHS_FUNCTION_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "graphs/launcher.h"
#include "graphs/moving.h"
#include "graphs/tensor.h"

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
  // Where the body writes to it the call runs eagerly, and what was written is copied back when all
  // else went well. That is an error if it shares bytes with another input and no copy of both is
  // aligned as declared, and if the body, a part of it or a call inside of it reaches its bytes by
  // another name where that makes a difference (graphs/inputs/clone_watch.h).
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

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_FUNCTION_OPTIONS_H_
