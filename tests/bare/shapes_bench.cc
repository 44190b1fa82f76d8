// What it costs that a function comes in many shapes: the first time of each. On every device that
// is there. The return of one whose executable was evicted is in share_bench.cc.
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

bool RegisterAll() {
  for (const char* device : {"host", "cuda"}) {
    RegisterRow({.name = absl::StrCat("tree.", device, ".cold_start.32x96"),
                 .ours = "32 shapes of 96 kernels through a fresh tree: warm up, record, launch",
                 .against = "an eager run, capture, instantiate and launch of each",
                 .goal = "ratio <= 1.2"},
                [device] { return ColdStart(device); });
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
