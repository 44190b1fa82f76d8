// The simulation by hand, for hours or for one seed:
//
//   bazel run //tests/outsider -- --seeds=100000 --first=1 --faults
//   bazel run //tests/outsider -- --here              in this process: for a debugger, for gcov
//   bazel run //tests/outsider -- --without=scratch,check     lines, options, traits, acts by name
//   bazel run //tests/outsider -- --program=FILE      a program as text, as a failure prints it
//
// Says what went wrong with the seed and the shrunk program, and goes on; ends with what was done.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/outsider/generate.h"
#include "tests/outsider/many.h"
#include "tests/outsider/program.h"
#include "tests/outsider/world.h"

namespace graphtree::outsider {
namespace {

struct Flags {
  uint64_t seeds = 1000;
  uint64_t first = 1;
  bool faults = false;
  bool print = false;
  bool here = false;
  int most = 5;      // finds, after which it ends
  int tries = 3000;  // of the shrinker
  std::string program;
  std::vector<std::string> without;
};

// A number that a flag sets.
template <typename T>
bool SetNumber(const std::string& value, T* number) {
  *number = static_cast<T>(std::strtoull(value.c_str(), nullptr, 10));
  return !value.empty();
}

bool TakeFlag(const std::string& arg, Flags* flags) {
  const size_t equals = arg.find('=');
  const std::string name = arg.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : arg.substr(equals + 1);
  if (name == "--seeds") return SetNumber(value, &flags->seeds);
  if (name == "--first") return SetNumber(value, &flags->first);
  if (name == "--most") return SetNumber(value, &flags->most);
  if (name == "--tries") return SetNumber(value, &flags->tries);
  if (name == "--program") {
    flags->program = value;
    return true;
  }
  if (name == "--without") {
    flags->without = absl::StrSplit(value, ',');
    return true;
  }
  bool* const on = name == "--faults"  ? &flags->faults
                   : name == "--print" ? &flags->print
                   : name == "--here"  ? &flags->here
                                       : nullptr;
  if (on != nullptr) *on = true;
  return on != nullptr;
}

int RunFile(const Flags& flags) {
  std::ifstream file(flags.program);
  std::stringstream text;
  text << file.rdbuf();
  Program program;
  std::string wrong;
  if (!ProgramOf(text.str(), &program, &wrong)) {
    std::fprintf(stderr, "not understood: %s\n", wrong.c_str());
    return 2;
  }
  const Verdict verdict = RunProgram(program);
  std::printf("%s\n", verdict.wrong.empty() ? "all is well" : verdict.wrong.c_str());
  std::printf("%s", CoverageText(verdict.coverage).c_str());
  return verdict.wrong.empty() ? 0 : 1;
}

int RunSeeds(const Flags& flags) {
  const Taste taste = {flags.faults, flags.without};
  for (uint64_t seed = flags.first; flags.print && seed < flags.first + flags.seeds; ++seed) {
    std::printf("%s", TextOf(Generate(seed, taste)).c_str());
  }
  if (flags.here) {
    for (uint64_t seed = flags.first; seed < flags.first + flags.seeds; ++seed) {
      const Verdict verdict = RunProgram(Generate(seed, taste));
      if (!verdict.wrong.empty()) std::printf("seed %lu: %s\n", seed, verdict.wrong.c_str());
    }
    return 0;
  }
  int finds = 0;
  const Coverage coverage =
      RunMany({flags.first, flags.seeds, flags.most}, taste, nullptr, [&](const Find& find) {
        ++finds;
        const Program program = Generate(find.seed, taste);
        const Program shrunk = ShrinkApart(program, find.wrong, nullptr, flags.tries);
        std::printf("%s", FindText(find, taste, shrunk).c_str());
        std::fflush(stdout);
      });
  std::printf("%s", CoverageText(coverage).c_str());
  return finds == 0 ? 0 : 1;
}

}  // namespace
}  // namespace graphtree::outsider

int main(int argc, char** argv) {
  graphtree::outsider::Flags flags;
  for (int i = 1; i < argc; ++i) {
    if (graphtree::outsider::TakeFlag(argv[i], &flags)) continue;
    std::fprintf(stderr, "unknown: %s\n", argv[i]);
    return 2;
  }
  return flags.program.empty() ? graphtree::outsider::RunSeeds(flags)
                               : graphtree::outsider::RunFile(flags);
}
