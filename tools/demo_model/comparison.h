// The demo: one day of requests decoded twice on one device, eagerly and then through a tree, and
// the tokens of every step compared.
//
//   eager   |step|step|step| ...        every kernel launched one by one
//   tree    |step|step|step| ...        one launch for each function, once it is recorded
//            =    =    =                equal tokens, or the first step where they differ
//
// Figures are taken over the steps that the tree replayed, the same for both ways; what warming
// up and recording cost is a figure of its own.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_COMPARISON_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_COMPARISON_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "device/device.h"
#include "graphs/tree.h"
#include "tools/demo_model/decode_loop.h"
#include "tools/demo_model/executor.h"

namespace graphtree::demo {

struct DemoOptions {
  int steps = 200;      // about; the day ends with its last request
  int most_rows = 8;
  uint64_t seed = 1;    // of the requests and of what is drawn
  bool sampled = true;  // some requests draw their tokens
  // Which way is running, and the steps that it has done.
  std::function<void(const std::string& way, int step)> progress = [](const std::string&, int) {};
  // Called while the tree is still open, behind the last step.
  std::function<absl::Status(Tree& tree)> at_the_end = [](Tree&) { return absl::OkStatus(); };
};

struct Comparison {
  DeviceInfo device;
  int requests = 0;
  uint64_t model_bytes = 0;  // weights and caches
  Day eager;
  Day tree;
  std::optional<size_t> first_difference;  // the first step whose tokens differ
  std::array<uint64_t, kModelFunctions> kernels = {};  // that one call of a function launches
  TreeStats stats;
  Outline outline;
};

// One way's figures, over the steps that the tree replayed.
struct Figures {
  double launches = 0;  // of a step; medians
  double host_ns = 0;
  double tokens_per_second = 0;
};

struct Summary {
  Figures eager;
  Figures tree;
  size_t replayed_steps = 0;
  double other_host_ns = 0;  // of all steps that warmed up or recorded, together
  double host_ratio() const { return tree.host_ns > 0 ? eager.host_ns / tree.host_ns : 0; }
};

// The first step whose tokens differ, or that only one of the days has.
std::optional<size_t> FirstDifference(const Day& a, const Day& b);

absl::StatusOr<Comparison> Compare(Device& device, const DemoOptions& options);
Summary Summarise(const Comparison& comparison);

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_COMPARISON_H_
