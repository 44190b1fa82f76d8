// Lays an explanation out for people.
#include "runtime/explain.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "device/base/one_line.h"

namespace graphtree {
namespace {

constexpr CallRoute kRoutes[] = {CallRoute::kReplayed, CallRoute::kRecorded, CallRoute::kWarmedUp,
                                 CallRoute::kRanEagerly, CallRoute::kNone};

std::string CountsText(const WhyCounts& counts) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < kWhyCount; ++i) {
    if (counts[i] > 0) parts.push_back(absl::StrCat(counts[i], " ", WhyName(static_cast<Why>(i))));
  }
  return parts.empty() ? "no step" : absl::StrJoin(parts, ", ");
}

std::string TimesText(const ExplainedTimes& times) {
  std::vector<std::string> parts;
  for (const CallRoute route : kRoutes) {
    const ExplainedTime& time = times[static_cast<size_t>(route)];
    if (time.timed == 0) continue;
    parts.push_back(absl::StrFormat("%s %.1f us", RouteName(route), time.mean_us()));
  }
  return absl::StrJoin(parts, ", ");
}

std::string StateText(const ExplainedShape& shape) {
  if (shape.usable != Why::kHit) return WhyName(shape.usable);
  return shape.is_recorded ? "recorded" : "not recorded";
}

// What shadow and parity have found.
void AddFindings(const ExplainedShape& shape, std::string* text) {
  const ShadowEstimate& shadow = shape.shadow;
  if (shadow.steps > 0) {
    absl::StrAppendFormat(text,
                          "  %s would have served %d steps: %.1f us each instead of %.1f us, for "
                          "%d bytes of executables and at most %d of the pool\n",
                          ToString(shape.key), shadow.steps, shadow.replay_us, shadow.eager_us,
                          shadow.executable_bytes, shadow.pool_bytes);
  }
  if (shape.parity.differs > 0) {
    absl::StrAppendFormat(text, "  %s: %d of %d replays that were compared differ: %s\n",
                          ToString(shape.key), shape.parity.differs,
                          shape.parity.same + shape.parity.differs, shape.parity.last_text);
  }
}

void AddProgram(const ExplainedProgram& program, std::string* text) {
  const double share = program.steps == 0 ? 0 : 100.0 * program.replays / program.steps;
  absl::StrAppendFormat(text, "%s, device %d lane %d: %d steps, %d replayed (%.1f %%)\n",
                        OneLine(program.name), program.device, program.lane, program.steps,
                        program.replays, share);
  for (const std::string& tag : program.parked_by) {
    absl::StrAppend(text, "  parked by '", OneLine(tag),
                    "': no step begins until that is woken (Runtime::Wake)\n");
  }
  size_t width = 0;
  for (const ExplainedShape& shape : program.shapes) {
    width = std::max(width, ToString(shape.key).size());
  }
  for (const ExplainedShape& shape : program.shapes) {
    absl::StrAppendFormat(text, "  %-*s %-9s %-14s %s   %s\n", static_cast<int>(width),
                          ToString(shape.key), ModeName(shape.mode), StateText(shape),
                          CountsText(shape.why), TimesText(shape.times));
  }
  for (const ExplainedShape& shape : program.shapes) AddFindings(shape, text);
  if (!program.reasons.empty()) absl::StrAppend(text, "  not replayed:\n");
  for (const ExplainedReason& reason : program.reasons) {
    absl::StrAppendFormat(text, "  %8d %-16s %s\n", reason.steps, WhyName(reason.why),
                          reason.advice);
  }
  const std::string eager = TimesText(program.eager_times);
  if (!eager.empty()) absl::StrAppend(text, "  where no shape served: ", eager, "\n");
}

void AddStep(const ExplainedStep& step, std::string* text) {
  absl::StrAppendFormat(text, "  lane %d #%d %s %s", step.lane, step.number,
                        OneLine(step.program), RouteName(step.route));
  if (step.ran_ns > 0) absl::StrAppendFormat(text, " in %.1f us", step.ran_ns / 1e3);
  absl::StrAppend(text, "; ", step.sentence, "\n");
}

}  // namespace

const char* RouteName(CallRoute route) {
  switch (route) {
    case CallRoute::kNone:
      return "failed";
    case CallRoute::kReplayed:
      return "replayed";
    case CallRoute::kRecorded:
      return "recorded";
    case CallRoute::kWarmedUp:
      return "warmed up";
    case CallRoute::kRanEagerly:
      return "eager";
  }
  return "?";
}

std::string ToString(const Explanation& explanation, size_t steps) {
  std::string text;
  for (const ExplainedProgram& program : explanation.programs) AddProgram(program, &text);
  for (const ExplainedTree& tree : explanation.trees) {
    if (tree.edges.empty()) continue;
    absl::StrAppend(&text, "calls of the tree of device ", tree.device, " lane ", tree.lane, ":\n",
                    DrawEdges(tree.edges));
  }
  if (!explanation.warnings.empty()) absl::StrAppend(&text, "the last warnings:\n");
  for (const std::string& warning : explanation.warnings) {
    absl::StrAppend(&text, "  ", OneLine(warning), "\n");
  }
  const size_t shown = std::min(steps, explanation.steps.size());
  if (shown > 0) absl::StrAppend(&text, "the last steps:\n");
  for (size_t i = explanation.steps.size() - shown; i < explanation.steps.size(); ++i) {
    AddStep(explanation.steps[i], &text);
  }
  return text;
}

}  // namespace graphtree
