// The kinds of handles, and how each is called in errors.
#ifndef GRAPHTREE_RUNTIME_C_KINDS_H_
#define GRAPHTREE_RUNTIME_C_KINDS_H_

#include "runtime/c/handle_table.h"

namespace graphtree::c {

enum KindNumber : Kind {
  kError = 1,
  kText,
  kDevice,
  kStream,
  kEvent,
  kMemory,
  kKernel,
  kLayout,
  kStorage,
  kTree,
  kFunction,
  kLauncher,
  kWorkspace,
  kGenerator,
  kBudget,
  kObserver,
  kRuntime,
  kProgram,
  kStep,
  kDependency,
  kPlan,
  kLoan,
  kAhead,
  kPool,
  kGraph,
  kExecutable,
  kSharedBytes,
  kProfile,
};

// "device", ...; "thing" for what is no kind.
constexpr const char* KindName(Kind kind) {
  constexpr const char* kNames[] = {
      "thing",   "error",   "text",     "device",   "stream",    "event",      "memory", "kernel",
      "layout",  "storage", "tree",     "function", "launcher",  "workspace",  "generator",
      "budget",  "observer", "runtime", "program",  "step",      "dependency", "plan",   "loan",
      "ahead",   "pool",    "graph",    "executable",
      "count of shared bytes", "profile"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kProfile + 1);
  return kNames[kind <= kProfile ? kind : 0];
}

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_KINDS_H_
