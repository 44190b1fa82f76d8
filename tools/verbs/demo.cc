// Runs the chain on each device and shows both ways side by side.
#include "tools/verbs/demo.h"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "device/base/json_writer.h"
#include "device/device.h"
#include "device/open.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/showcase/chain.h"
#include "tools/verbs/cuda_environment.h"

namespace graphtree {
namespace {

struct DeviceRun {
  std::string name;
  std::string model;
  absl::Status status;  // why there is no result
  ChainResult result;
};

DeviceRun RunOn(const std::string& name, const ChainOptions& options) {
  DeviceRun run = {name, "", absl::OkStatus(), {}};
  absl::StatusOr<std::unique_ptr<Device>> device = OpenDevice(name, CudaOptionsOfEnvironment());
  if (!device.ok()) {
    run.status = device.status();
    return run;
  }
  run.model = (*device)->info().model;
  absl::StatusOr<ChainResult> result = RunChain(**device, options);
  run.status = result.ok() ? (*device)->Close() : result.status();
  if (result.ok()) run.result = *result;
  return run;
}

// Every device that can be opened; the reason stands in the place of a GPU that is not there.
std::vector<DeviceRun> RunOnAll(const ChainOptions& options) {
  std::vector<DeviceRun> runs;
  for (const DeviceListing& device : ListDevices(CudaOptionsOfEnvironment())) {
    if (device.status.ok()) {
      runs.push_back(RunOn(device.name, options));
    } else {
      runs.push_back({device.name, "", device.status, {}});
    }
  }
  return runs;
}

std::string Microseconds(double nanoseconds) {
  return absl::StrFormat("%9.1f us", nanoseconds / 1000);
}

std::string Row(absl::string_view name, uint32_t calls, const ChainTimes& times) {
  return absl::StrFormat("    %-8s %5d %-8s %s %s\n", name, calls,
                         calls == 1 ? "launch" : "launches", Microseconds(times.issue_ns),
                         Microseconds(times.done_ns));
}

std::string AsText(const DeviceRun& run) {
  if (!run.status.ok()) {
    return absl::StrCat("  ", run.name, "\n    left out: ", std::string(run.status.message()),
                        "\n");
  }
  const ChainResult& result = run.result;
  const std::string bytes =
      result.bytes_different == 0
          ? absl::StrFormat("equal, all %d of them (checksum %016x)", result.bytes_compared,
                            result.checksum)
          : absl::StrFormat("%d of %d DIFFER", result.bytes_different, result.bytes_compared);
  return absl::StrCat(
      absl::StrFormat("  %-30s %12s %12s\n", absl::StrCat(run.name, "  ", run.model), "host time",
                      "until done"),
      Row("eager", result.ops, result.eager), Row("replay", 1, result.replay),
      absl::StrFormat("    %-24s %11.1fx %11.1fx\n", "replay is faster by",
                      result.eager.issue_ns / result.replay.issue_ns,
                      result.eager.done_ns / result.replay.done_ns),
      "    bytes    ", bytes, "\n");
}

std::string TextOf(const std::vector<DeviceRun>& runs, const ChainOptions& options) {
  std::string text =
      absl::StrCat("A chain of ", options.ops,
                   " small kernels, each on what an earlier one wrote.\n"
                   "Eager launches them one by one; replay launches the graph they were captured "
                   "into.\nMedians of ",
                   options.rounds, " rounds.\n");
  for (const DeviceRun& run : runs) absl::StrAppend(&text, "\n", AsText(run));
  return text;
}

void WriteTimes(const ChainTimes& times, JsonWriter& json) {
  json.BeginObject().Key("host_ns").Number(times.issue_ns);
  json.Key("until_done_ns").Number(times.done_ns).EndObject();
}

std::string JsonOf(const std::vector<DeviceRun>& runs) {
  JsonWriter json;
  json.BeginObject().Key("devices").BeginArray();
  for (const DeviceRun& run : runs) {
    json.BeginObject().Key("name").String(run.name);
    if (!run.status.ok()) {
      json.Key("reason").String(std::string(run.status.message())).EndObject();
      continue;
    }
    json.Key("model").String(run.model).Key("ops").Unsigned(run.result.ops);
    json.Key("eager");
    WriteTimes(run.result.eager, json);
    json.Key("replay");
    WriteTimes(run.result.replay, json);
    json.Key("bytes_compared").Unsigned(run.result.bytes_compared);
    json.Key("bytes_different").Unsigned(run.result.bytes_different).EndObject();
  }
  return json.EndArray().EndObject().text() + "\n";
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  const ChainOptions options;
  const bool one = arguments.Has("--device");
  std::vector<DeviceRun> runs;
  if (one) {
    runs.push_back(RunOn(arguments.Text("--device"), options));
    if (!runs[0].status.ok()) return cli::BadInput(console, "demo", runs[0].status);
  } else {
    runs = RunOnAll(options);
  }
  console.out << (arguments.Has("--json") ? JsonOf(runs) : TextOf(runs, options));
  for (const DeviceRun& run : runs) {
    if (run.result.bytes_different > 0) return cli::kFoundSomething;
  }
  return cli::kFine;
}

}  // namespace

cli::Verb DemoVerb() {
  return {.name = "demo",
          .summary = "Show a replay beside the same work launched one by one.",
          .description =
              "Captures a chain of small kernels, replays it, and compares times and "
              "bytes. Runs on the host device, and on a GPU where there is one. Exit "
              "code 1 if a replay's bytes differ.",
          .options = {{.name = "--device",
                       .kind = cli::ValueKind::kText,
                       .value_name = "NAME",
                       .help = "Run on this device only: host, cuda, cuda:1."},
                      cli::JsonOption()},
          .examples = {{"graphtree demo", "every device that this machine has"},
                       {"graphtree demo --device cuda:0", "one GPU, or the reason why not"}},
          .run = Run};
}

}  // namespace graphtree
