// Puts a step into words, and adds up what lanes and programs count.
#include "runtime/core/describe.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/one_line.h"
#include "runtime/core/lane.h"
#include "runtime/core/program_state.h"
#include "runtime/program.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/slots/staging_ring.h"
#include "runtime/why.h"

namespace graphtree {
namespace {

std::string DescribeStale(const OpenStep& step, const Dependencies& dependencies) {
  std::vector<std::string> names;
  for (uint32_t dep : step.touched) {
    names.push_back(absl::StrCat("'", OneLine(dependencies.name(dep)), "'"));
  }
  return absl::StrCat(WhyName(Why::kStaleDependency), ": ", ToString(step.key), "; touched since ",
                      "its recording: ", absl::StrJoin(names, ", "), ". ",
                      WhySentence(Why::kStaleDependency));
}

}  // namespace

std::string Describe(const OpenStep& step, const Dependencies& dependencies) {
  if (step.program == nullptr) return "no step";
  if (step.choice.why == Why::kStaleDependency) return DescribeStale(step, dependencies);
  if (step.choice.why >= Why::kNotRecorded) {
    return absl::StrCat(WhyName(step.choice.why), ": ", ToString(step.key), "; ",
                        WhySentence(step.choice.why));
  }
  return step.program->table().Describe(step.key, step.choice);
}

RuntimeStats StatsOf(const Lanes& lanes, const Programs& programs,
                     const Dependencies& dependencies) {
  RuntimeStats stats;
  stats.workspace_moves = dependencies.moves_with_cost();
  stats.stale_recordings = dependencies.stale_recordings();
  lanes.ForEach([&stats](const Lane& lane) {
    stats.steps += lane.counts.steps.get();
    stats.recordings += lane.counts.recordings.get();
    stats.failed_recordings += lane.counts.failed_recordings.get();
    for (size_t i = 0; i < kWhyCount; ++i) {
      stats.why[i] += lane.watch->count(static_cast<Why>(i));
    }
  });
  programs.ForEach([&stats](ProgramId, ProgramState& program) {
    stats.staging_waits += program.ring().waits();
    stats.staging_told += program.ring().told();
    stats.slot_bytes += program.slot_bytes();
    stats.staging_bytes += program.ring().memory().bytes;
  });
  return stats;
}

}  // namespace graphtree
