// Settings of the demo's runtime from the environment, where the command line says nothing.
//
//   GRAPHTREE_MODE=shadow GRAPHTREE_POOL_BYTES=64M graphtree demo --mode off
//
//   mode         off       --mode, so the environment's is not read
//   pool bytes   64 MiB    the environment's
//
// So a demo is set up as any server that reads the environment (runtime/configuration.h), and a
// variable that is no setting is an error here, too.
#ifndef GRAPHTREE_TOOLS_VERBS_DEMO_SETTINGS_H_
#define GRAPHTREE_TOOLS_VERBS_DEMO_SETTINGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/runtime_options.h"
#include "tools/cli/arguments.h"
#include "tools/demo_model/comparison.h"

namespace graphtree {

absl::StatusOr<RuntimeOptions> DemoEnvironment(const cli::Arguments& arguments);

// Whether the environment has set it: "GRAPHTREE_MODE".
bool IsFromEnvironment(const RuntimeOptions& options, const std::string& name);

// What is in force for the demo's runtime, and where each setting came from, a line for each.
std::string DemoSettings(const demo::DemoOptions& options);

}  // namespace graphtree

#endif  // GRAPHTREE_TOOLS_VERBS_DEMO_SETTINGS_H_
