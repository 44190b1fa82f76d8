// The host's memory is out: what a function of graphtree.h does then.
//
//   an object of the interface's own,   TryOwn([&] { inputs.resize(count); })
//   or a vector that a call fills       false: nothing has changed, and the call is an error
//
//   the library beneath                 Within("gt_call", [&](Entry& entry) { ... })   (entry.h)
//                                       OrEnd("gt_release", [&] { ... })
//                                       the process ends, with "graphtree: out of host memory in
//                                       gt_call"
//
// Within functions of Abseil's that must not throw the C++ run time ends it, in its own words.
//
// The library has no exceptions, so that what its allocations throw would leave its locks held, and
// whoever caught it further up would hang on them later. It gets no further than here, and nothing
// of ours is undone on the way: no frame between the allocation and these functions has destructors
// that run. A thread that is cancelled or exits inside of a callback is let through, as ever.
//
// Therefore what is passed to TryOwn does one thing that allocates first and changes nothing if
// that fails. What it was about to move from is the caller's still.
//
// Threads: any. Cost: a call, where memory is found.
#ifndef GRAPHTREE_RUNTIME_C_OWN_MEMORY_H_
#define GRAPHTREE_RUNTIME_C_OWN_MEMORY_H_

#include <type_traits>

#include "absl/functional/function_ref.h"

namespace graphtree::c {

// False if the host had no memory for what `make` makes.
[[nodiscard]] bool TryOwn(absl::FunctionRef<void()> make);

// Ends the process, in words that name the call, if `act` lets an allocation's failure out.
void ActOrEnd(const char* call, absl::FunctionRef<void()> act);

template <typename Act>
auto OrEnd(const char* call, const Act& act) {
  std::invoke_result_t<const Act&> result{};
  ActOrEnd(call, [&] { result = act(); });
  return result;
}

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_OWN_MEMORY_H_
