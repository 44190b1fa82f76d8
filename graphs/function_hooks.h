// Hooks of one function: its caller is asked before each launch, and told after it.
//
//   FunctionOptions options;
//   options.hooks.before_launch = [](const LaunchInfo& launch) { return Admit(launch.function); };
//
// A launch is one op in runs of the body (warm-up, eager, capture, part), and one graph in a replay
// and at the end of a recording. An error of before_launch stops the launch, and so does what it
// throws: the call fails with that error, everything is taken back as after any failed call, and
// the tree goes on. What after_launch throws is counted (TreeStats::thrown) and changes nothing.
//
// Hooks run on the thread of the call. They must not call the tree: that is an error, and changes
// nothing about the call that runs. A function without hooks pays one branch for each launch.
#ifndef GRAPHTREE_GRAPHS_FUNCTION_HOOKS_H_
#define GRAPHTREE_GRAPHS_FUNCTION_HOOKS_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "device/observer_events.h"

namespace graphtree {

// Valid during the hook's call.
struct LaunchInfo {
  absl::string_view function;
  RunKind run = RunKind::kEager;
  uint64_t tree = 0;                     // Observers::tree
  uint64_t recording = kNoRecording;     // of a graph, and of ops that are captured
  uint64_t section = 0;                  // likewise
  const OpIdentity* op = nullptr;        // of an op; null for a graph
  const GraphIdentity* graph = nullptr;  // of a graph; null for an op
  Stream* stream = nullptr;
};

struct FunctionHooks {
  std::function<absl::Status(const LaunchInfo&)> before_launch = nullptr;
  // `launched` says whether the launch went well. Not called where before_launch has stopped it.
  std::function<void(const LaunchInfo&, const absl::Status& launched)> after_launch = nullptr;

  bool any() const { return before_launch != nullptr || after_launch != nullptr; }
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_FUNCTION_HOOKS_H_
