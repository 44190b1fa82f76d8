// Variables whose option is given are taken out before the environment is read.
#include "tools/verbs/demo_settings.h"

#include <algorithm>
#include <utility>

#include "runtime/configuration.h"
#include "tools/demo_model/runtime_way.h"

namespace graphtree {
namespace {

constexpr std::pair<const char*, const char*> kOptionsOver[] = {
    {"--mode", "GRAPHTREE_MODE"},
    {"--parity", "GRAPHTREE_PARITY_EVERY"},
    {"--door", "GRAPHTREE_DOOR"},
    {"--budget", "GRAPHTREE_MOST_EXECUTABLE_BYTES"},
    {"--record-idle", "GRAPHTREE_RECORDS_WHILE_SERVING"}};

}  // namespace

absl::StatusOr<RuntimeOptions> DemoEnvironment(const cli::Arguments& arguments) {
  Environment environment = ProcessEnvironment();
  for (const auto& [option, variable] : kOptionsOver) {
    if (!arguments.Has(option)) continue;
    const auto is_it = [name = variable](const auto& entry) { return entry.first == name; };
    environment.erase(std::remove_if(environment.begin(), environment.end(), is_it),
                      environment.end());
  }
  return WithEnvironment({}, environment);
}

bool IsFromEnvironment(const RuntimeOptions& options, const std::string& name) {
  const auto& names = options.from_environment;
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string DemoSettings(const demo::DemoOptions& options) {
  const RuntimeOptions made =
      demo::RuntimeOptionsFrom({.ladder = {},
                                .budget_bytes = options.budget_bytes,
                                .records_ahead = options.records_ahead,
                                .records_idle = options.records_idle,
                                .serving = options.serving,
                                .door = options.door,
                                .base = options.base});
  return ToString(SettingsOf(made, made.serving));
}

}  // namespace graphtree
