// Lists devices for people and for scripts.
#include "tools/verbs/devices.h"

#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "device/base/json_writer.h"
#include "device/capability.h"
#include "device/device.h"
#include "tools/cli/arguments.h"
#include "tools/verbs/cuda_environment.h"

namespace graphtree {
namespace {

// 13000 -> "13.0", as CUDA counts versions.
std::string Version(int number) {
  return absl::StrFormat("%d.%d", number / 1000, number % 1000 / 10);
}

std::string Headline(const DeviceInfo& info) {
  std::vector<std::string> parts = {info.model};
  if (info.architecture != info.name) parts.push_back(info.architecture);
  parts.push_back(absl::StrFormat("%.1f GiB", static_cast<double>(info.total_bytes) / (1 << 30)));
  if (info.multiprocessors > 1) {
    parts.push_back(absl::StrCat(info.multiprocessors, " multiprocessors"));
  }
  if (info.driver_version > 0) {
    parts.push_back(absl::StrCat("driver ", Version(info.driver_version)));
  }
  if (info.runtime_version > 0) {
    parts.push_back(absl::StrCat("runtime ", Version(info.runtime_version)));
  }
  return absl::StrJoin(parts, ", ");
}

// Words of `text`, wrapped so that no line is longer than 80 columns behind an indent.
std::string Wrapped(absl::string_view text, size_t indent) {
  std::string lines;
  size_t column = indent;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const absl::string_view word = text.substr(0, space);
    if (column > indent && column + 1 + word.size() > 80) {
      absl::StrAppend(&lines, "\n", std::string(indent, ' '));
      column = indent;
    } else if (column > indent) {
      absl::StrAppend(&lines, " ");
      ++column;
    }
    absl::StrAppend(&lines, word);
    column += word.size();
    text.remove_prefix(space == absl::string_view::npos ? text.size() : space + 1);
  }
  return lines;
}

std::string CapabilitiesAsText(const Capabilities& capabilities) {
  std::vector<std::string> present;
  std::string missing;
  bool any_unused = false;
  for (const CapabilityState& state : capabilities) {
    const std::string name = absl::StrCat(CapabilityName(state.capability),
                                          IsUsed(state.capability) ? "" : " (unused)");
    any_unused = any_unused || !IsUsed(state.capability);
    if (state.present) {
      present.push_back(name);
    } else {
      absl::StrAppend(&missing, "    cannot  ",
                      Wrapped(absl::StrCat(name, ": ", state.reason), 14), "\n");
    }
  }
  return absl::StrCat("    can     ", Wrapped(absl::StrJoin(present, ", "), 12), "\n", missing,
                      any_unused ? "    unused  nothing in this library makes use of it so far\n"
                                 : "");
}

void WriteDevice(const DeviceListing& device, JsonWriter& json) {
  json.BeginObject().Key("name").String(device.name);
  json.Key("available").Bool(device.status.ok());
  if (!device.status.ok()) {
    json.Key("reason").String(std::string(device.status.message())).EndObject();
    return;
  }
  const DeviceInfo& info = device.info;
  json.Key("model").String(info.model).Key("architecture").String(info.architecture);
  json.Key("identity").String(info.identity);
  json.Key("total_bytes").Unsigned(info.total_bytes);
  json.Key("multiprocessors").Integer(info.multiprocessors);
  json.Key("driver_version").Integer(info.driver_version);
  json.Key("runtime_version").Integer(info.runtime_version);
  json.Key("capabilities").BeginArray();
  for (const CapabilityState& state : device.capabilities) {
    json.BeginObject().Key("name").String(CapabilityName(state.capability));
    json.Key("present").Bool(state.present).Key("used").Bool(IsUsed(state.capability));
    if (!state.present) json.Key("reason").String(state.reason);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  const std::vector<DeviceListing> devices = ListDevices(CudaOptionsOfEnvironment());
  console.out << (arguments.Has("--json") ? DevicesAsJson(devices) : DevicesAsText(devices));
  return cli::kFine;
}

}  // namespace

std::string DevicesAsText(const std::vector<DeviceListing>& devices) {
  std::string text;
  for (const DeviceListing& device : devices) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", device.name, "\n");
    if (device.status.ok()) {
      absl::StrAppend(&text, "    is      ", Wrapped(Headline(device.info), 12), "\n",
                      CapabilitiesAsText(device.capabilities));
    } else {
      absl::StrAppend(
          &text, "    not available: ", Wrapped(std::string(device.status.message()), 19), "\n");
    }
  }
  return text;
}

std::string DevicesAsJson(const std::vector<DeviceListing>& devices) {
  JsonWriter json;
  json.BeginObject().Key("devices").BeginArray();
  for (const DeviceListing& device : devices) WriteDevice(device, json);
  return json.EndArray().EndObject().text() + "\n";
}

cli::Verb DevicesVerb() {
  return {.name = "devices",
          .summary = "List every device, what it can do, and why it cannot do the rest.",
          .description =
              "The host device is always there. Where no GPU can be used, a line says "
              "what is missing: the toolkit when this program was built, the driver, "
              "or the GPU.",
          .options = {cli::JsonOption()},
          .examples = {{"graphtree devices", "a few lines for each device"},
                       {"graphtree devices --json", "the same for scripts"}},
          .run = Run};
}

}  // namespace graphtree
