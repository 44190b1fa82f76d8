// The functions of libgraphtree.so that the adaptor calls, found by name in the library that the
// Python package has loaded. What is compiled here links nothing of it, so one compiled file serves
// every place where the package lies.
//
//   Python: ctypes.CDLL(path) --path--> Load --dlopen, dlsym--> Gt().gt_call(...)
//
// Threads: Load once, under Python's lock; reading, any. Cost of a call: one more load.
#ifndef GRAPHTREE_RUNTIME_TORCH_LIBRARY_H_
#define GRAPHTREE_RUNTIME_TORCH_LIBRARY_H_

#include <string>

#include "runtime/c/graphtree.h"

#define GRAPHTREE_TORCH_FUNCTIONS(X)                                                         \
  X(gt_release) X(gt_error_look) X(gt_error_new) X(gt_layout_new) X(gt_value_copy)           \
  X(gt_stream_adopt) X(gt_tree_register) X(gt_tree_begin_step) X(gt_tree_last_call)          \
  X(gt_tree_trim) X(gt_call) X(gt_would_replay) X(gt_generator_new) X(gt_generator_seed)     \
  X(gt_generator_look) X(gt_launcher_any_input) X(gt_launcher_drop_input)                    \
  X(gt_launcher_output) X(gt_launcher_empty) X(gt_launcher_random) X(gt_launcher_reads)      \
  X(gt_launcher_writes) X(gt_launcher_used_on) X(gt_launcher_native_stream) X(gt_value_check)

namespace graphtree::torch_adaptor {

struct Library {
#define GRAPHTREE_TORCH_MEMBER(name) decltype(&::name) name = nullptr;
  GRAPHTREE_TORCH_FUNCTIONS(GRAPHTREE_TORCH_MEMBER)
#undef GRAPHTREE_TORCH_MEMBER
};

// REQUIRES: Load went well.
const Library& Gt();
// Empty, or what went wrong.
std::string Load(const char* path);

// Raises what the error says, as torch.OutOfMemoryError where memory is out, and releases it.
void Check(gt_error error);
// The same for errors that a launcher gave, which are the launcher's.
void CheckLauncher(gt_error error);
// Where a failure changes nothing for whoever asks.
void Ignore(gt_error error);

}  // namespace graphtree::torch_adaptor

#endif  // GRAPHTREE_RUNTIME_TORCH_LIBRARY_H_
