// Serves a day of requests three ways on one device and shows what came out.
#include "tools/verbs/demo.h"

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "allocator/snapshot/write.h"
#include "device/base/status_macros.h"
#include "device/device.h"
#include "device/open.h"
#include "graphs/reports/outline.h"
#include "graphs/reports/tree_snapshot.h"
#include "graphs/tree.h"
#include "profiler/profile_file.h"
#include "profiler/profile_options.h"
#include "runtime/door/socket_file.h"
#include "runtime/runtime.h"
#include "runtime/runtime_options.h"
#include "runtime/serving.h"
#include "tools/cli/arguments.h"
#include "tools/cli/input_file.h"
#include "tools/cli/output_file.h"
#include "tools/cli/progress.h"
#include "tools/cli/registry.h"
#include "tools/demo_model/comparison.h"
#include "tools/demo_model/kernels/dims.h"
#include "tools/demo_model/ladder.h"
#include "tools/demo_model/report.h"
#include "tools/demo_model/trace.h"
#include "tools/verbs/cuda_environment.h"
#include "tools/verbs/demo_profile.h"
#include "tools/verbs/demo_serve.h"
#include "tools/verbs/demo_settings.h"

namespace graphtree {
namespace {

constexpr int64_t kSteps = 300;

// The first GPU where there is one.
std::string DeviceOption(const cli::Arguments& arguments) {
  if (arguments.Has("--device")) return arguments.Text("--device");
  for (const DeviceListing& device : ListDevices(CudaOptionsOfEnvironment())) {
    if (device.status.ok() && device.name != "host") return device.name;
  }
  return "host";
}

constexpr const char* kFileOptions[] = {"--json", "--tree", "--snapshot", "--save-trace",
                                        "--profile"};

// One would be written over the other.
absl::Status FilesDiffer(const cli::Arguments& arguments) {
  for (const char* one : kFileOptions) {
    for (const char* other : kFileOptions) {
      if (one == other || !arguments.Has(one) || !arguments.Has(other)) continue;
      const std::string path = arguments.Text(one);
      if (path != arguments.Text(other)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(one, " and ", other, " cannot both go to ",
                       path == "-" ? std::string("the console") : path));
    }
  }
  return absl::OkStatus();
}

// Told before the day is run, not behind it.
absl::Status FilesMayBeWritten(const cli::Arguments& arguments) {
  for (const char* option : kFileOptions) {
    if (!arguments.Has(option)) continue;
    GRAPHTREE_RETURN_IF_ERROR(cli::MayWrite(arguments.Text(option)));
  }
  return absl::OkStatus();
}

// The value, if it lies in [low, high].
absl::StatusOr<int> InRange(const cli::Arguments& arguments, const char* option, int64_t fallback,
                            int64_t low, int64_t high) {
  const int64_t value = arguments.Integer(option, fallback);
  if (value >= low && value <= high) return static_cast<int>(value);
  return absl::InvalidArgumentError(
      absl::StrCat(option, " ", value, " is not between ", low, " and ", high));
}

// The snapshot is written while the runtime is still open.
absl::Status SnapshotOption(const cli::Arguments& arguments, demo::DemoOptions* options) {
  if (!arguments.Has("--snapshot")) return absl::OkStatus();
  const std::string path = arguments.Text("--snapshot");
  if (!snapshot::FileKindOf(path).has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--snapshot \"", path, "\": a snapshot's file ends in .pickle, .json or .sqlite"));
  }
  options->at_the_end = [path](Tree& tree) { return WriteTreeSnapshot(tree, path); };
  return absl::OkStatus();
}

// `mode` is the environment's.
absl::StatusOr<ServingMode> ModeOption(const cli::Arguments& arguments, ServingMode mode) {
  if (arguments.Has("--mode")) {
    GRAPHTREE_ASSIGN_OR_RETURN(mode.serving, ServingFrom(arguments.Text("--mode")));
  }
  if (arguments.Has("--parity")) {
    GRAPHTREE_ASSIGN_OR_RETURN(const int every, InRange(arguments, "--parity", 0, 1, 1'000'000));
    mode.parity_every = static_cast<uint32_t>(every);
  }
  if (mode.serving == Serving::kStrict && !arguments.Has("--record-ahead")) {
    return absl::InvalidArgumentError(
        "--mode strict makes an eager step an error, and without --record-ahead the first one is "
        "eager, as nothing is recorded yet; give both");
  }
  GRAPHTREE_RETURN_IF_ERROR(CheckServing(mode));
  return mode;
}

absl::StatusOr<uint64_t> BudgetOption(const cli::Arguments& arguments,
                                      const RuntimeOptions& environment) {
  constexpr const char* kVariable = "GRAPHTREE_MOST_EXECUTABLE_BYTES";
  const bool is_set = IsFromEnvironment(environment, kVariable);
  const uint64_t budget =
      is_set ? environment.tree.budget.executable_bytes
             : static_cast<uint64_t>(arguments.Bytes("--budget", demo::kDefaultBudget));
  if (budget >= demo::RungBytes()) return budget;
  return absl::InvalidArgumentError(absl::StrCat(is_set ? kVariable : "--budget", " ", budget,
                                                 " holds no graph; one takes ",
                                                 demo::RungBytes(), " bytes"));
}

absl::StatusOr<demo::DemoOptions> OptionsFrom(const cli::Arguments& arguments,
                                              cli::ProgressLine& progress) {
  GRAPHTREE_RETURN_IF_ERROR(FilesDiffer(arguments));
  demo::DemoOptions options;
  GRAPHTREE_ASSIGN_OR_RETURN(options.most_requests,
                             InRange(arguments, "--batch", demo::kMostRequests, 1,
                                     demo::kMostRequests));
  GRAPHTREE_ASSIGN_OR_RETURN(options.base, DemoEnvironment(arguments));
  GRAPHTREE_ASSIGN_OR_RETURN(options.budget_bytes, BudgetOption(arguments, options.base));
  options.records_ahead = arguments.Has("--record-ahead");
  options.records_idle = arguments.Has("--record-idle");
  if (options.records_ahead && options.records_idle) {
    return absl::InvalidArgumentError(
        "--record-ahead records all shapes before the first request, and --record-idle between "
        "steps; give one of them");
  }
  GRAPHTREE_ASSIGN_OR_RETURN(options.serving, ModeOption(arguments, options.base.serving));
  options.door = arguments.Text("--door", options.base.door);
  GRAPHTREE_RETURN_IF_ERROR(SnapshotOption(arguments, &options));
  if (!arguments.Has("--quiet")) {
    options.progress = [&progress](const char* way, int step) {
      if (step % 20 == 0) progress.Show(absl::StrCat(way, ": ", step, " steps"));
    };
  }
  return options;
}

// Of the built-in trace; a file says everything by itself.
absl::StatusOr<std::vector<demo::Request>> BuiltInTrace(const cli::Arguments& arguments,
                                                        int most_requests) {
  constexpr int64_t kMostSteps = 1'000'000;
  for (const char* option : {"--steps", "--seed"}) {
    if (!arguments.Has("--trace") || !arguments.Has(option)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(option, " is for the built-in trace, and --trace gives another one"));
  }
  GRAPHTREE_ASSIGN_OR_RETURN(const int steps,
                             InRange(arguments, "--steps", kSteps, 1, kMostSteps));
  GRAPHTREE_ASSIGN_OR_RETURN(const int seed, InRange(arguments, "--seed", 1, 0, 1'000'000'000));
  return demo::MakeTrace(static_cast<uint64_t>(seed), steps, most_requests);
}

absl::StatusOr<std::vector<demo::Request>> TraceFromFile(const std::string& path) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::string text, cli::ReadInput("the trace", path));
  absl::StatusOr<std::vector<demo::Request>> requests = demo::ParseTrace(text);
  if (requests.ok()) return requests;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", requests.status().message()));
}

int WrongUse(const absl::Status& status, cli::Console& console) {
  console.err << "graphtree demo: " << status.message() << "\n";
  return cli::kWrongUse;
}

// --steps is about so many in each day, --seed that of the first.
int ServeDemo(const cli::Arguments& arguments, demo::DemoOptions options,
              cli::Console& console) {
  for (const char* option : kFileOptions) {
    if (!arguments.Has(option)) continue;
    return WrongUse(absl::InvalidArgumentError(absl::StrCat(
                        option, " is for a day that ends, and --serve has none; `graphtree top` "
                                "and its kin look into a server that runs")),
                    console);
  }
  if (arguments.Has("--trace")) {
    absl::StatusOr<std::vector<demo::Request>> read = TraceFromFile(arguments.Text("--trace"));
    if (!read.ok()) return cli::BadInput(console, "demo", read.status());
    options.requests = *std::move(read);
  }
  const auto steps = static_cast<int>(arguments.Integer("--steps", kSteps));
  const auto seed = static_cast<uint64_t>(arguments.Integer("--seed", 1));
  const auto requests = [&](int day) {
    const bool repeats = day == 0 || arguments.Has("--trace");
    std::vector<demo::Request> of_day =
        repeats ? options.requests
                : demo::MakeTrace(seed + static_cast<uint64_t>(day), steps, options.most_requests);
    for (demo::Request& request : of_day) {
      if (arguments.Has("--greedy")) request.temperature = 0;
    }
    return of_day;
  };
  return ServeUntilInterrupted(DeviceOption(arguments), requests, options, console);
}

// Null if none is asked for.
absl::StatusOr<std::unique_ptr<DemoProfile>> ProfileOption(const cli::Arguments& arguments) {
  if (!arguments.Has("--profile")) {
    if (!arguments.Has("--profile-mode")) return nullptr;
    return absl::InvalidArgumentError("--profile-mode says how, and --profile FILE is not there");
  }
  GRAPHTREE_RETURN_IF_ERROR(ProfileFile::CheckName(arguments.Text("--profile")));
  GRAPHTREE_ASSIGN_OR_RETURN(const ProfileMode mode,
                             ProfileModeFrom(arguments.Text("--profile-mode", "full")));
  return std::make_unique<DemoProfile>(arguments.Text("--profile"), mode);
}

absl::StatusOr<demo::Comparison> RunOn(const std::string& name, demo::DemoOptions options,
                                       DemoProfile* profile) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                             OpenDevice(name, CudaOptionsOfEnvironment()));
  if (profile != nullptr) {
    options.at_the_start = [&](Runtime& runtime) { return profile->Begin(*device, runtime); };
    options.at_the_end = [profile, then = options.at_the_end](Tree& tree) {
      absl::Status ended = profile->End();
      return ended.ok() ? then(tree) : ended;
    };
  }
  GRAPHTREE_ASSIGN_OR_RETURN(demo::Comparison comparison, demo::Compare(*device, options));
  GRAPHTREE_RETURN_IF_ERROR(device->Close());
  return comparison;
}

absl::Status WriteFiles(const cli::Arguments& arguments, const demo::Comparison& comparison,
                        cli::Console& console) {
  if (arguments.Has("--json")) {
    GRAPHTREE_RETURN_IF_ERROR(
        cli::WriteOutput(arguments.Text("--json"), demo::ReportJson(comparison), console));
  }
  if (arguments.Has("--tree")) {
    GRAPHTREE_RETURN_IF_ERROR(cli::WriteOutput(
        arguments.Text("--tree"), OutlineAsGraphviz(comparison.outline), console));
  }
  return absl::OkStatus();
}

// With the requests of a file, once it is clear that there will be a day.
absl::StatusOr<demo::Comparison> RunDay(const cli::Arguments& arguments,
                                        demo::DemoOptions options, DemoProfile* profile,
                                        cli::Console& console) {
  GRAPHTREE_RETURN_IF_ERROR(FilesMayBeWritten(arguments));
  if (arguments.Has("--trace")) {
    GRAPHTREE_ASSIGN_OR_RETURN(options.requests, TraceFromFile(arguments.Text("--trace")));
  }
  if (arguments.Has("--greedy")) {
    for (demo::Request& request : options.requests) request.temperature = 0;
  }
  if (arguments.Has("--save-trace")) {
    GRAPHTREE_RETURN_IF_ERROR(cli::WriteOutput(arguments.Text("--save-trace"),
                                               demo::TraceText(options.requests), console));
  }
  return RunOn(DeviceOption(arguments), std::move(options), profile);
}

int RunDemo(const cli::Arguments& arguments, cli::Console& console) {
  cli::ProgressLine progress(console.err);
  absl::StatusOr<demo::DemoOptions> options = OptionsFrom(arguments, progress);
  if (!options.ok()) return WrongUse(options.status(), console);
  absl::StatusOr<std::vector<demo::Request>> trace =
      BuiltInTrace(arguments, options->most_requests);
  if (!trace.ok()) return WrongUse(trace.status(), console);
  options->requests = *std::move(trace);
  if (arguments.Has("--settings")) {
    console.out << DemoSettings(*options);
    return cli::kFine;
  }
  const absl::StatusOr<std::unique_ptr<DemoProfile>> profile = ProfileOption(arguments);
  if (!profile.ok()) return WrongUse(profile.status(), console);
  if (arguments.Has("--serve")) return ServeDemo(arguments, *std::move(options), console);
  if (!options->door.empty()) {
    // Opened and closed at once: what stands against it is told before the day is run.
    const absl::Status opens = SocketFile::Listen(options->door).status();
    if (!opens.ok()) return cli::BadInput(console, "demo", opens);
    console.err << "graphtree demo: while graphtree serves its day, tools may look in at "
                << options->door << "; --serve makes it stay\n";
  }
  const absl::StatusOr<demo::Comparison> comparison =
      RunDay(arguments, *std::move(options), profile->get(), console);
  progress.Clear();
  if (!comparison.ok()) return cli::BadInput(console, "demo", comparison.status());
  // A script that reads one of the files from the console gets nothing else there.
  bool console_is_taken = false;
  for (const char* option : kFileOptions) console_is_taken |= arguments.Text(option) == "-";
  (console_is_taken ? console.err : console.out) << demo::ReportText(*comparison)
                                                  << ((*profile) ? (*profile)->sentence() : "");
  const absl::Status written = WriteFiles(arguments, *comparison, console);
  if (!written.ok()) return cli::BadInput(console, "demo", written);
  return comparison->tokens_are_equal() ? cli::kFine : cli::kFoundSomething;
}

cli::Option FileOption(const char* name, const char* help) {
  return {.name = name, .kind = cli::ValueKind::kText, .value_name = "FILE", .help = help};
}

cli::Option NumberOption(const char* name, const char* help) {
  return {.name = name, .kind = cli::ValueKind::kInteger, .value_name = "N", .help = help};
}

std::vector<cli::Option> Options() {
  return {{.name = "--device",
           .kind = cli::ValueKind::kText,
           .value_name = "NAME",
           .help = "host, cuda or cuda:N; the first GPU where there is one."},
          FileOption("--trace",
                     "Serve the requests of this file: on each line the step before which one "
                     "comes, the tokens of its prompt, the tokens it wants, \"greedy\" or a "
                     "temperature, and a seed."),
          FileOption("--save-trace", "Write the day's trace, to change and serve again."),
          NumberOption("--steps", "About how many steps the built-in trace has; 300."),
          NumberOption("--seed", "Another seed is another built-in trace; 1."),
          {.name = "--greedy", .help = "No request draws its tokens at random."},
          NumberOption("--batch", "The most requests in one step, 1 to 16; 16."),
          {.name = "--budget",
           .kind = cli::ValueKind::kBytes,
           .value_name = "BYTES",
           .help = "Device memory that graphs may hold; fewer shapes get one if it is small. 3M."},
          {.name = "--record-ahead",
           .help = "Graphtree records all shapes before the first request, and not while "
                   "serving."},
          {.name = "--record-idle",
           .help = "Graphtree records shapes between steps, those that steps wanted most first, "
                   "and tells how soon they were ready."},
          {.name = "--mode",
           .kind = cli::ValueKind::kChoice,
           .help = "How graphtree serves: off and shadow run every step eagerly, and shadow tells "
                   "what replaying would bring; strict makes an eager step an error. replay.",
           .choices = {"off", "shadow", "replay", "strict"}},
          NumberOption("--parity",
                       "Graphtree compares one replay in N with runs of its body; none."),
          {.name = "--door",
           .kind = cli::ValueKind::kText,
           .value_name = "PATH",
           .help = "A socket at which `graphtree top`, `explain` and `memory watch` may look in "
                   "while graphtree serves."},
          {.name = "--serve",
           .help = "Graphtree alone serves day after day, with its door open, until it is "
                   "interrupted."},
          {.name = "--settings",
           .help = "Show the settings of graphtree's runtime and where each comes from, and serve "
                   "nothing. Variables of the environment set what no option does."},
          {.name = "--quiet", .help = "Show no progress; a terminal is shown some."},
          FileOption("--snapshot",
                     "Write the memory of the pool and of each recording: .pickle, .json or "
                     ".sqlite. `graphtree memory nodes FILE` shows whose it is."),
          FileOption("--profile",
                     "Write what graphtree's day did, launch by launch and op by op, as a trace: "
                     ".json as PyTorch's profiler writes it, .pftrace for Perfetto."),
          {.name = "--profile-mode",
           .kind = cli::ValueKind::kChoice,
           .help = "host: launches and phases alone; light: with the time on the device of one "
                   "launch in 64; full: every op, which takes CUPTI on a GPU. full.",
           .choices = {"host", "light", "full"}},
          FileOption("--tree", "Write the recordings as Graphviz; - is the console."),
          FileOption("--json", "Write all figures as JSON; - is the console.")};
}

}  // namespace

cli::Verb DemoVerb() {
  return {.name = "demo",
          .summary = "Serve a day of requests with a small transformer, three ways side by side.",
          .description =
              "A small server's day: requests come and go, so that steps change their size, some "
              "steps read prompts and others decode, and some requests draw their tokens at "
              "random. The day is served eagerly, then as serving engines use graphs today, then "
              "by Graphtree's runtime. The tokens of every step are compared, and every step of "
              "the runtime that was not a replay says why. Exit code 1 if tokens differ.",
          .options = Options(),
          .examples = {{"graphtree demo", "under 20 seconds, on a GPU or on the host"},
                       {"graphtree demo --device host --steps 50", "a short day without a GPU"},
                       {"graphtree demo --save-trace day.txt", "then edit it, and --trace day.txt"},
                       {"graphtree demo --budget 1M --json figures.json", "fewer graphs; figures "
                                                                           "for a script"},
                       {"graphtree demo --record-idle", "graphs are recorded between steps"},
                       {"graphtree demo --mode shadow", "what would graphs bring?"},
                       {"graphtree demo --serve --record-idle",
                        "a server to look into; it says how"},
                       {"GRAPHTREE_MODE=shadow graphtree demo --settings",
                        "what is in force, and where it came from"},
                       {"graphtree demo --profile day.json",
                        "then `graphtree profile show day.json`"},
                       {"graphtree demo --snapshot day.pickle",
                        "then `graphtree memory nodes day.pickle`"}},
          .run = RunDemo};
}

}  // namespace graphtree
