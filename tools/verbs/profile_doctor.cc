// Replays a small graph under each mode and reads what came.
#include "tools/verbs/profile_doctor.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "device/base/json_writer.h"
#include "device/base/status_macros.h"
#include "device/device.h"
#include "device/open.h"
#include "device/stream.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"
#include "graphs/tree.h"
#include "profiler/activity/activity_source.h"
#include "profiler/cupti/cupti_source.h"
#include "profiler/open_source.h"
#include "profiler/profile.h"
#include "profiler/profile_options.h"
#include "profiler/trace/store.h"
#include "profiler/trace/tables.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/cli/verb.h"
#include "tools/verbs/cuda_environment.h"

namespace graphtree {
namespace {

constexpr int kOps = 4;
constexpr int kReplays = 8;
constexpr ProfileMode kModes[] = {ProfileMode::kHost, ProfileMode::kLight, ProfileMode::kFull};

struct Tried {
  ProfileMode mode = ProfileMode::kHost;
  bool works = false;
  std::string found;  // "8 launches, 32 ops by name"; or why not
  std::string cure;
};

struct Examined {
  std::string device;
  std::string model;
  std::string library;  // CUPTI's, or why there is none
  std::vector<Tried> modes;
};

// A graph of a few fills.
class SmallGraph {
 public:
  static absl::StatusOr<std::unique_ptr<SmallGraph>> Make(Device& device) {
    GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Tree> tree, Tree::Create(device, {}));
    GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, device.NewStream());
    auto graph = std::unique_ptr<SmallGraph>(new SmallGraph);
    graph->stream_ = std::move(stream);
    graph->tree_ = std::move(tree);
    graph->fills_ = graph->tree_->Register("doctor", {}, [](Launcher& on, Values&) -> Values {
      Values outputs;
      for (int op = 0; op < kOps; ++op) {
        const Tensor filled = on.Empty(DType::kF32, {1024});
        on.Fill(filled, static_cast<uint8_t>(op));
        outputs.push_back(filled);
      }
      return outputs;
    });
    // A warm-up and a recording.
    GRAPHTREE_RETURN_IF_ERROR(graph->Step());
    GRAPHTREE_RETURN_IF_ERROR(graph->Step());
    return graph;
  }

  absl::Status Step() {
    tree_->BeginStep();
    GRAPHTREE_RETURN_IF_ERROR(tree_->Run(fills_, Values(), *stream_).status());
    return stream_->Synchronize();
  }

 private:
  SmallGraph() = default;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Tree> tree_;
  FunctionId fills_ = 0;
};

std::string CureFor(absl::string_view why) {
  if (absl::StrContains(why, "not built with CUDA")) {
    return "build it where the CUDA toolkit is (tools/setup)";
  }
  if (absl::StrContains(why, "libcupti") || absl::StrContains(why, "cannot be loaded")) {
    return "install CUPTI (it comes with the CUDA toolkit, in extras/CUPTI/lib64), and name its "
           "folder in GRAPHTREE_CUPTI or LD_LIBRARY_PATH";
  }
  if (absl::StrContains(why, "another") || absl::StrContains(why, "subscriber")) {
    return "end the other profiler; a profile of mode light needs none of this";
  }
  if (absl::StrContains(why, "privilege") || absl::StrContains(why, "permission")) {
    return "ask the administrator for NVreg_RestrictProfilingToAdminUsers=0, or run as root";
  }
  return "a profile of mode light needs none of this";
}

absl::StatusOr<ProfileReport> ReportOf(Device& device, SmallGraph& graph, ProfileMode mode,
                                       activity::ActivitySource* source) {
  trace::TraceTables tables;
  trace::TraceStore store(10'000);
  ProfileOptions options;
  options.mode = mode;
  options.device = &device;
  options.source = source;
  options.tables = &tables;
  options.listener = &store;
  options.light_in = 1;
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Profile> profile,
                             Profile::Start(std::move(options)));
  for (int replay = 0; replay < kReplays; ++replay) GRAPHTREE_RETURN_IF_ERROR(graph.Step());
  return profile->Stop();
}

Tried Try(Device& device, SmallGraph& graph, ProfileMode mode, activity::ActivitySource* source,
          const std::string& no_source) {
  Tried tried;
  tried.mode = mode;
  const absl::StatusOr<ProfileReport> report = ReportOf(device, graph, mode, source);
  if (!report.ok()) {
    tried.found = std::string(report.status().message());
  } else if (report->mode != mode) {
    tried.found = no_source.empty() ? report->why_not_full : no_source;
  } else if (report->launches < kReplays) {
    tried.found = absl::StrCat(report->launches, " of ", kReplays, " launches were told");
  } else if (mode == ProfileMode::kFull && report->join.joined != kReplays * kOps) {
    tried.found = absl::StrCat(report->join.joined, " of ", kReplays * kOps,
                               " ops came with their names");
  } else if (mode == ProfileMode::kLight && report->ops != kReplays) {
    tried.found = absl::StrCat(report->ops, " of ", kReplays, " launches were timed");
  } else {
    tried.works = true;
    tried.found = absl::StrCat(report->launches, " launches");
    if (mode == ProfileMode::kLight) absl::StrAppend(&tried.found, ", each with its time");
    if (mode == ProfileMode::kFull) {
      absl::StrAppend(&tried.found, ", ", report->join.joined, " ops by name");
    }
  }
  if (!tried.works) tried.cure = CureFor(tried.found);
  return tried;
}

absl::StatusOr<Examined> Examine(const std::string& name) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                             OpenDevice(name, CudaOptionsOfEnvironment()));
  Examined examined;
  examined.device = name;
  examined.model = device->info().model;
  auto source = OpenActivitySource(
      *device, cupti::OptionsOf([](const char* variable) { return std::getenv(variable); }));
  const std::string no_source = source.ok() ? "" : std::string(source.status().message());
  examined.library = source.ok() ? (*source)->name() : no_source;
  {
    GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<SmallGraph> graph, SmallGraph::Make(*device));
    for (const ProfileMode mode : kModes) {
      examined.modes.push_back(
          Try(*device, *graph, mode, source.ok() ? source->get() : nullptr, no_source));
    }
  }
  if (source.ok()) source->reset();
  GRAPHTREE_RETURN_IF_ERROR(device->Close());
  return examined;
}

std::string AsText(const Examined& examined) {
  std::string text = absl::StrCat(examined.device, "  ", examined.model, "\n  CUPTI   ",
                                  examined.library, "\n");
  for (const Tried& tried : examined.modes) {
    absl::StrAppendFormat(&text, "  %-7s %s %s\n", ProfileModeName(tried.mode),
                          tried.works ? "works:" : "does not work:", tried.found);
    if (!tried.cure.empty()) absl::StrAppend(&text, "          to do: ", tried.cure, "\n");
  }
  return text;
}

std::string AsJson(const std::vector<Examined>& all) {
  JsonWriter json;
  json.BeginObject().Key("devices").BeginArray();
  for (const Examined& examined : all) {
    json.BeginObject().Key("name").String(examined.device).Key("model").String(examined.model);
    json.Key("cupti").String(examined.library).Key("modes").BeginArray();
    for (const Tried& tried : examined.modes) {
      json.BeginObject().Key("mode").String(ProfileModeName(tried.mode));
      json.Key("works").Bool(tried.works).Key("found").String(tried.found);
      json.Key("cure").String(tried.cure).EndObject();
    }
    json.EndArray().EndObject();
  }
  return json.EndArray().EndObject().text();
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  std::vector<std::string> names;
  if (arguments.Has("--device")) {
    names.push_back(arguments.Text("--device"));
  } else {
    for (const DeviceListing& device : ListDevices(CudaOptionsOfEnvironment())) {
      if (device.status.ok()) names.push_back(device.name);
    }
  }
  std::vector<Examined> all;
  bool all_work = true;
  for (const std::string& name : names) {
    absl::StatusOr<Examined> examined = Examine(name);
    if (!examined.ok()) return cli::BadInput(console, "profile doctor", examined.status());
    for (const Tried& tried : examined->modes) all_work = all_work && tried.works;
    all.push_back(*std::move(examined));
  }
  if (arguments.Has("--json")) {
    console.out << AsJson(all) << "\n";
  } else {
    for (const Examined& examined : all) console.out << AsText(examined);
  }
  return all_work ? cli::kFine : cli::kFoundSomething;
}

}  // namespace

cli::Verb ProfileDoctorVerb() {
  return {.name = "profile doctor",
          .summary = "Try each mode of a profile on this machine, and say what to do where one "
                     "fails.",
          .description =
              "Replays a small graph under a host, a light and a full profile on each device and "
              "reads what came: versions alone promise little. Exit code 1 if a mode does not "
              "work; what to do about it stands beside it.",
          .options = {{.name = "--device",
                       .kind = cli::ValueKind::kText,
                       .value_name = "NAME",
                       .help = "host, cuda or cuda:N; all that are there."},
                      cli::JsonOption()},
          .examples = {{"graphtree profile doctor", ""},
                       {"graphtree profile doctor --device cuda:0 --json", "for a script"}},
          .run = Run};
}

}  // namespace graphtree
