// Prints the version and the facts of the build that explain most differences between two machines.
#include "tools/verbs/version.h"

#include <ostream>
#include <string>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "device/base/json_writer.h"
#include "device/base/version.h"
#include "tools/cli/arguments.h"

namespace graphtree {
namespace {

std::string Compiler() {
#if defined(__clang__)
  return absl::StrCat("clang ", __clang_version__);
#else
  return absl::StrCat("gcc ", __VERSION__);
#endif
}

#ifdef NDEBUG
constexpr char kMode[] = "optimised";
#else
constexpr char kMode[] = "with debug checks";
#endif

// From the toolkit that the build found; empty without one.
constexpr char kCudaToolkit[] = GRAPHTREE_CUDA_TOOLKIT;
constexpr char kCudaMissing[] = GRAPHTREE_CUDA_MISSING;

void PrintText(std::ostream& out) {
  const bool cuda = kCudaToolkit[0] != '\0';
  out << "graphtree " << kVersion << "\n"
      << "built:    " << Compiler() << ", " << kMode << "\n"
      << "abseil:   " << ABSL_LTS_RELEASE_VERSION << "\n"
      << "cuda:     " << (cuda ? absl::StrCat("toolkit ", kCudaToolkit) : kCudaMissing) << "\n";
}

void PrintJson(std::ostream& out) {
  JsonWriter json;
  json.BeginObject().Key("version").String(kVersion);
  json.Key("compiler").String(Compiler()).Key("mode").String(kMode);
  json.Key("abseil").String(std::to_string(ABSL_LTS_RELEASE_VERSION));
  json.Key("cuda_toolkit");
  kCudaToolkit[0] != '\0' ? json.String(kCudaToolkit) : json.Null();
  json.Key("cuda_missing");
  kCudaMissing[0] != '\0' ? json.String(kCudaMissing) : json.Null();
  out << json.EndObject().text() << "\n";
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  arguments.Has("--json") ? PrintJson(console.out) : PrintText(console.out);
  return cli::kFine;
}

}  // namespace

cli::Verb VersionVerb() {
  return {.name = "version",
          .summary = "Say which Graphtree this is and how it was built.",
          .description = "Include its output when you report a fault.",
          .options = {cli::JsonOption()},
          .examples = {{"graphtree version", "four lines for people"},
                       {"graphtree version --json", "one line of JSON"}},
          .run = Run};
}

}  // namespace graphtree
