// What an explanation has that the report has not said already.
#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "runtime/explain.h"
#include "runtime/why.h"
#include "tools/cli/wrap.h"
#include "tools/demo_model/report.h"

namespace graphtree::demo {
namespace {

// Reasons that pass by themselves, and those that the mode gives, need no advice.
bool NeedsAdvice(Why why) {
  return why != Why::kWarmingUp && why != Why::kNotRecorded && why != Why::kOff &&
         why != Why::kShadow;
}

std::string Item(absl::string_view words) {
  return absl::StrCat("    ", cli::Wrap(words, 4, 6), "\n");
}

void AddReasons(const ExplainedProgram& program, std::string* text) {
  for (const ExplainedReason& reason : program.reasons) {
    if (!NeedsAdvice(reason.why) || reason.advice.empty()) continue;
    absl::StrAppend(text, Item(absl::StrCat(program.name, ", ", reason.steps, " ",
                                            WhyName(reason.why), ": ", reason.advice, ".")));
  }
}

void AddShadow(const ExplainedProgram& program, std::string* text) {
  uint64_t steps = 0, executables = 0, pool = 0;
  double saved_us = 0;
  for (const ExplainedShape& shape : program.shapes) {
    const ShadowEstimate& shadow = shape.shadow;
    steps += shadow.steps;
    saved_us += static_cast<double>(shadow.steps) * shadow.saved_us();
    if (shadow.steps > 0) executables += shadow.executable_bytes;
    pool = std::max(pool, shadow.pool_bytes);
  }
  if (steps == 0) return;
  absl::StrAppend(
      text, Item(absl::StrFormat("%s: graphs would have served %d steps and saved the host %.1f "
                                 "ms; they would take %d KiB for executables and at most %d KiB of "
                                 "the pool.",
                                 program.name, steps, saved_us / 1e3, executables >> 10,
                                 pool >> 10)));
}

void AddParity(const ExplainedProgram& program, std::string* text) {
  uint64_t same = 0, differs = 0;
  for (const ExplainedShape& shape : program.shapes) {
    same += shape.parity.same;
    differs += shape.parity.differs;
  }
  if (same + differs == 0) return;
  absl::StrAppend(text,
                  Item(absl::StrFormat("%s: %d replays were compared with runs of their bodies, %d "
                                       "differ.",
                                       program.name, same + differs, differs)));
  for (const ExplainedShape& shape : program.shapes) {
    if (shape.parity.differs == 0) continue;
    absl::StrAppend(text, Item(absl::StrCat(ToString(shape.key), ": ", shape.parity.last_text)));
  }
}

}  // namespace

std::string AdviceText(const Explanation& explanation) {
  std::string advice, shadow, parity;
  for (const ExplainedProgram& program : explanation.programs) {
    AddReasons(program, &advice);
    AddShadow(program, &shadow);
    AddParity(program, &parity);
  }
  if (!advice.empty()) advice = absl::StrCat("\n  To have more steps replayed:\n", advice);
  if (!shadow.empty()) shadow = absl::StrCat("\n  What replaying would bring:\n", shadow);
  if (!parity.empty()) parity = absl::StrCat("\n  Parity:\n", parity);
  return absl::StrCat(advice, shadow, parity);
}

}  // namespace graphtree::demo
