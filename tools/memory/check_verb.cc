// Findings, as a list or JSON; exit code 1 where something is wrong.
#include <ostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "device/base/json_writer.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/memory/load.h"
#include "tools/memory/text.h"
#include "tools/memory/verbs.h"
#include "tools/snapshot/analysis/check.h"

namespace graphtree::memory {
namespace {

using snapshot::CheckResult;
using snapshot::Finding;

const char* NameOf(Finding::Kind kind) {
  switch (kind) {
    case Finding::kWrong: return "wrong";
    case Finding::kIncomplete: return "incomplete";
    case Finding::kUnknown: return "unknown";
  }
  return "";
}

std::string ToJson(const CheckResult& result) {
  JsonWriter json;
  json.BeginObject().Key("consistent").Bool(result.wrong == 0);
  json.Key("wrong").Unsigned(result.wrong).Key("incomplete").Unsigned(result.incomplete);
  json.Key("unknown").Unsigned(result.unknown).Key("findings").BeginArray();
  for (const Finding& finding : result.findings) {
    json.BeginObject().Key("kind").String(NameOf(finding.kind));
    json.Key("where").String(finding.where).Key("what").String(finding.what).EndObject();
  }
  return json.EndArray().EndObject().text();
}

void PrintText(const CheckResult& result, const Look& look, std::ostream& out) {
  for (const Finding& finding : result.findings) {
    const Tone tone = finding.kind == Finding::kWrong ? Tone::kBad : Tone::kWarning;
    out << look.Paint(tone, NameOf(finding.kind)) << "  " << Safe(finding.where) << ": "
        << Safe(finding.what) << "\n";
  }
  const uint64_t all = result.wrong + result.incomplete + result.unknown;
  if (all > result.findings.size()) {
    out << "... and " << Count(all - result.findings.size()) << " more of the same kinds\n";
  }
  if (all != 0) out << "\n";
  const std::string looked_at = absl::StrCat(
      Plural(result.segments, "segment", "segments"), ", ",
      Plural(result.blocks, "block", "blocks"), " and ",
      Plural(result.entries, "entry", "entries"), " of history");
  if (result.wrong == 0) {
    out << look.Paint(Tone::kGood, "Consistent") << ": " << looked_at << " agree"
        << (result.incomplete != 0 ? ", as far as the history reaches" : "") << ".\n";
  } else {
    out << look.Paint(Tone::kBad, "Not consistent") << ": "
        << Plural(result.wrong, "contradiction", "contradictions") << " in " << looked_at << ".\n";
  }
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  const auto loaded = Load(arguments.OperandAt(0), console);
  if (!loaded.ok()) return cli::BadInput(console, "memory check", loaded.status());
  const CheckResult result = snapshot::Check(**loaded);
  if (arguments.Has("--json")) {
    console.out << ToJson(result) << "\n";
  } else {
    PrintText(result, LookOf(arguments, console), console.out);
  }
  return result.wrong == 0 ? cli::kFine : cli::kFoundSomething;
}

}  // namespace

cli::Verb CheckVerb() {
  return {.name = "memory check",
          .summary = "Check that a memory snapshot agrees with itself.",
          .description =
              "Blocks must cover their segment without gap or overlap and add up to its totals, "
              "segments must not overlap, and the history must end in the state that the blocks "
              "show. What a full ring or a late start of the recording explains is called "
              "incomplete and is no fault; what this program has no rule for is called unknown.\n\n"
              "Exit code 1 where something is wrong. --json writes: consistent, wrong, incomplete, "
              "unknown (counts), findings (a list of kind, where, what).",
          .operands = {SnapshotOperand()},
          .options = {cli::JsonOption(), ColorOption()},
          .examples = {{"graphtree memory check oom.pickle", "one line where all is well"}},
          .run = Run};
}

}  // namespace graphtree::memory
