// Holes, what lies beside them, and what a request would meet.
#include <algorithm>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/memory/frag_json.h"
#include "tools/memory/load.h"
#include "tools/memory/selection.h"
#include "tools/memory/stack_text.h"
#include "tools/memory/text.h"
#include "tools/memory/verbs.h"
#include "tools/snapshot/analysis/fragmentation.h"
#include "tools/snapshot/analysis/layout.h"
#include "tools/snapshot/analysis/stats.h"

namespace graphtree::memory {
namespace {

using snapshot::ClassFragments;
using snapshot::Fragments;
using snapshot::PinnedSegment;
using snapshot::Pinner;
using snapshot::PlacedSegment;
using snapshot::RequestAnswer;
using snapshot::SegmentClass;
using snapshot::Snapshot;

constexpr size_t kShown = 8;
constexpr size_t kPinsShown = 3;

void PrintClasses(const Fragments& fragments, const Look& look, std::ostream& out) {
  Table table({{"device"},
               {"pool", Table::Side::kLeft},
               {"stream", Table::Side::kLeft},
               {"kind", Table::Side::kLeft},
               {"reserved"},
               {"free"},
               {"holes"},
               {"largest"},
               {"stranded"},
               {"could be returned"}});
  for (const auto& [key, sum] : fragments.classes) {
    table.Add(
        {absl::StrCat(key.device), absl::StrCat("(", key.pool.first, ", ", key.pool.second, ")"),
         key.stream, key.small ? "small" : "large", Bytes(sum.reserved), Bytes(sum.free()),
         Count(sum.holes), Bytes(sum.largest_hole), Bytes(sum.stranded), Bytes(sum.releasable)});
  }
  out << table.Render(look)
      << "\n"
      << Paragraph("A free block serves only requests of its own pool, stream and kind. Stranded "
                   "bytes lie in segments that hold something; the others could go back to the "
                   "driver (torch.cuda.empty_cache), but not while a graph owns their pool.", look)
      << "\n";
}

void PrintHoles(const Fragments& fragments, const Look& look, std::ostream& out) {
  if (fragments.holes.empty()) return;
  uint64_t most = 1;
  for (const auto& [size, sum] : fragments.holes) most = std::max(most, sum.second);
  out << look.Paint(Tone::kStrong, "Holes by size") << "\n";
  Table table({{"up to"}, {"holes"}, {"bytes"}, {"", Table::Side::kLeft}});
  for (const auto& [size, sum] : fragments.holes) {
    table.Add({Bytes(size), Count(sum.first), Bytes(sum.second),
               Bar(static_cast<double>(sum.second) / static_cast<double>(most), 30)});
  }
  out << table.Render(look) << "\n";
}

void PrintPins(const Snapshot& snapshot, const std::vector<PlacedSegment>& layout,
               const Fragments& fragments, const Look& look, std::ostream& out) {
  if (fragments.pinned.empty()) return;
  out << look.Paint(Tone::kStrong, "Segments with the most stranded bytes") << "\n";
  Table table({{"stranded"}, {"held"}, {"segment", Table::Side::kLeft},
               {"pinned by", Table::Side::kLeft}});
  for (size_t i = 0; i < fragments.pinned.size() && i < kShown; ++i) {
    const PinnedSegment& pinned = fragments.pinned[i];
    const PlacedSegment& segment = layout[pinned.segment];
    for (size_t pin = 0; pin < pinned.pins.size() && pin < kPinsShown; ++pin) {
      const std::string who = absl::StrCat(Bytes(pinned.pins[pin].size), " at ",
                                           StackLine(snapshot, pinned.pins[pin].stack));
      if (pin == 0) {
        table.Add({Bytes(pinned.stranded), Bytes(pinned.held),
                   absl::StrCat(Address(segment.address), " of ", Bytes(segment.size)), who});
      } else {
        table.Add({"", "", "", who}, Tone::kDim);
      }
    }
    if (pinned.pins.size() > kPinsShown) {
      table.Add({"", "", "", absl::StrCat("and ", Plural(pinned.pins.size() - kPinsShown,
                                                         "more block", "more blocks"))},
                Tone::kDim);
    }
  }
  out << table.Render(look) << "\n"
      << look.Paint(Tone::kStrong, "Who pins") << "\n";
  Table who({{"alone"}, {"with others"}, {"segments"}, {"blocks"}, {"own bytes"},
             {"stack", Table::Side::kLeft}});
  for (size_t i = 0; i < fragments.pinners.size() && i < kShown; ++i) {
    const Pinner& pinner = fragments.pinners[i];
    who.Add({Bytes(pinner.alone), Bytes(pinner.shared), Count(pinner.segments),
             Count(pinner.blocks), Bytes(pinner.bytes), StackLine(snapshot, pinner.stack)});
  }
  out << who.Render(look)
      << Paragraph("alone: stranded in segments that only this stack holds; with others: in "
                   "segments that it shares", look);
}

void PrintAnswer(const RequestAnswer& answer, const Look& look, std::ostream& out) {
  out << "\n"
      << look.Paint(Tone::kStrong,
                    absl::StrCat("A request of ", Bytes(answer.block), " on stream ",
                                 answer.asked.stream, ", pool (", answer.asked.pool.first, ", ",
                                 answer.asked.pool.second, ")"))
      << "\n";
  if (answer.fits) {
    out << "  fits into the hole of " << Bytes(answer.hole_size) << " at "
        << Address(answer.hole_address) << ".\n";
    return;
  }
  out << Paragraph(
      absl::StrCat("fits into no hole: the largest of its kind (",
                   answer.asked.small ? "small" : "large", ") is ", Bytes(answer.largest_hole),
                   ", of ", Bytes(answer.class_free), " free there and ", Bytes(answer.all_free),
                   " free on the device. A new segment of ", Bytes(answer.new_segment),
                   " would be asked of the driver."), look);
  const uint64_t others =
      answer.other_pool_holes + answer.other_stream_holes + answer.other_kind_holes;
  if (others != 0) {
    out << Paragraph(
        absl::StrCat("Long enough, but not for this request: ", answer.other_pool_holes,
                     " holes in other pools, ", answer.other_stream_holes, " of other streams, ",
                     answer.other_kind_holes, " in segments of the other kind."), look);
  }
}

// --pool 0,1
bool ParsePool(const std::string& text, std::pair<uint64_t, uint64_t>& pool) {
  const std::vector<std::string> parts = absl::StrSplit(text, ',');
  return parts.size() == 2 && absl::SimpleAtoi(parts[0], &pool.first) &&
         absl::SimpleAtoi(parts[1], &pool.second);
}

// What is wrong with the stream or pool of the request; empty where the snapshot has both.
std::string UnknownPlace(const Fragments& fragments, const SegmentClass& asked,
                         const cli::Arguments& arguments) {
  if (!arguments.Has("--request")) {
    return arguments.Has("--stream") || arguments.Has("--pool")
               ? "--stream and --pool say where a --request is made; without one they do nothing"
               : "";
  }
  std::set<std::string> streams, pools;
  for (const auto& [key, sum] : fragments.classes) {
    streams.insert(key.stream);
    pools.insert(absl::StrCat(key.pool.first, ",", key.pool.second));
  }
  const std::string pool = absl::StrCat(asked.pool.first, ",", asked.pool.second);
  if (arguments.Has("--stream") && streams.count(asked.stream) == 0) {
    return absl::StrCat("--stream ", asked.stream, ": no segment is of that stream; there are ",
                        absl::StrJoin(streams, ", "));
  }
  if (arguments.Has("--pool") && pools.count(pool) == 0) {
    return absl::StrCat("--pool ", pool, ": no segment is of that pool; there are ",
                        absl::StrJoin(pools, " and "));
  }
  return "";
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  SegmentClass asked;
  asked.stream = arguments.Text("--stream", "0");
  asked.device = arguments.Integer("--device", 0);
  if (arguments.Has("--pool") && !ParsePool(arguments.Text("--pool"), asked.pool)) {
    console.err << "graphtree memory frag: --pool takes two numbers, as in 0,1\n";
    return cli::kWrongUse;
  }
  if (arguments.Bytes("--request", 0) < 0 || arguments.Bytes("--request", 0) > (int64_t{1} << 50)) {
    console.err << "graphtree memory frag: --request is no size of memory\n";
    return cli::kWrongUse;
  }
  const auto loaded = Load(arguments.OperandAt(0), console);
  if (!loaded.ok()) return cli::BadInput(console, "memory frag", loaded.status());
  const Snapshot& snapshot = **loaded;
  const auto selection = Select(snapshot, arguments);
  if (!selection.ok()) return cli::BadInput(console, "memory frag", selection.status());
  const std::vector<PlacedSegment> layout = LayoutAtEnd(snapshot, selection->side);
  const Fragments fragments = FragmentsOf(layout);
  const std::string unknown = UnknownPlace(fragments, asked, arguments);
  if (!unknown.empty()) {
    console.err << "graphtree memory frag: " << unknown << "\n";
    return cli::kWrongUse;
  }
  const uint64_t size = static_cast<uint64_t>(arguments.Bytes("--request", 0));
  const RequestAnswer answer = AnswerRequest(layout, asked, size);
  if (arguments.Has("--json")) {
    console.out << FragJson(snapshot, layout, fragments,
                            arguments.Has("--request") ? &answer : nullptr)
                << "\n";
    return cli::kFine;
  }
  const Look look = LookOf(arguments, console);
  if (fragments.classes.empty()) {
    console.out << "There is no memory of that kind.\n";
    return cli::kFine;
  }
  PrintClasses(fragments, look, console.out);
  PrintHoles(fragments, look, console.out);
  PrintPins(snapshot, layout, fragments, look, console.out);
  if (arguments.Has("--request")) PrintAnswer(answer, look, console.out);
  return cli::kFine;
}

}  // namespace

cli::Verb FragVerb() {
  cli::Verb verb = {
      .name = "memory frag",
      .summary = "Show why free bytes cannot be used, and what pins them.",
      .description =
          "Lists the holes of every pool, stream and kind of segment, the segments with the most "
          "free bytes that cannot go back to the driver, and the stacks whose blocks lie in them. "
          "--request tells what PyTorch would do with a request of that size.\n\n"
          "--json writes: classes (device, pool, stream, small, segments, reserved_bytes, "
          "held_bytes, pending_bytes, holes, largest_hole_bytes, stranded_bytes, "
          "releasable_bytes), "
          "holes (up_to, count, bytes), pinned (address, size, stranded_bytes, held_bytes, pins), "
          "pinners (stack, alone_bytes, shared_bytes, segments, blocks, bytes), request.",
      .operands = {SnapshotOperand()},
      .options = {{.name = "--request",
                   .kind = cli::ValueKind::kBytes,
                   .value_name = "BYTES",
                   .help = "What would a request of this size meet?"},
                  {.name = "--stream",
                   .kind = cli::ValueKind::kText,
                   .value_name = "ID",
                   .help = "With --request: on this stream (default 0)."},
                  {.name = "--pool",
                   .kind = cli::ValueKind::kText,
                   .value_name = "A,B",
                   .help = "With --request: in this pool (default 0,0)."},
                  cli::JsonOption(),
                  ColorOption()},
      .examples = {{"graphtree memory frag oom.pickle --request 8.25MiB",
                    "holes, pins, and where 8.25 MiB would go"}},
      .run = Run};
  for (cli::Option& option : SideOptions()) verb.options.push_back(std::move(option));
  return verb;
}

}  // namespace graphtree::memory
