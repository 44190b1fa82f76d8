// A table of settings: each with a way to read it and a way to write it.
#include "runtime/configuration.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "device/base/status_macros.h"

extern char** environ;

namespace graphtree {
namespace {

constexpr absl::string_view kPrefix = "GRAPHTREE_";

// Read by tools, tests and the Python package of this project; //tests/tidy finds what lacks here.
constexpr absl::string_view kOthers[] = {
    "GRAPHTREE_BROWSER",         "GRAPHTREE_COMMAND",         "GRAPHTREE_CUBLAS",
    "GRAPHTREE_CUPTI",           "GRAPHTREE_CUPTI_REINIT",    "GRAPHTREE_CUPTI_ROUNDS",
    "GRAPHTREE_CUPTI_TEARDOWN",  "GRAPHTREE_FUZZ_CALLS",      "GRAPHTREE_FUZZ_SEED",
    "GRAPHTREE_FUZZ_SEEDS",      "GRAPHTREE_KERNEL_CACHE",    "GRAPHTREE_LIBRARY",
    "GRAPHTREE_MEMORY_VIZ",      "GRAPHTREE_NO_CUDA",         "GRAPHTREE_NVRTC",
    "GRAPHTREE_OS_RELEASE",      "GRAPHTREE_PYTHON_SEED",     "GRAPHTREE_SEED",
    "GRAPHTREE_SIMULATION_FROM", "GRAPHTREE_SOAK_SECONDS",    "GRAPHTREE_SIMULATION_SEEDS",
    "GRAPHTREE_SYSTEM_CUDA",     "GRAPHTREE_TORCH",           "GRAPHTREE_TORCH_CACHE",
};

absl::Status Wanted(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("it is to be ", what));
}

absl::Status ReadBool(absl::string_view text, bool* value) {
  if (absl::SimpleAtob(text, value)) return absl::OkStatus();
  if (text == "on" || text == "off") {
    *value = text == "on";
    return absl::OkStatus();
  }
  return Wanted("on or off");
}

absl::Status ReadNumber(absl::string_view text, uint64_t* value) {
  if (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) &&
      absl::SimpleAtoi(text, value)) {
    return absl::OkStatus();
  }
  return Wanted("a whole number that is not negative");
}

absl::Status ReadCount(absl::string_view text, uint32_t* value) {
  uint64_t number = 0;
  GRAPHTREE_RETURN_IF_ERROR(ReadNumber(text, &number));
  if (number > std::numeric_limits<uint32_t>::max()) return Wanted("less than 2 to the 32nd");
  *value = static_cast<uint32_t>(number);
  return absl::OkStatus();
}

absl::Status ReadReal(absl::string_view text, double* value) {
  if (absl::SimpleAtod(text, value) && std::isfinite(*value) && *value >= 0) {
    return absl::OkStatus();
  }
  return Wanted("a number that is not negative");
}

// "512M": with K, M or G, of 1024 each.
absl::Status ReadBytes(absl::string_view text, uint64_t* value) {
  constexpr absl::string_view kUnits = "KMG";
  int shift = 0;
  if (!text.empty()) {
    const size_t unit = kUnits.find(text.back());
    if (unit != absl::string_view::npos) {
      shift = static_cast<int>(10 * (unit + 1));
      text.remove_suffix(1);
    }
  }
  uint64_t number = 0;
  if (!ReadNumber(text, &number).ok() || number > std::numeric_limits<uint64_t>::max() >> shift) {
    return Wanted("a number of bytes, such as 1048576, 512M or 8G");
  }
  *value = number << shift;
  return absl::OkStatus();
}

absl::Status ReadServing(absl::string_view text, Serving* value) {
  const absl::StatusOr<Serving> serving = ServingFrom(text);
  if (!serving.ok()) return Wanted("off, shadow, replay or strict");
  *value = *serving;
  return absl::OkStatus();
}

absl::Status ReadText(absl::string_view text, std::string* value) {
  *value = std::string(text);
  return absl::OkStatus();
}

std::string Write(bool value) { return value ? "on" : "off"; }
std::string Write(uint64_t value) { return absl::StrCat(value); }
std::string Write(uint32_t value) { return absl::StrCat(value); }
std::string Write(double value) { return absl::StrCat(value); }
std::string Write(const std::string& value) { return value; }
std::string Write(Serving value) { return ServingName(value); }

struct Row {
  const char* name;  // without the prefix
  const char* help;
  absl::Status (*read)(absl::string_view text, RuntimeOptions* options);
  std::string (*write)(const RuntimeOptions& options);
};

#define GRAPHTREE_SETTING(name, how, member, help)                             \
  {                                                                            \
    name, help,                                                                \
        [](absl::string_view text, RuntimeOptions* options) {                  \
          return how(text, &options->member);                                  \
        },                                                                     \
        [](const RuntimeOptions& options) { return Write(options.member); }    \
  }

const Row kRows[] = {
    GRAPHTREE_SETTING("MODE", ReadServing, serving.serving,
                      "how steps are served: off, shadow, replay or strict"),
    GRAPHTREE_SETTING("PARITY_EVERY", ReadCount, serving.parity_every,
                      "one replay in so many is compared with runs of its body; 0: none"),
    GRAPHTREE_SETTING("PARITY_ABSOLUTE", ReadReal, serving.tolerance.absolute,
                      "by so much a compared number may be off"),
    GRAPHTREE_SETTING("PARITY_RELATIVE", ReadReal, serving.tolerance.relative,
                      "by so much of itself a compared number may be off"),
    GRAPHTREE_SETTING("RECORDS_WHILE_SERVING", ReadBool, records_while_serving,
                      "whether steps record shapes that were not recorded ahead"),
    GRAPHTREE_SETTING("WATCHES_STEPS", ReadBool, watches_steps,
                      "whether steps are timed and the last thousand kept"),
    GRAPHTREE_SETTING("DOOR", ReadText, door,
                      "path of a Unix socket for tools, such as graphtree top; empty: none"),
    GRAPHTREE_SETTING("POOL_BYTES", ReadBytes, pool_bytes,
                      "memory that the trees of one device may take together; 0: no limit"),
    GRAPHTREE_SETTING("LANE_POOL_BYTES", ReadBytes, tree.pool_bytes,
                      "memory that one tree may take; 0: no limit"),
    GRAPHTREE_SETTING("INITIAL_BYTES", ReadBytes, tree.initial_bytes,
                      "memory that each tree maps when it is made"),
    GRAPHTREE_SETTING("SHARED_GRAPHS", ReadNumber, shared.nodes,
                      "recordings that the trees of one device may have together; 0: no limit"),
    GRAPHTREE_SETTING("SHARED_EXECUTABLES", ReadNumber, shared.executables,
                      "executables likewise"),
    GRAPHTREE_SETTING("SHARED_EXECUTABLE_BYTES", ReadBytes, shared.executable_bytes,
                      "device memory of these likewise"),
    GRAPHTREE_SETTING("MOST_GRAPHS", ReadNumber, tree.budget.nodes,
                      "recordings that one tree may have"),
    GRAPHTREE_SETTING("MOST_EXECUTABLES", ReadNumber, tree.budget.executables,
                      "executables that one tree may have"),
    GRAPHTREE_SETTING("MOST_EXECUTABLE_BYTES", ReadBytes, tree.budget.executable_bytes,
                      "device memory of these"),
    GRAPHTREE_SETTING("MOST_SHAPES", ReadNumber, tree.budget.shapes,
                      "shapes that one tree may record"),
    GRAPHTREE_SETTING("KEPT_BYTES", ReadBytes, tree.kept_bytes,
                      "outputs that may outlive their steps; 0: no limit"),
    GRAPHTREE_SETTING("CHECK", ReadBool, tree.check,
                      "checked mode, which waits for the device in every step"),
};

#undef GRAPHTREE_SETTING

std::string VariableOf(const Row& row) { return absl::StrCat(kPrefix, row.name); }

// How many letters have to change to make one of the other.
size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

absl::Status Unknown(const std::string& name) {
  std::string nearest;
  size_t least = std::numeric_limits<size_t>::max();
  for (const Row& row : kRows) {
    const size_t distance = Distance(name, VariableOf(row));
    if (distance < least) {
      least = distance;
      nearest = VariableOf(row);
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the environment has ", name, ", and there is no such setting; the nearest is ", nearest));
}

bool IsDefault(const Row& row, const RuntimeOptions& options) {
  static const auto* const defaults = new RuntimeOptions();
  return row.write(options) == row.write(*defaults);
}

const char* FromText(SettingFrom from) {
  switch (from) {
    case SettingFrom::kDefault:
      return "default";
    case SettingFrom::kProgram:
      return "program";
    case SettingFrom::kEnvironment:
      return "environment";
    case SettingFrom::kSetServing:
      return "SetServing";
  }
  return "?";
}

}  // namespace

Environment ProcessEnvironment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const absl::string_view text = *entry;
    if (!absl::StartsWith(text, kPrefix)) continue;
    const size_t equals = text.find('=');
    if (equals == absl::string_view::npos) continue;
    environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

absl::StatusOr<RuntimeOptions> WithEnvironment(RuntimeOptions options,
                                               const Environment& environment) {
  for (const auto& [name, value] : environment) {
    if (!absl::StartsWith(name, kPrefix)) continue;
    if (std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers)) continue;
    const auto* const row =
        std::find_if(std::begin(kRows), std::end(kRows),
                     [&name = name](const Row& one) { return VariableOf(one) == name; });
    if (row == std::end(kRows)) return Unknown(name);
    if (absl::Status read = row->read(value, &options); !read.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the environment has ", name, "=\"", value, "\": ", read.message()));
    }
    options.from_environment.push_back(name);
  }
  if (absl::Status makes_sense = CheckServing(options.serving); !makes_sense.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("settings of the program and the environment together: ",
                     makes_sense.message()));
  }
  return options;
}

std::vector<Setting> SettingsOf(const RuntimeOptions& options, const ServingMode& mode) {
  RuntimeOptions in_force = options;
  in_force.serving = mode;
  std::vector<Setting> settings;
  for (const Row& row : kRows) {
    Setting setting{VariableOf(row), row.write(in_force), SettingFrom::kDefault, row.help};
    const std::vector<std::string>& read = options.from_environment;
    if (setting.value != row.write(options)) {
      setting.from = SettingFrom::kSetServing;
    } else if (std::find(read.begin(), read.end(), setting.name) != read.end()) {
      setting.from = SettingFrom::kEnvironment;
    } else if (!IsDefault(row, options)) {
      setting.from = SettingFrom::kProgram;
    }
    settings.push_back(std::move(setting));
  }
  return settings;
}

std::string ToString(const std::vector<Setting>& settings) {
  std::string text;
  for (const Setting& setting : settings) {
    absl::StrAppendFormat(&text, "%-33s %-12s %-12s %s\n", setting.name, setting.value,
                          FromText(setting.from), setting.help);
  }
  return text;
}

}  // namespace graphtree
