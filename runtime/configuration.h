// Settings of a runtime from outside of the program: the struct first, and over it the environment.
//
//   RuntimeOptions options = {.pool_bytes = 8 << 30};                       what the program says
//   options = *WithEnvironment(options, ProcessEnvironment());              GRAPHTREE_MODE=shadow
//   auto runtime = *Runtime::Create(*device, options);
//   std::cout << ToString(runtime->Settings());
//
//   GRAPHTREE_MODE        shadow        environment   how steps are served: off, shadow, ...
//   GRAPHTREE_POOL_BYTES  8589934592    program       memory that the trees of one device may ...
//   GRAPHTREE_MOST_GRAPHS 4096          default       recordings that one tree may have
//
// Only a program that calls WithEnvironment reads the environment. A variable that begins with
// GRAPHTREE_ and is no setting is an error, with the nearest name that there is; so is a value that
// cannot be read. The variables that this project's tools and tests read are known, and left alone.
#ifndef GRAPHTREE_RUNTIME_CONFIGURATION_H_
#define GRAPHTREE_RUNTIME_CONFIGURATION_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/runtime_options.h"
#include "runtime/serving.h"

namespace graphtree {

// Names and values.
using Environment = std::vector<std::pair<std::string, std::string>>;

// Of this process, those that begin with GRAPHTREE_.
Environment ProcessEnvironment();

absl::StatusOr<RuntimeOptions> WithEnvironment(RuntimeOptions options,
                                               const Environment& environment);

enum class SettingFrom : uint8_t { kDefault, kProgram, kEnvironment, kSetServing };

struct Setting {
  std::string name;   // of its variable
  std::string value;  // that is in force, as the variable would have it
  SettingFrom from = SettingFrom::kDefault;
  std::string help;
};

// All of them. `mode` is that in force, which may have changed since the options were read.
std::vector<Setting> SettingsOf(const RuntimeOptions& options, const ServingMode& mode);
// A line for each.
std::string ToString(const std::vector<Setting>& settings);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CONFIGURATION_H_
