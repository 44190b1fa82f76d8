// What a whole step costs: choosing, staging, preparing, launching; beside a bare launch of the
// main graph alone, beside the way of today's engines, call by call and recorded as one graph, and
// beside the best that can be done by hand. Host time, and wall time for steps back to back.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/bare/step_bench_world.h"
#include "tools/benching/row.h"
#include "tools/benching/timing.h"

namespace graphtree {
namespace {

using bench::CompareBatches;
using bench::ComparePair;
using bench::Measurement;
using bench::Outcome;
using bench::RegisterRow;
using bench::Skipped;

enum class Against { kBare, kTheirs, kRecorded, kByHand };
enum class Time { kHost, kWall };

void Take(StepBenchWorld& world, Against against) {
  switch (against) {
    case Against::kBare:
      return world.BareStep();
    case Against::kTheirs:
      return world.TheirStep();
    case Against::kRecorded:
      return world.RecordedStep();
    case Against::kByHand:
      return world.StepByHand();
  }
}

// A server's host is a step ahead of the device, not a whole ring of blocks.
bench::TimingOptions HostTime(StepBenchWorld& world) {
  bench::TimingOptions options;
  options.most_calls = 12;
  options.batches = 301;
  options.between = [&world] { world.Drain(); };
  return options;
}

// From the first call to the end of the last one's work.
Measurement CompareWall(StepBenchWorld& world, const std::function<void()>& ours,
                        const std::function<void()>& other) {
  const auto timer = [&world](const std::function<void()>& call) {
    return [&world, &call](int64_t calls) {
      const double start = bench::NowNs();
      for (int64_t i = 0; i < calls; ++i) call();
      world.Drain();
      return bench::NowNs() - start;
    };
  };
  bench::TimingOptions options;
  options.most_calls = 200;
  options.batch_ns = 10'000'000;
  options.batches = 41;
  return CompareBatches(timer(ours), timer(other), options);
}

using World = StepBenchWorld;

Outcome Compare(const char* device, const StepShape& shape,
                const std::function<absl::Status(World&)>& ours,
                const std::function<void(World&)>& theirs, Time time) {
  absl::StatusOr<std::unique_ptr<World>> world = World::Make(device, shape);
  if (!world.ok()) return Skipped(std::string(world.status().message()));
  World& w = **world;
  absl::Status status;
  const uint64_t replays = w.replays();
  const auto our_call = [&] { status.Update(ours(w)); };
  const auto their_call = [&] { theirs(w); };
  const Measurement pair = time == Time::kWall ? CompareWall(w, our_call, their_call)
                                               : ComparePair(our_call, their_call, HostTime(w));
  if (!status.ok()) return status;
  if (absl::Status bare = w.bare_status(); !bare.ok()) return bare;
  if (w.replays() == replays) return absl::InternalError("nothing was replayed");
  return pair;
}

Outcome Steps(const char* device, const StepShape& shape, Against against, Time time) {
  return Compare(
      device, shape, [](World& world) { return world.Step(); },
      [against](World& world) { Take(world, against); }, time);
}

Outcome StepsInPlace(const char* device, const StepShape& shape) {
  return Compare(
      device, shape, [](World& world) { return world.StepInPlace(); },
      [](World& world) { world.BareStepWithRows(); }, Time::kHost);
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

// Slots of i32, all from the host, `bytes` in all.
StepShape OfBytes(size_t slots, int64_t bytes, bool is_padded) {
  StepShape shape;
  shape.slots.assign(slots, RowsFrom::kHost);
  shape.rows = bytes / static_cast<int64_t>(slots * sizeof(int32_t));
  shape.staged_rows = is_padded ? shape.rows * 3 / 4 : shape.rows;
  if (is_padded) shape.their_fills = static_cast<uint32_t>(slots);
  return shape;
}

int64_t PaddedTo(int64_t rows) { return rows == 1 ? 2 : rows == 13 ? 16 : rows + 16; }

// What one engine does before a decode step: 2 copies from page-locked memory, 2 fills of a mask,
// one of zeros, an arange and 4 kernels. Here all but the kernels are slots.
StepShape OfTableA(int64_t rows, bool is_padded) {
  StepShape shape;
  shape.slots = {RowsFrom::kHost, RowsFrom::kHost, RowsFrom::kValue, RowsFrom::kValue};
  shape.staged_rows = rows;
  shape.rows = is_padded ? PaddedTo(rows) : rows;
  shape.preparations = 5;
  shape.their_fills = 3;
  return shape;
}

// What another one does: one kernel that copies 5 fields from device memory, 5 fills of what is
// padded, a copy from page-locked memory and 3 kernels of an attention backend.
StepShape OfTableB(int64_t rows, bool is_padded) {
  StepShape shape;
  shape.slots.assign(5, RowsFrom::kDevice);
  shape.slots.push_back(RowsFrom::kHost);
  shape.staged_rows = rows;
  shape.rows = is_padded ? PaddedTo(rows) : rows;
  shape.preparations = 3;
  shape.their_fills = is_padded ? 5 : 0;
  shape.their_kernels = 1;
  return shape;
}

struct Rows {
  const char* device;
  std::string name;  // after "runtime.step."
  std::string ours;
  std::string theirs;
  StepShape shape;
  std::string goal;            // against a bare launch
  std::string recorded = "";  // their way as one graph; empty: not compared with
};

// One shape against everything.
void RegisterSteps(const Rows& rows) {
  const bool is_cuda = std::string(rows.device) == "cuda";
  const auto add = [&](const char* kind, const char* against_text, const std::string& goal,
                       Against against, Time time) {
    RegisterRow({.name = absl::StrCat("runtime.step.", rows.name, kind),
                 .ours = rows.ours,
                 .against = against_text,
                 .goal = goal},
                [device = rows.device, shape = rows.shape, against, time] {
                  return Steps(device, shape, against, time);
                });
  };
  add("", "a bare launch of the main graph", rows.goal, Against::kBare, Time::kHost);
  add(".beside_theirs", rows.theirs.c_str(), is_cuda ? "ratio <= 0.2" : "", Against::kTheirs,
      Time::kHost);
  add(".by_hand", "the same kernels as one graph, made by hand", "", Against::kByHand,
      Time::kHost);
  add(".wall", "the same kernels as one graph, made by hand, back to back",
      is_cuda ? "ratio <= 1.05" : "", Against::kByHand, Time::kWall);
  if (rows.recorded.empty()) return;
  add(".recorded", rows.recorded.c_str(), "", Against::kRecorded, Time::kHost);
  add(".recorded_wall", rows.recorded.c_str(), "", Against::kRecorded, Time::kWall);
}

void RegisterStepsOfBytes(const char* device, int64_t bytes, bool is_padded) {
  const std::string name = absl::StrCat(device, ".", bytes, is_padded ? ".padded" : "");
  const std::string goal = bytes > 4096 ? "difference <= 3000 ns" : "difference <= 1500 ns";
  const StepShape shape = OfBytes(8, bytes, is_padded);
  const std::string ours = absl::StrCat("a step of 8 slots, ", bytes, " B, 6 preparing kernels");
  const std::string theirs =
      absl::StrCat("8 copies, ", is_padded ? "8 fills, " : "", "6 kernels and a launch");
  RegisterSteps({device, name, ours, theirs, shape, goal});
  if (is_padded) return;
  RegisterRow({.name = absl::StrCat("runtime.step.", name, ".in_place"),
               .ours = "the same, and its rows are made in the slots' buffers",
               .against = "a bare launch, and the same rows are made elsewhere",
               .goal = goal},
              [=] { return StepsInPlace(device, shape); });
}

void RegisterStepsOfTables(const char* device, int64_t rows, bool is_padded) {
  const std::string name = absl::StrCat(device, ".", rows, is_padded ? ".padded" : "");
  const std::string step = absl::StrCat("a step of ", rows, " rows: ");
  RegisterSteps({device, absl::StrCat("a.", name),
                 absl::StrCat(step, "2 slots from the host, 2 values, 5 kernels"),
                 "2 copies, 3 fills, 5 kernels and a launch", OfTableA(rows, is_padded),
                 "difference <= 1500 ns", "their 2 copies, 3 fills and all kernels as one graph"});
  RegisterSteps({device, absl::StrCat("b.", name),
                 absl::StrCat(step, "5 slots from the device, 1 from the host, 3 kernels"),
                 "a copy, a copying kernel, fills if padded, 3 kernels and a launch",
                 OfTableB(rows, is_padded), "difference <= 1500 ns",
                 "their copies, fills and all kernels as one graph"});
}

// Staging alone: nothing is prepared, and the main graph is one kernel.
void RegisterStaging(const char* device, size_t slots, int64_t bytes) {
  StepShape shape = OfBytes(slots, bytes, /*is_padded=*/false);
  shape.preparations = 0;
  shape.kernels = 1;
  const std::string name = absl::StrCat("runtime.stage.", device, ".", slots, ".", bytes);
  const std::string ours = absl::StrCat("a step of ", slots, " slots, ", bytes, " B, one kernel");
  const bool is_cuda = std::string(device) == "cuda";
  RegisterRow({.name = name,
               .ours = ours,
               .against = "a copy for each slot, and a launch",
               .goal = is_cuda ? "ratio <= 0.5" : ""},
              [=] { return Steps(device, shape, Against::kTheirs, Time::kHost); });
  RegisterRow({.name = absl::StrCat(name, ".by_hand"),
               .ours = ours,
               .against = "one op that reads page-locked memory, its pointer patched, by hand",
               .goal = is_cuda ? "difference <= 300 ns" : ""},
              [=] { return Steps(device, shape, Against::kByHand, Time::kHost); });
}

void RegisterDependencies(const char* device, uint32_t count) {
  RegisterRow({.name = absl::StrCat("runtime.dependencies.", device, ".", count),
               .ours = absl::StrCat("a step with ", count, " dependencies"),
               .against = "a step with none",
               .goal = "difference <= 5 ns"},
              [=] { return Dependencies(device, count); });
}

[[maybe_unused]] const bool registered = [] {
  for (const char* device : {"host", "cuda"}) {
    for (const bool is_padded : {false, true}) {
      for (const int64_t bytes : {256, 4096, 32768}) RegisterStepsOfBytes(device, bytes, is_padded);
      for (const int64_t rows : {1, 13, 256}) RegisterStepsOfTables(device, rows, is_padded);
    }
    for (const size_t slots : {8, 32}) {
      for (const int64_t bytes : {256, 4096, 32768}) RegisterStaging(device, slots, bytes);
    }
    for (const uint32_t count : {1, 100}) RegisterDependencies(device, count);
  }
  return true;
}();

}  // namespace
}  // namespace graphtree
