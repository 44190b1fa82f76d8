// A failed allocation as a story for people; oom_json.cc has the facts for scripts.
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/memory/history_text.h"
#include "tools/memory/load.h"
#include "tools/memory/oom_json.h"
#include "tools/memory/selection.h"
#include "tools/memory/stack_text.h"
#include "tools/memory/text.h"
#include "tools/memory/verbs.h"
#include "tools/snapshot/analysis/top.h"
#include "tools/snapshot/replay/oom.h"

namespace graphtree::memory {
namespace {

using snapshot::DeviceHistory;
using snapshot::Experiment;
using snapshot::Holder;
using snapshot::OomCase;
using snapshot::OomCause;
using snapshot::Snapshot;

constexpr size_t kHoldersShown = 8;

std::string CauseText(const OomCase& oom) {
  const uint64_t live = oom.held - oom.pending;
  switch (oom.cause) {
    case OomCause::kTooLarge:
      return absl::StrCat("It could never fit: the request alone is more than the ",
                          Bytes(oom.limit_above),
                          " that could be reserved at most.");
    case OomCause::kTooMuchHeld:
      return absl::StrCat("Too much was alive: ", Bytes(live), " held and ",
                          Bytes(oom.answer.block), " asked for are more than the ",
                          Bytes(oom.limit_above),
                          " that could be reserved at most. No setting changes that; free "
                          "something, or ask for less.");
    case OomCause::kPending:
      return absl::StrCat(Bytes(oom.pending),
                          " had been freed, but other streams were not known to be done with it "
                          "(record_stream). Synchronising those streams first would have helped.");
    case OomCause::kOtherPools:
      return "A hole that is large enough was there, but it belongs to another pool, stream or "
             "kind of segment, and PyTorch does not cross those borders.";
    case OomCause::kFragmented:
      return absl::StrCat("Fragmentation: what was alive and the request together need ",
                          Bytes(live + oom.answer.block), ", less than the ", Bytes(oom.reserved),
                          " that were reserved, but no hole is long enough, and there was no room "
                          "for another segment of ",
                          Bytes(oom.answer.new_segment), ".");
  }
  return "";
}

void PrintFacts(const OomCase& oom, const Look& look, std::ostream& out) {
  Table table({{"", Table::Side::kLeft}, {"bytes"}, {"", Table::Side::kLeft}});
  const auto kind = oom.answer.asked.small ? "small" : "large";
  table.Add({"asked for", Bytes(oom.asked),
             absl::StrCat("a block in a ", kind, " segment of stream ", oom.answer.asked.stream,
                          ", pool (", oom.answer.asked.pool.first, ", ",
                          oom.answer.asked.pool.second, ")")});
  table.Add({"a new segment", Bytes(oom.answer.new_segment),
             "what the driver was asked for, as no hole would do"});
  table.Add({"free on the device", Bytes(oom.device_free),
             oom.limited ? "enough: a limit was set in the process "
                           "(set_per_process_memory_fraction)"
                         : "not enough for that segment"});
  table.Add({"reserved", Bytes(oom.reserved), "by this process's allocator"});
  table.Add({"held", Bytes(oom.held - oom.pending),
             absl::StrCat("by live allocations, of which ", Bytes(oom.requested),
                          " were requested")});
  if (oom.pending != 0) {
    table.Add({"waiting", Bytes(oom.pending), "freed, but maybe still used by another stream"});
  }
  table.Add(
      {"free inside", Bytes(oom.free_in_default_pool), "between blocks, in the default pool"});
  if (oom.free_elsewhere != 0) {
    table.Add({"free in other pools", Bytes(oom.free_elsewhere),
               "kept for CUDA graphs or a MemPool; nobody else gets it"});
  }
  table.Add({"largest hole", Bytes(oom.answer.largest_hole),
             absl::StrCat("that this request could use; ", Bytes(oom.answer.class_free),
                          " free in segments of its kind")});
  out << table.Render(look) << "\n";
  const uint64_t others = oom.answer.other_pool_holes + oom.answer.other_stream_holes +
                          oom.answer.other_kind_holes;
  if (others != 0) {
    out << "  " << Plural(others, "hole", "holes") << " elsewhere would have been long enough: "
        << oom.answer.other_pool_holes << " in other pools, " << oom.answer.other_stream_holes
        << " of other streams, " << oom.answer.other_kind_holes << " in segments of other kinds.\n";
  }
}

void PrintHolders(const Snapshot& snapshot, const DeviceHistory& history, const OomCase& oom,
                  const Look& look, std::ostream& out) {
  const std::vector<Holder> holders =
      GroupHoldings(snapshot, HoldingsAfter(snapshot, history, oom.event), {});
  Table table({{"bytes"}, {"blocks"}, {"holder", Table::Side::kLeft}});
  for (size_t i = 0; i < holders.size() && i < kHoldersShown; ++i) {
    table.Add({Bytes(holders[i].bytes), Count(holders[i].blocks),
               StackLine(snapshot, holders[i].stack)});
    const std::string notes = NotesLine(NoteTexts(snapshot, holders[i].notes));
    if (!notes.empty()) table.Add({"", "", notes}, Tone::kDim);
  }
  out << look.Paint(Tone::kStrong, "Who held it") << " (as requested)\n" << table.Render(look);
  if (holders.size() > kHoldersShown) {
    out << "  ... and " << Plural(holders.size() - kHoldersShown, "holder", "holders")
        << "; `graphtree memory top --at " << oom.event << "` shows them\n";
  }
}

std::string VerdictText(const Experiment& experiment) {
  switch (experiment.verdict) {
    case Experiment::kFits: return "it would have fitted";
    case Experiment::kMayFit: return "it may have fitted: the exact limit is not in the file";
    case Experiment::kDoesNotFit: return "it would have failed all the same";
  }
  return "";
}

void PrintSettings(const OomCase& oom, const Look& look, std::ostream& out) {
  if (oom.experiments.empty()) {
    out << look.Paint(Tone::kStrong, "What would have helped")
        << ": no setting; what must fit is more than the limit.\n";
    return;
  }
  out << look.Paint(Tone::kStrong, "What would have helped")
      << " (the same history, replayed under the same limit)\n";
  Table table({{"setting", Table::Side::kLeft},
               {"needs"},
               {"outcome", Table::Side::kLeft}});
  for (const Experiment& experiment : oom.experiments) {
    table.Add({experiment.setting.empty() ? "Graphtree's pool" : experiment.setting,
               Bytes(experiment.reserved), VerdictText(experiment)},
              experiment.verdict == Experiment::kFits ? Tone::kGood : Tone::kPlain);
  }
  out << table.Render(look) << "  Already on: ";
  std::vector<std::string> on;
  if (oom.settings.expandable_segments) on.push_back("expandable_segments");
  if (oom.settings.max_split_size >= 0) {
    on.push_back(absl::StrCat("max_split_size ", Bytes(static_cast<uint64_t>(
                                                     oom.settings.max_split_size))));
  }
  if (oom.settings.garbage_collection_threshold > 0) on.push_back("garbage_collection_threshold");
  if (oom.settings.rounds_to_power2_parts) on.push_back("roundup_power2_divisions");
  if (!oom.settings.known) {
    out << "not known, the snapshot has no settings.\n";
  } else {
    out << (on.empty() ? "nothing" : absl::StrJoin(on, ", ")) << ".\n";
  }
  out << Paragraph("garbage_collection_threshold and torch.cuda.empty_cache() would not: before it "
                   "fails, PyTorch gives back every segment that nothing lies in.", look);
}

void PrintCase(const Snapshot& snapshot, const DeviceHistory& history, const OomCase& oom,
               const cli::Arguments& arguments, const Look& look, std::ostream& out) {
  out << look.Paint(Tone::kBad, absl::StrCat("Out of memory on device ", history.device, ", ",
                                             WhenText(snapshot, history, oom.event)))
      << "\n";
  const snapshot::StackId stack = history.Entry(snapshot, oom.event).stack;
  out << Paragraph(absl::StrCat(Bytes(oom.asked), " (", Count(oom.asked),
                                " bytes) were asked for at ", StackLine(snapshot, stack)), look)
      << "\n";
  out << Paragraph(CauseText(oom), look);
  out << "\n";
  PrintFacts(oom, look, out);
  PrintHolders(snapshot, history, oom, look, out);
  out << "\n";
  PrintSettings(oom, look, out);
  out << LossesText(snapshot, history, look);
  if (arguments.Has("--stacks")) {
    out << "\n" << look.Paint(Tone::kStrong, "The stack that asked") << "\n"
        << StackLines(snapshot, stack, Frames::kVisible, look, 4);
  }
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  const auto loaded = Load(arguments.OperandAt(0), console);
  if (!loaded.ok()) return cli::BadInput(console, "memory oom", loaded.status());
  const Snapshot& snapshot = **loaded;
  const auto selection = Select(snapshot, arguments);
  if (!selection.ok()) return cli::BadInput(console, "memory oom", selection.status());
  const Look look = LookOf(arguments, console);
  std::vector<OomAt> cases;
  for (const DeviceHistory& history : selection->histories) {
    const std::vector<uint32_t> events = OomEvents(snapshot, history);
    for (size_t i = arguments.Has("--all") || events.empty() ? 0 : events.size() - 1;
         i < events.size(); ++i) {
      cases.push_back({&history, ExplainOom(snapshot, selection->side, history, events[i])});
    }
    if (events.size() > 1 && !arguments.Has("--all") && !arguments.Has("--json")) {
      console.out << Plural(events.size(), "allocation", "allocations") << " failed on device "
                  << history.device << "; this is the last one (--all shows all).\n\n";
    }
  }
  if (arguments.Has("--json")) {
    console.out << OomJson(snapshot, cases) << "\n";
  } else {
    for (size_t i = 0; i < cases.size(); ++i) {
      if (i != 0) console.out << "\n";
      PrintCase(snapshot, *cases[i].history, cases[i].oom, arguments, look, console.out);
    }
    if (cases.empty()) console.out << "No allocation failed in the recorded history.\n";
  }
  return cases.empty() ? cli::kFine : cli::kFoundSomething;
}

}  // namespace

cli::Verb OomVerb() {
  cli::Verb verb = {
      .name = "memory oom",
      .summary = "Explain an allocation that failed: what was asked, what was free, who held what.",
      .description =
          "Finds the last out-of-memory event of the history, rebuilds the memory as it was then, "
          "and says why no free memory would do. Settings are not recommended from a table: the "
          "same history is replayed with each, under the limit that was in force, and the outcome "
          "is "
          "shown. What is on already is not tried again.\n\n"
          "Exit code 1 where an allocation failed. --json writes: cases, a list of device, entry, "
          "time_us, asked_bytes, segment_bytes, device_free_bytes, limited, cause, reserved_bytes, "
          "held_bytes, requested_bytes, pending_bytes, free_bytes, free_in_private_pools, "
          "largest_hole_bytes, stack, holders, settings, experiments.",
      .operands = {SnapshotOperand()},
      .options = {{.name = "--all", .help = "Explain every failure of the history."},
                  {.name = "--stacks", .help = "Show the whole stack that asked."},
                  cli::JsonOption(),
                  ColorOption()},
      .examples = {{"graphtree memory oom oom.pickle",
                    "why it failed, and what would have helped"}},
      .run = Run};
  for (cli::Option& option : SideOptions()) verb.options.push_back(std::move(option));
  return verb;
}

}  // namespace graphtree::memory
