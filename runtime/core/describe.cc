// Steps, statistics and histories, for people and programs.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/runtime_core.h"

namespace graphtree {

RuntimeStats RuntimeCore::stats() const {
  RuntimeStats stats;
  stats.workspace_moves = workspace_moves_;
  stats.stale_recordings = stale_recordings_;
  lanes_.ForEach([&stats](const Lane& lane) {
    stats.steps += lane.counts.steps;
    stats.recordings += lane.counts.recordings;
    for (size_t i = 0; i < kWhyCount; ++i) stats.why[i] += lane.counts.why[i];
  });
  programs_.ForEach([&stats](ProgramId, ProgramState& program) {
    stats.staging_waits += program.ring().waits();
    stats.staging_told += program.ring().told();
    stats.slot_bytes += program.slot_bytes();
    stats.staging_bytes += program.ring().memory().bytes;
  });
  return stats;
}

const LaunchHistory& RuntimeCore::history(uint32_t number, uint32_t device) const {
  static const auto* const nothing = new LaunchHistory();
  const Lane* const lane = lanes_.Find({device, number});
  return lane == nullptr ? *nothing : lane->history;
}

bool RuntimeCore::CancelIn(uint32_t number, uint32_t device) {
  Lane* const lane = lanes_.Find({device, number});
  if (lane == nullptr || !lane->step.is_open) return false;
  Cancel(lane->step);
  return true;
}

Tree* RuntimeCore::tree(uint32_t number, uint32_t device) {
  Lane* const lane = lanes_.Find({device, number});
  return lane == nullptr ? nullptr : lane->tree.get();
}

std::string RuntimeCore::DescribeStale(const OpenStep& step) const {
  std::vector<std::string> names;
  for (uint32_t dep : step.touched) {
    names.push_back(absl::StrCat("'", dependencies_.name(dep), "'"));
  }
  return absl::StrCat(WhyName(Why::kStaleDependency), ": ", ToString(step.key), "; touched since ",
                      "its recording: ", absl::StrJoin(names, ", "), ". ",
                      WhySentence(Why::kStaleDependency));
}

std::string RuntimeCore::Describe(const OpenStep& step) const {
  if (step.program == nullptr) return "no step";
  if (step.choice.why == Why::kStaleDependency) return DescribeStale(step);
  if (step.choice.why >= Why::kNotRecorded) {
    return absl::StrCat(WhyName(step.choice.why), ": ", ToString(step.key), "; ",
                        WhySentence(step.choice.why));
  }
  return step.program->table().Describe(step.key, step.choice);
}

}  // namespace graphtree
