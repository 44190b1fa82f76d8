// What a whole step costs: choosing, staging, preparing, launching; beside a bare launch of the
// main graph alone, and beside the way of today's engines.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/bare/step_bench_world.h"
#include "tools/benching/row.h"

namespace graphtree {
namespace {

using bench::ComparePair;
using bench::Measurement;
using bench::Outcome;
using bench::RegisterRow;
using bench::Skipped;

enum class Against { kBare, kSeparate };

Outcome Steps(const char* device, const StepShape& shape, Against against) {
  absl::StatusOr<std::unique_ptr<StepBenchWorld>> world = StepBenchWorld::Make(device, shape);
  if (!world.ok()) return Skipped(std::string(world.status().message()));
  StepBenchWorld& w = **world;
  absl::Status status;
  bench::TimingOptions options;
  // A server's host is a step ahead of the device, not a whole ring of blocks.
  options.most_calls = 12;
  options.batches = 301;
  options.between = [&w] { w.Drain(); };
  const uint64_t replays = w.replays();
  const Measurement pair = ComparePair(
      [&] { status.Update(w.Step()); },
      [&] { against == Against::kBare ? w.BareStep() : w.SeparateStep(); }, options);
  if (!status.ok()) return status;
  if (absl::Status bare = w.bare_status(); !bare.ok()) return bare;
  if (w.replays() == replays) return absl::InternalError("nothing was replayed");
  return pair;
}

// Both sides are steps of ours: with so many dependencies, and without any.
Outcome Dependencies(const char* device, uint32_t count) {
  StepShape shape;
  absl::StatusOr<std::unique_ptr<StepBenchWorld>> none = StepBenchWorld::Make(device, shape);
  if (!none.ok()) return Skipped(std::string(none.status().message()));
  shape.dependencies = count;
  absl::StatusOr<std::unique_ptr<StepBenchWorld>> some = StepBenchWorld::Make(device, shape);
  if (!some.ok()) return some.status();
  absl::Status status;
  bench::TimingOptions options;
  options.most_calls = 24;
  options.batches = 1001;
  options.between = [&] { (*none)->Drain(), (*some)->Drain(); };
  const Measurement pair = ComparePair([&] { status.Update((*some)->Step()); },
                                       [&] { status.Update((*none)->Step()); }, options);
  if (!status.ok()) return status;
  return pair;
}

bool RegisterAll() {
  for (const char* device : {"host", "cuda"}) {
    const bool is_cuda = std::string(device) == "cuda";
    for (uint32_t bytes : {256, 4096, 32768}) {
      for (bool is_padded : {false, true}) {
        const StepShape shape = {.bytes = bytes, .is_padded = is_padded};
        const std::string name = absl::StrCat(device, ".", bytes, is_padded ? ".padded" : "");
        RegisterRow({.name = absl::StrCat("runtime.step.", name),
                     .ours = absl::StrCat("a step of 8 slots, ", bytes, " B, 6 preparing kernels"),
                     .against = "a bare launch of the main graph",
                     .goal = bytes > 4096 ? "difference <= 3000 ns" : "difference <= 1500 ns"},
                    [=] { return Steps(device, shape, Against::kBare); });
        RegisterRow({.name = absl::StrCat("runtime.step.", name, ".beside_theirs"),
                     .ours = "the same",
                     .against = "8 copies, fills, 6 kernels and a launch",
                     .goal = is_cuda ? "ratio <= 0.2" : ""},
                    [=] { return Steps(device, shape, Against::kSeparate); });
      }
    }
    for (uint32_t count : {1, 100}) {
      RegisterRow({.name = absl::StrCat("runtime.dependencies.", device, ".", count),
                   .ours = absl::StrCat("a step with ", count, " dependencies"),
                   .against = "a step with none",
                   .goal = "difference <= 5 ns"},
                  [=] { return Dependencies(device, count); });
    }
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
