// What it costs to record all shapes of a server ahead or while it serves, and how well that is
// told before.
//
//   seconds   51 full and 51 segmented shapes of a model of 48 layers, by a plan; beside an eager
//             run, capture, instantiation and launch of the same kernels by bare calls
//   bytes     of the device for each of their executables, beside bare ones. This and the error
//             mean something only in a process that has destroyed no executable yet: a driver keeps
//             what it has left, so name the row
//   error     of the estimate after the first three full shapes; beside two formulas of today on
//             the same graphs: pool + first + (n - 1) x max(second, 1 MiB) from the two largest, by
//             the free bytes; and 2 MiB for each row of the largest shape
//   progress  the time of a step while another thread records 51 shapes in another lane; beside
//             bare calls on that thread, and beside nothing
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "runtime/progress.h"
#include "runtime/recording_plan.h"
#include "tests/bare/plan_world.h"
#include "tools/benching/row.h"
#include "tools/benching/statistics.h"

namespace graphtree {
namespace {

using bench::Measurement;
using bench::Median;
using bench::NowNs;
using bench::Outcome;
using bench::Percentile;
using bench::RegisterRow;
using bench::Skipped;

constexpr double kMiB = 1 << 20;

PlanWorldOptions Engine(std::vector<Mode> modes) {
  PlanWorldOptions options;
  options.tokens = EngineSizes();
  options.modes = std::move(modes);
  if (!bench::Smoke()) return options;
  options.layers = 2;
  options.tokens = {1, 2, 4, 8, 16};
  return options;
}

struct PlanFigures {
  double seconds = 0;
  double bare_seconds = 0;
};

absl::StatusOr<PlanFigures> MeasurePlan(const char* device, std::vector<Mode> modes) {
  const PlanWorldOptions options = Engine(std::move(modes));
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<PlanWorld> world,
                             PlanWorld::Make(device, options));
  std::vector<double> ours, bare;
  PlanFigures figures;
  for (int round = 0; round < (bench::Smoke() ? 1 : 3); ++round) {
    GRAPHTREE_RETURN_IF_ERROR(world->OpenRuntime());
    GRAPHTREE_ASSIGN_OR_RETURN(const RecordingPlan plan, world->runtime().Plan({}, 0));
    double start = NowNs();
    GRAPHTREE_ASSIGN_OR_RETURN(const PlanResult made,
                               world->runtime().RecordPlan(plan, world->on().stream()));
    GRAPHTREE_RETURN_IF_ERROR(world->on().stream().Synchronize());
    ours.push_back((NowNs() - start) / 1e9);
    if (made.recorded != options.modes.size() * options.tokens.size()) {
      return absl::InternalError(absl::StrCat(made.recorded, " shapes recorded: ",
                                              made.first_failure.ToString()));
    }
    world->CloseRuntime();
    start = NowNs();
    for (const Mode mode : options.modes) {
      for (auto tokens = options.tokens.rbegin(); tokens != options.tokens.rend(); ++tokens) {
        GRAPHTREE_RETURN_IF_ERROR(world->MeetBare(*tokens, mode));
      }
    }
    GRAPHTREE_RETURN_IF_ERROR(world->DrainBare());
    bare.push_back((NowNs() - start) / 1e9);
    world->ForgetBare();
  }
  figures.seconds = Median(ours);
  figures.bare_seconds = Median(bare);
  return figures;
}

absl::StatusOr<PlanFigures> MeasureBoth(const char* device) {
  return MeasurePlan(device, {Mode::kFull, Mode::kSegmented});
}
absl::StatusOr<PlanFigures> MeasureFull(const char* device) {
  return MeasurePlan(device, {Mode::kFull});
}
absl::StatusOr<PlanFigures> MeasureSegmented(const char* device) {
  return MeasurePlan(device, {Mode::kSegmented});
}

// What `work` takes from the device.
absl::StatusOr<double> TakenBy(PlanWorld& world, const std::function<absl::Status()>& work) {
  GRAPHTREE_ASSIGN_OR_RETURN(const uint64_t before, world.FreeBytes());
  GRAPHTREE_RETURN_IF_ERROR(work());
  GRAPHTREE_RETURN_IF_ERROR(world.DrainBare());
  GRAPHTREE_ASSIGN_OR_RETURN(const uint64_t after, world.FreeBytes());
  return static_cast<double>(std::max(before, after) - after);
}

struct BytesFigures {  // for each graph
  double ours = 0;
  double bare = 0;
};

// The bare graphs are made beside ours, which stay: what destroyed ones leave a driver gives to the
// next.
absl::StatusOr<BytesFigures> MeasureBytes(const char* device) {
  const PlanWorldOptions options = Engine({Mode::kFull, Mode::kSegmented});
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<PlanWorld> world,
                             PlanWorld::Make(device, options));
  GRAPHTREE_ASSIGN_OR_RETURN(const RecordingPlan plan, world->runtime().Plan({}, 0));
  GRAPHTREE_ASSIGN_OR_RETURN(const PlanResult made,
                             world->runtime().RecordPlan(plan, world->on().stream()));
  const uint64_t graphs = world->runtime().tree()->stats().executables;
  GRAPHTREE_ASSIGN_OR_RETURN(const double bare, TakenBy(*world, [&]() -> absl::Status {
    for (const Mode mode : options.modes) {
      for (const int32_t tokens : options.tokens) {
        GRAPHTREE_RETURN_IF_ERROR(world->MeetBare(tokens, mode));
      }
    }
    return absl::OkStatus();
  }));
  return BytesFigures{.ours = static_cast<double>(made.device_bytes - made.pool_bytes) /
                              static_cast<double>(graphs),
                      .bare = bare / static_cast<double>(world->bare_graphs())};
}

struct ErrorFigures {  // in percent of what the device gave
  double ours = 0;
  double two_samples = 0;
  double constants = 0;
};

// What the largest shape takes, and then the next, by bare calls beside what is recorded: the pool
// is there already.
absl::StatusOr<std::pair<double, double>> TwoSamples(PlanWorld& world,
                                                     const PlanWorldOptions& options) {
  double bytes[2] = {};
  for (size_t i = 0; i < 2; ++i) {
    const int32_t tokens = options.tokens[options.tokens.size() - 1 - i];
    GRAPHTREE_ASSIGN_OR_RETURN(
        bytes[i], TakenBy(world, [&] { return world.MeetBare(tokens, Mode::kFull); }));
  }
  return std::pair(bytes[0], bytes[1]);
}

absl::StatusOr<ErrorFigures> MeasureErrors(const char* device) {
  const PlanWorldOptions options = Engine({Mode::kFull});
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<PlanWorld> world,
                             PlanWorld::Make(device, options));
  GRAPHTREE_ASSIGN_OR_RETURN(const RecordingPlan plan, world->runtime().Plan({}, 0));
  GRAPHTREE_ASSIGN_OR_RETURN(const PlanResult made,
                             world->runtime().RecordPlan(plan, world->on().stream()));
  const auto truth = static_cast<double>(made.device_bytes);
  GRAPHTREE_ASSIGN_OR_RETURN(const auto samples, TwoSamples(*world, options));
  const auto count = static_cast<double>(options.tokens.size());
  const double two = static_cast<double>(made.pool_bytes) + samples.first +
                     (count - 1) * std::max(samples.second, kMiB);
  const double constants = 2 * kMiB * options.tokens.back();
  const auto percent = [truth](double told) { return 100 * std::abs(told - truth) / truth; };
  return ErrorFigures{.ours = 100 * made.error,
                      .two_samples = percent(two),
                      .constants = percent(constants)};
}

struct StepFigures {
  double p50 = 0;
  double p999 = 0;
};
struct ProgressFigures {
  StepFigures ours, beside_bare, beside_nothing;
};

// Steps until `other` is over, on its own thread, at least a few.
absl::StatusOr<StepFigures> StepsBeside(PlanWorld& world,
                                        const std::function<absl::Status()>& other) {
  std::atomic<bool> is_over{false};
  absl::Status status;
  std::thread thread([&] {
    status = other();
    is_over = true;
  });
  std::vector<double> took;
  absl::Status stepped;
  while (stepped.ok() && (!is_over || took.size() < 64)) {
    const double start = NowNs();
    stepped = world.Step(world.program(), 1, world.on().stream());
    took.push_back(NowNs() - start);
    if (took.size() % 16 == 0) stepped.Update(world.on().stream().Synchronize());
  }
  thread.join();
  GRAPHTREE_RETURN_IF_ERROR(status);
  GRAPHTREE_RETURN_IF_ERROR(stepped);
  return StepFigures{.p50 = Median(took), .p999 = Percentile(took, 0.999)};
}

absl::Status RecordByProgress(PlanWorld& world, ProgramId program, Stream& stream,
                              size_t shapes) {
  ProgressReport report;
  while (!report.is_done) {
    const ProgressOptions options = {.budget_ns = 1000000, .lanes = {1}};
    GRAPHTREE_ASSIGN_OR_RETURN(report, world.runtime().Progress(stream, options));
    GRAPHTREE_RETURN_IF_ERROR(stream.Synchronize());
  }
  if (report.readiness.ready == shapes) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("program ", program.index, ": ",
                                          report.readiness.ToString()));
}

absl::StatusOr<ProgressFigures> MeasureProgress(const char* device) {
  const PlanWorldOptions options = Engine({Mode::kFull});
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<PlanWorld> world,
                             PlanWorld::Make(device, options));
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> side, world->on().device().NewStream());
  std::vector<double> figures[6];
  for (int round = 0; round < (bench::Smoke() ? 1 : 5); ++round) {
    GRAPHTREE_RETURN_IF_ERROR(world->OpenRuntime());
    GRAPHTREE_ASSIGN_OR_RETURN(const ProgramId other, world->AddProgram("other", 1));
    GRAPHTREE_ASSIGN_OR_RETURN(
        const RecordingPlan plan,
        world->runtime().Plan({{world->program(), {.tokens = options.tokens[0]}}}, 0));
    GRAPHTREE_RETURN_IF_ERROR(world->runtime().RecordPlan(plan, world->on().stream()).status());
    const std::function<absl::Status()> sides[] = {
        [&] { return RecordByProgress(*world, other, *side, options.tokens.size()); },
        [&] {
          for (const int32_t tokens : options.tokens) {
            GRAPHTREE_RETURN_IF_ERROR(world->MeetBare(tokens, Mode::kFull));
            GRAPHTREE_RETURN_IF_ERROR(world->DrainBare());
          }
          return absl::OkStatus();
        },
        [&] {
          const double end = NowNs() + (bench::Smoke() ? 2e7 : 4e8);
          while (NowNs() < end) std::this_thread::yield();
          return absl::OkStatus();
        }};
    for (size_t i = 0; i < 3; ++i) {
      GRAPHTREE_ASSIGN_OR_RETURN(const StepFigures one, StepsBeside(*world, sides[i]));
      figures[2 * i].push_back(one.p50);
      figures[2 * i + 1].push_back(one.p999);
    }
    world->ForgetBare();
  }
  const auto median = [&figures](size_t i) {
    return StepFigures{.p50 = Median(figures[2 * i]), .p999 = Median(figures[2 * i + 1])};
  };
  return ProgressFigures{
      .ours = median(0), .beside_bare = median(1), .beside_nothing = median(2)};
}

// Several rows tell what was measured once.
template <typename Figures>
Outcome Told(absl::StatusOr<Figures> (*measure)(const char*), const char* device,
             Measurement (*row)(const Figures&)) {
  using Measured = std::pair<absl::StatusOr<Figures> (*)(const char*), std::string>;
  static auto* const known = new std::map<Measured, absl::StatusOr<Figures>>();
  const Measured key = {measure, device};
  const auto found = known->find(key);
  const absl::StatusOr<Figures>& figures =
      found != known->end() ? found->second : known->emplace(key, measure(device)).first->second;
  if (figures.ok()) return row(*figures);
  if (std::string(device) == "cuda") return Skipped(std::string(figures.status().message()));
  return figures.status();
}

void RegisterSeconds(const char* device, const char* name, const char* ours, const char* goal,
                     absl::StatusOr<PlanFigures> (*measure)(const char*)) {
  RegisterRow({.name = absl::StrCat("runtime.plan.", device, ".", name),
               .ours = ours,
               .against = "met by bare calls",
               .unit = "s",
               .goal = goal},
              [device, measure] {
                return Told<PlanFigures>(measure, device, [](const PlanFigures& all) {
                  return Measurement{.ours = all.seconds, .baseline = all.bare_seconds};
                });
              });
}

void RegisterPlanRows(const char* device, bool has_goals) {
  const char* const goal = has_goals ? "ratio <= 1.2" : "";
  RegisterSeconds(device, "seconds", "102 shapes of 48 layers recorded by a plan", goal,
                  MeasureBoth);
  RegisterSeconds(device, "seconds_full", "51 full ones of them", "", MeasureFull);
  RegisterSeconds(device, "seconds_segmented", "51 segmented ones of them", "", MeasureSegmented);
  RegisterRow({.name = absl::StrCat("runtime.plan.", device, ".bytes_a_graph"),
               .ours = "of the device for each of their executables",
               .against = "of bare ones",
               .unit = "B"},
              [device] {
                return Told<BytesFigures>(MeasureBytes, device, [](const BytesFigures& all) {
                  return Measurement{.ours = all.ours, .baseline = all.bare};
                });
              });
  RegisterRow({.name = absl::StrCat("runtime.plan.", device, ".error_percent.two_samples"),
               .ours = "how far off the estimate of 51 shapes was",
               .against = "first + (n - 1) x max(second, 1 MiB)",
               .unit = "",
               .goal = "value <= 10"},
              [device] {
                return Told<ErrorFigures>(MeasureErrors, device, [](const ErrorFigures& all) {
                  return Measurement{.ours = all.ours, .baseline = all.two_samples};
                });
              });
  RegisterRow({.name = absl::StrCat("runtime.plan.", device, ".error_percent.constants"),
               .ours = "how far off the estimate of 51 shapes was",
               .against = "2 MiB for each row of the largest",
               .unit = "",
               .goal = "value <= 10"},
              [device] {
                return Told<ErrorFigures>(MeasureErrors, device, [](const ErrorFigures& all) {
                  return Measurement{.ours = all.ours, .baseline = all.constants};
                });
              });
}

void RegisterProgressRow(const char* device, const char* figure, const char* beside,
                         const char* goal, Measurement (*row)(const ProgressFigures&)) {
  RegisterRow({.name = absl::StrCat("runtime.progress.", device, ".", figure, ".", beside),
               .ours = absl::StrCat(figure, " of a step while 51 shapes are recorded"),
               .against = absl::StrCat("beside ", beside),
               .goal = goal},
              [device, row] { return Told<ProgressFigures>(MeasureProgress, device, row); });
}

bool RegisterAll() {
  for (const char* device : {"host", "cuda"}) {
    const bool has_goals = std::string(device) == "cuda";
    RegisterPlanRows(device, has_goals);
    RegisterProgressRow(device, "p50", "bare_recording", has_goals ? "ratio <= 1.1" : "",
                        [](const ProgressFigures& all) {
                          return Measurement{.ours = all.ours.p50,
                                             .baseline = all.beside_bare.p50};
                        });
    RegisterProgressRow(device, "p999", "bare_recording", has_goals ? "ratio <= 1.1" : "",
                        [](const ProgressFigures& all) {
                          return Measurement{.ours = all.ours.p999,
                                             .baseline = all.beside_bare.p999};
                        });
    RegisterProgressRow(device, "p50", "nothing", "", [](const ProgressFigures& all) {
      return Measurement{.ours = all.ours.p50, .baseline = all.beside_nothing.p50};
    });
    RegisterProgressRow(device, "p999", "nothing", "", [](const ProgressFigures& all) {
      return Measurement{.ours = all.ours.p999, .baseline = all.beside_nothing.p999};
    });
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
