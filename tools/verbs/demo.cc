// Runs the model's day both ways on one device and shows what came out.
#include "tools/verbs/demo.h"

#include <memory>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "allocator/snapshot/write.h"
#include "device/base/status_macros.h"
#include "device/device.h"
#include "device/open.h"
#include "graphs/outline.h"
#include "graphs/tree.h"
#include "graphs/tree_snapshot.h"
#include "tools/cli/arguments.h"
#include "tools/cli/output_file.h"
#include "tools/cli/progress.h"
#include "tools/cli/registry.h"
#include "tools/demo_model/comparison.h"
#include "tools/demo_model/kernels/dims.h"
#include "tools/demo_model/report.h"
#include "tools/verbs/cuda_environment.h"

namespace graphtree {
namespace {

constexpr int64_t kMostSteps = 1'000'000;

// The first GPU where there is one.
std::string DefaultDevice() {
  for (const DeviceListing& device : ListDevices(CudaOptionsOfEnvironment())) {
    if (device.status.ok() && device.name != "host") return device.name;
  }
  return "host";
}

constexpr const char* kFileOptions[] = {"--json", "--tree", "--snapshot"};

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

absl::StatusOr<demo::DemoOptions> OptionsFrom(const cli::Arguments& arguments,
                                              cli::ProgressLine& progress) {
  GRAPHTREE_RETURN_IF_ERROR(FilesDiffer(arguments));
  demo::DemoOptions options;
  GRAPHTREE_ASSIGN_OR_RETURN(options.steps,
                             InRange(arguments, "--steps", options.steps, 1, kMostSteps));
  GRAPHTREE_ASSIGN_OR_RETURN(options.most_rows, InRange(arguments, "--rows", demo::kSlots, 1,
                                                        demo::kSlots));
  GRAPHTREE_ASSIGN_OR_RETURN(const int seed,
                             InRange(arguments, "--seed", 1, 0, 1'000'000'000));
  options.seed = static_cast<uint64_t>(seed);
  options.sampled = !arguments.Has("--greedy");
  if (arguments.Has("--snapshot")) {
    const std::string path = arguments.Text("--snapshot");
    if (!snapshot::FileKindOf(path).has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--snapshot \"", path, "\": a snapshot's file ends in .pickle, .json or .sqlite"));
    }
    options.at_the_end = [path](Tree& tree) { return WriteTreeSnapshot(tree, path); };
  }
  if (!arguments.Has("--quiet")) {
    options.progress = [&progress](const std::string& way, int step) {
      if (step % 20 == 0) progress.Show(absl::StrCat(way, ": ", step, " steps"));
    };
  }
  return options;
}

absl::StatusOr<demo::Comparison> RunOn(const std::string& name, const demo::DemoOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                             OpenDevice(name, CudaOptionsOfEnvironment()));
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

int RunDemo(const cli::Arguments& arguments, cli::Console& console) {
  cli::ProgressLine progress(console.err);
  const absl::StatusOr<demo::DemoOptions> options = OptionsFrom(arguments, progress);
  if (!options.ok()) {
    console.err << "graphtree demo: " << options.status().message() << "\n";
    return cli::kWrongUse;
  }
  const absl::Status writable = FilesMayBeWritten(arguments);
  if (!writable.ok()) return cli::BadInput(console, "demo", writable);
  const absl::StatusOr<demo::Comparison> comparison = RunOn(
      arguments.Has("--device") ? arguments.Text("--device") : DefaultDevice(), *options);
  progress.Clear();
  if (!comparison.ok()) return cli::BadInput(console, "demo", comparison.status());
  // A script that reads one of the files from the console gets nothing else there.
  const bool console_is_taken = arguments.Text("--json") == "-" || arguments.Text("--tree") == "-";
  (console_is_taken ? console.err : console.out) << demo::ReportText(*comparison);
  const absl::Status written = WriteFiles(arguments, *comparison, console);
  if (!written.ok()) return cli::BadInput(console, "demo", written);
  return comparison->first_difference.has_value() ? cli::kFoundSomething : cli::kFine;
}

cli::Option FileOption(const char* name, const char* help) {
  return {.name = name, .kind = cli::ValueKind::kText, .value_name = "FILE", .help = help};
}

cli::Option NumberOption(const char* name, const char* help) {
  return {.name = name, .kind = cli::ValueKind::kInteger, .value_name = "N", .help = help};
}

}  // namespace

cli::Verb DemoVerb() {
  return {.name = "demo",
          .summary = "Decode with a small transformer, eagerly and through a tree, side by side.",
          .description =
              "A day of a small server: requests come and go, so that batches change their size, "
              "some steps only read prompts, and some requests draw their tokens at random. The "
              "whole day runs eagerly first and then through a tree; the tokens of every step are "
              "compared. Exit code 1 if they differ.",
          .options = {{.name = "--device",
                       .kind = cli::ValueKind::kText,
                       .value_name = "NAME",
                       .help = "host, cuda or cuda:N; the first GPU where there is one."},
                      NumberOption("--steps", "About how many steps the day has; 200."),
                      NumberOption("--rows", "The most requests in one step, 1 to 8; 8."),
                      NumberOption("--seed", "Another seed is another day; 1."),
                      {.name = "--greedy", .help = "No request draws its tokens at random."},
                      {.name = "--quiet", .help = "Show no progress; a terminal is shown some."},
                      FileOption("--snapshot",
                                 "Write the memory of the pool and of each tree node: .pickle, "
                                 ".json or .sqlite. `graphtree memory nodes FILE` shows whose it "
                                 "is."),
                      FileOption("--tree", "Write the tree as Graphviz; - is the console."),
                      FileOption("--json", "Write all figures as JSON; - is the console.")},
          .examples = {{"graphtree demo", "under a minute, on a GPU or on the host"},
                       {"graphtree demo --device host --steps 50", "a short day without a GPU"},
                       {"graphtree demo --snapshot day.pickle",
                        "then `graphtree memory nodes day.pickle`"},
                       {"graphtree demo --tree tree.dot --json figures.json", "for other tools"}},
          .run = RunDemo};
}

}  // namespace graphtree
