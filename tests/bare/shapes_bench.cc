// What it costs that a function comes in many shapes: the first time of each, and the return of one
// whose executable was evicted. On every device that is there.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "tests/bare/shapes_world.h"
#include "tools/benching/row.h"

namespace graphtree {
namespace {

using bench::ComparePair;
using bench::Measurement;
using bench::Outcome;
using bench::RegisterRow;
using bench::Skipped;

constexpr uint32_t kShapes = 32;

// Ours: a fresh tree; each shape is warmed up, recorded and launched. Both sides wait for the end.
Outcome ColdStart(const char* device) {
  absl::StatusOr<std::unique_ptr<ShapesWorld>> world = ShapesWorld::Make(device, kShapes, 96);
  if (!world.ok()) return Skipped(std::string(world.status().message()));
  ShapesWorld& w = **world;
  absl::Status status;
  const auto ours = [&] {
    status.Update(w.OpenTree({}));
    for (uint32_t shape = 0; shape < kShapes && status.ok(); ++shape) {
      status.Update(w.Call(shape));
      status.Update(w.Call(shape));
    }
    status.Update(w.Drain());
    if (status.ok() && w.stats().recordings != kShapes) {
      status = absl::InternalError(absl::StrCat(w.stats().recordings, " recordings"));
    }
  };
  const auto bare = [&] {
    for (uint32_t shape = 0; shape < kShapes && status.ok(); ++shape) {
      status.Update(w.MeetBare(shape));
    }
    status.Update(w.Drain());
  };
  bench::TimingOptions options;
  options.most_calls = 1;
  options.batches = 15;
  options.between = [&] {
    status.Update(w.Drain());
    w.Forget();
  };
  const Measurement pair = ComparePair(ours, bare, options);
  if (!status.ok()) return status;
  return pair;
}

// Two shapes in turn with room for one executable: each call evicts the other's, instantiates and
// launches. Bare: destroy, instantiate, launch.
Outcome BackFromEviction(const char* device) {
  absl::StatusOr<std::unique_ptr<ShapesWorld>> world = ShapesWorld::Make(device, 2, 100);
  if (!world.ok()) return Skipped(std::string(world.status().message()));
  ShapesWorld& w = **world;
  TreeBudget budget;
  budget.executables = 1;
  GRAPHTREE_RETURN_IF_ERROR(w.OpenTree(budget));
  for (uint32_t call = 0; call < 8; ++call) GRAPHTREE_RETURN_IF_ERROR(w.Call(call % 2));
  for (uint32_t shape = 0; shape < 2; ++shape) GRAPHTREE_RETURN_IF_ERROR(w.MeetBare(shape));
  GRAPHTREE_RETURN_IF_ERROR(w.BackBare(0));
  GRAPHTREE_RETURN_IF_ERROR(w.BackBare(1));
  absl::Status status;
  uint32_t ours_turn = 0, bare_turn = 0;
  bench::TimingOptions options;
  options.most_calls = 1;
  options.batches = 301;
  options.between = [&] { status.Update(w.Drain()); };
  const uint64_t back_before = w.stats().instantiated_again;
  const uint64_t recordings = w.stats().recordings;
  const Measurement pair = ComparePair([&] { status.Update(w.Call(ours_turn++ % 2)); },
                                       [&] { status.Update(w.BackBare(bare_turn++ % 2)); },
                                       options);
  if (!status.ok()) return status;
  if (w.stats().instantiated_again - back_before != ours_turn ||
      w.stats().recordings != recordings) {
    return absl::InternalError(absl::StrCat(ours_turn, " calls brought back ",
                                            w.stats().instantiated_again - back_before,
                                            " executables and recorded ",
                                            w.stats().recordings - recordings, " times"));
  }
  return pair;
}

bool RegisterAll() {
  for (const char* device : {"host", "cuda"}) {
    RegisterRow({.name = absl::StrCat("tree.", device, ".cold_start.32x96"),
                 .ours = "32 shapes of 96 kernels through a fresh tree: warm up, record, launch",
                 .against = "an eager run, capture, instantiate and launch of each",
                 .goal = "ratio <= 1.2"},
                [device] { return ColdStart(device); });
    RegisterRow({.name = absl::StrCat("tree.", device, ".back_from_eviction.100"),
                 .ours = "a call whose executable of 100 kernels was evicted",
                 .against = "destroy another, instantiate, launch",
                 // The host device instantiates in a fraction of what CUDA takes.
                 .goal = device == std::string("host") ? "difference <= 5 us" : "ratio <= 1.05"},
                [device] { return BackFromEviction(device); });
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
