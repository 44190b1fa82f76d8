// Parsing beside Python's pickle, in the same run on the same bytes; memory; a file of a gigabyte.
//
// Both sides parse the same bytes, already in memory, equally often in one process, and a parse is
// timed there in the processor's time: neither opening the file, nor starting Python, nor dropping
// what was read, nor a busy neighbour counts, nor what reading the clock costs, which is taken off
// on both sides. Of the parses in a process the median counts, of the rounds, which alternate,
// again. Python is the python3 that the PATH finds.

#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/snapshot/byte_sink.h"
#include "allocator/snapshot/snapshot.h"
#include "device/base/status_macros.h"
#include "tools/benching/file_rows.h"
#include "tools/benching/row.h"
#include "tools/benching/statistics.h"
#include "tools/benching/timing.h"
#include "tools/snapshot/analysis/stats.h"
#include "tools/snapshot/read/read.h"
#include "tools/snapshot/synthetic.h"

namespace graphtree::bench {
namespace {

using snapshot::ByteSink;
using snapshot::ReadSnapshot;
using snapshot::Snapshot;
using snapshot::SyntheticOptions;

constexpr uint64_t kMega = 1'000'000;
constexpr int kParses = 101;  // of a small file in one process

absl::Status WriteFile(SyntheticOptions options, uint64_t bytes, const std::string& path) {
  options.steps = bytes / snapshot::SyntheticStepBytes(options) + 1;
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSink> sink, ByteSink::Create(path));
  snapshot::WriteSynthetic(options, *sink);
  return sink->Commit();
}

double Seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

// The median of several pickle.loads of the file's bytes in a fresh Python; negative where there is
// no Python.
double PythonSeconds(const std::string& path, int parses) {
  const std::string command = absl::StrCat(
      "python3 -c \"import pickle,statistics,sys,time\n"
      "b=open(sys.argv[1],'rb').read()\n"
      "def parse():\n"
      "  t=time.process_time()\n"
      "  d=pickle.loads(b)\n"
      "  return time.process_time()-t\n"
      "def nothing():\n"
      "  t=time.process_time()\n"
      "  return time.process_time()-t\n"
      "def median(what):\n"
      "  return statistics.median(what() for _ in range(int(sys.argv[2])))\n"
      "print(median(parse)-median(nothing))\" '",
      path, "' ", parses, " 2>/dev/null");
  FILE* const python = popen(command.c_str(), "r");
  double seconds = -1;
  if (python == nullptr || std::fscanf(python, "%lf", &seconds) != 1) seconds = -1;
  if (python != nullptr) pclose(python);
  return seconds;
}

absl::StatusOr<double> OurSeconds(const std::string& bytes, int parses) {
  std::vector<double> seconds;
  std::vector<double> nothing;
  for (int i = 0; i < parses; ++i) {
    const double before = ProcessorSeconds();
    const double start = ProcessorSeconds();
    const auto parsed = snapshot::ParseSnapshot(bytes);
    const double end = ProcessorSeconds();
    if (!parsed.ok()) return parsed.status();
    seconds.push_back(end - start);
    nothing.push_back(start - before);
  }
  return Median(seconds) - Median(nothing);
}

Outcome ParseBesidePython(const std::string& path, int parses) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Skipped("cannot read " + path);
  std::stringstream contents;
  contents << file.rdbuf();
  const std::string bytes = contents.str();
  std::vector<double> ours;
  std::vector<double> python;
  for (int round = 0; round < (Smoke() ? 1 : 5); ++round) {
    GRAPHTREE_ASSIGN_OR_RETURN(const double seconds, OurSeconds(bytes, parses));
    ours.push_back(seconds * 1e3);
    python.push_back(PythonSeconds(path, parses) * 1e3);
    if (python.back() < 0) return Skipped("there is no python3");
  }
  return Measurement{.ours = Median(ours), .baseline = Median(python), .spread = Spread(ours)};
}

Outcome ParseSynthetic(const SyntheticOptions& options) {
  TemporaryFile file;
  GRAPHTREE_RETURN_IF_ERROR(WriteFile(options, (Smoke() ? 1 : 60) * kMega, file.path()));
  return ParseBesidePython(file.path(), Smoke() ? 1 : 3);
}

[[maybe_unused]] const bool kParseRows = [] {
  const auto add = [](const std::string& name, std::function<Outcome()> body) {
    RegisterRow({.name = absl::StrCat("snapshot.parse.", name),
                 .ours = "ParseSnapshot",
                 .against = "Python's pickle.loads",
                 .unit = "ms",
                 .goal = "ratio <= 0.1"},
                std::move(body));
  };
  for (int protocol : {2, 4, 5}) {
    add(absl::StrCat("protocol_", protocol),
        [protocol] { return ParseSynthetic({.protocol = protocol}); });
  }
  add("cpp_writer", [] { return ParseSynthetic({.protocol = 2, .cpp_writer = true}); });
  add("short_stacks", [] { return ParseSynthetic({.depth = 4}); });
  for (const char* name :
       {"cpp_writer_2_11", "expandable_two_streams", "leak_step39", "leak_step9", "oom_fragmented",
        "reduce_overhead_batches_1_2_4_8", "torch_2_15_mixed", "train_step7"}) {
    add(name, [name] {
      return ParseBesidePython(absl::StrCat("tools/snapshot/testdata/", name, ".pickle"),
                               Smoke() ? 1 : kParses);
    });
  }
  return true;
}();

// From disk, as the command line reads.
GRAPHTREE_ROW(ParseMemory, {.name = "snapshot.parse.memory",
                            .ours = "most memory while reading",
                            .against = "the file's size",
                            .unit = "B",
                            .goal = "ratio <= 1.5"}) {
  TemporaryFile file;
  const uint64_t wanted = (Smoke() ? 4 : 400) * kMega;
  GRAPHTREE_RETURN_IF_ERROR(WriteFile({}, wanted, file.path()));
  return MemoryOfReading(file.path(), [&] { return ReadSnapshot(file.path()).status(); });
}

GRAPHTREE_ROW(StatsOfAGigabyte, {.name = "snapshot.stats.gigabyte",
                                 .ours = "reading a file of 1 GB and its totals",
                                 .unit = "s",
                                 .goal = "value <= 5 s"}) {
  TemporaryFile file;
  GRAPHTREE_RETURN_IF_ERROR(WriteFile({}, (Smoke() ? 1 : 1000) * kMega, file.path()));
  const auto start = std::chrono::steady_clock::now();
  const auto read = ReadSnapshot(file.path());
  if (!read.ok()) return read.status();
  const auto stats = snapshot::StatsOf(**read, (*read)->gpu);
  const auto end = std::chrono::steady_clock::now();
  if (stats.trace_entries != (*read)->entries.size()) {
    return absl::InternalError("the totals miss entries");
  }
  return Measurement{.ours = Seconds(end - start)};
}

}  // namespace
}  // namespace graphtree::bench
