// Runs, replays, reads and compares.
#include "graphs/run/parity_check.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "device/base/status_macros.h"
#include "graphs/check/element_compare.h"
#include "graphs/check/op_compare.h"
#include "graphs/check/output_compare.h"
#include "graphs/inputs/access_log.h"
#include "graphs/launcher.h"
#include "graphs/memory/stray_capture.h"
#include "graphs/random/random_source.h"
#include "graphs/run/located.h"

namespace graphtree {
namespace {

// What is read to the host at a time.
constexpr uint64_t kMostBytes = uint64_t{256} << 20;
constexpr uint8_t kPaints[] = {0x5a, 0xa5};

template <typename Places>
uint64_t BytesOfAll(const Places& places) {
  uint64_t bytes = 0;
  for (const auto& place : places) bytes += place.range.bytes;
  return bytes;
}

// A replay on such bytes would go on from what nobody wrote.
std::string NotPutBack(const Function& function) {
  return absl::StrCat("'", function.name, "': what a run of its body beside a replay has written ",
                      "could not be put back, so that memory may hold what that run left");
}

std::string NameOf(const std::vector<TracedOp>& ops, size_t op) {
  return absl::StrCat("op ", op, " ('", ops[op].name, "')");
}

// What a replay has left in memory that no output has: a device that checks accesses knows it as
// dead.
absl::StatusOr<Bytes> ReadDead(Device& device, ByteReader& reader, AddressRange range) {
  if (device.memory().CheckLive(range).ok()) return reader.Read(range);
  device.memory().NoteRevived(range, "parity");
  absl::StatusOr<Bytes> bytes = reader.Read(range);
  device.memory().NoteDead(range, "it was read for parity");
  return bytes;
}

// Whether ReadDead can read there, and leaves what is live as it was. A body that is not as it was
// recorded may have ops that reach further than theirs in the recording.
bool MayReadDead(Device& device, const Node& node, AddressRange range) {
  if (device.memory().CheckLive(range).ok()) return true;
  const bool is_of_recording =
      std::any_of(node.used.begin(), node.used.end(),
                  [range](AddressRange used) { return used.Contains(range); });
  return is_of_recording && device.memory().UsableParts(range).empty();
}

// An argument that a recorded op has written, and that no later op of the recording overwrites.
struct Survivor {
  size_t op = 0;
  size_t argument = 0;
  AddressRange range;  // where the recording has it
  DType type = DType::kU8;
  Bytes replay;
  Bytes runs[2];
};

// Also tells whether each op has one.
std::vector<Survivor> SurvivorsOf(const std::vector<TracedOp>& ops,
                                  const std::vector<const Op*>& recorded) {
  std::vector<Survivor> written;
  for (size_t i = 0; i < ops.size() && i < recorded.size(); ++i) {
    for (size_t a = 0; a < ops[i].arguments.size(); ++a) {
      const TracedArgument& argument = ops[i].arguments[a];
      if (!argument.is_written() || argument.layout == nullptr) continue;
      const std::optional<Address> at = RecordedAddress(ops[i], *recorded[i], a);
      if (!at.has_value()) continue;
      const DType type = argument.layout->dense() ? argument.layout->type() : DType::kU8;
      written.push_back({i, a, {*at, argument.range.bytes}, type, {}, {}});
    }
  }
  std::vector<Survivor> survivors;
  for (size_t i = 0; i < written.size(); ++i) {
    const bool is_overwritten =
        std::any_of(written.begin() + i + 1, written.end(), [&](const Survivor& later) {
          return later.op > written[i].op && later.range.Overlaps(written[i].range);
        });
    if (!is_overwritten) survivors.push_back(std::move(written[i]));
  }
  return survivors;
}

}  // namespace

// Of a body that breaks, a part would have its effects twice more. If the body stores tensors, or
// takes some that die inside, each run depends on the one before. Random numbers are others in
// every run.
std::string ParityCheck::WhyNot(const Node& node, const Call& call) {
  if (!node.cuts.empty()) return "its body breaks";
  if (node.stores) return "its body keeps tensors that it does not return";
  if (!node.consumed.empty()) return "an input dies inside of it";
  if (!node.section.random.empty()) return "its body draws random numbers";
  if (call.function.options.unseen_writes) return "its body writes what it does not declare";
  if (!call.function.options.alignments.empty()) return "inputs may be copied to align them";
  return "";
}

absl::Status ParityCheck::SaveWrites(const Node& node, const Call& call, Undo* undo) {
  for (const uint32_t input : node.written) {
    const AddressRange range = RangeOf(call.inputs[input]);
    if (!range.empty()) GRAPHTREE_RETURN_IF_ERROR(undo->Save(range));
  }
  for (const AddressRange range : node.written_beside.ranges()) {
    GRAPHTREE_RETURN_IF_ERROR(undo->Save(range));
  }
  return absl::OkStatus();
}

absl::Status ParityCheck::RunBody(
    const Node& node, const Values& given, uint8_t paint, Call& call, const After& after,
    const std::function<absl::Status(const LaunchTrace&, const Values&)>& read) {
  StepAllocator allocator = ground_.MemoryFor(call.function, Region::kLasting);
  allocator.set_paint(paint);
  Values inputs = given;
  AccessLog log(inputs);
  LaunchTrace trace(&log);
  EagerRandom random;
  Launcher on(call.stream, allocator, &trace, &random);
  if (after) {
    trace.set_after([&](size_t number) { on.Fail(after(trace.ops()[number], number)); });
  }
  on.memory().UseRoom(&node.variant->room, ground_.options.pad_room_bytes, /*learns=*/false);
  Values outputs = body_.Run(call.function, on, inputs);
  on.Fail(EndStrayCapture(call.stream));
  keeper_.graveyard().Add(std::exchange(on.requests().keep_alive, {}));
  allocator.TellOwners(call.stream);
  absl::Status status = on.status();
  if (status.ok()) status = read(trace, outputs);
  outputs.clear();
  inputs.clear();
  books_.MakeStale(call, allocator, {}, true);
  random.GiveBack();
  return status;
}

// Outputs, what ops write of memory that is not the tree's, and, where opaque work may write, all
// that the recording is known to write there. What the body has let go by now is left out.
std::vector<ParityCheck::Place> ParityCheck::PlacesOf(const Node& node, const Call& call,
                                                      const LaunchTrace& trace,
                                                      const Values& outputs) {
  std::vector<Place> places;
  const auto add = [&places](std::string name, AddressRange range, const Layout* layout) -> Place& {
    const bool is_typed = layout != nullptr && layout->dense();
    return places.emplace_back(
        Place{std::move(name), range, is_typed ? layout->type() : DType::kU8, std::nullopt});
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].is_tensor()) continue;
    add(absl::StrCat("output ", i), RangeOf(outputs[i]), outputs[i].layout()).output = i;
  }
  const size_t own = places.size();
  const auto is_new = [&](AddressRange range) {
    return std::none_of(places.begin() + own, places.end(),
                        [&](const Place& place) { return place.range == range; });
  };
  const auto add_outside = [&](AddressRange range, const Layout* layout) {
    if (range.empty() || ground_.memory->IsOwn(range) || !is_new(range)) return;
    if (!ground_.device.memory().CheckLive(range).ok()) return;
    add(absl::StrFormat("memory of the caller's at %#x", range.base), range, layout);
  };
  for (const TracedOp& op : trace.ops()) {
    for (const TracedArgument& argument : op.arguments) {
      if (argument.is_written()) add_outside(argument.range, argument.layout);
    }
  }
  if (!trace.has_opaque()) return places;
  for (const uint32_t input : node.written) add_outside(RangeOf(call.inputs[input]), nullptr);
  for (const AddressRange range : node.written_beside.ranges()) add_outside(range, nullptr);
  return places;
}

// The same places in another run, where outputs lie elsewhere.
absl::Status ParityCheck::ReadAt(std::vector<Place> places, const Values& outputs, Call& call,
                                 Left* left) {
  left->forms = FormsOf(outputs);
  left->places = std::move(places);
  for (Place& place : left->places) {
    if (!place.output.has_value()) continue;
    const bool is_there = *place.output < outputs.size();
    place.range = is_there ? RangeOf(outputs[*place.output]) : AddressRange();
  }
  if (BytesOfAll(left->places) > kMostBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "it leaves ", BytesOfAll(left->places), " bytes, and at most ", kMostBytes,
        " are compared"));
  }
  GRAPHTREE_ASSIGN_OR_RETURN(ByteReader reader, ByteReader::Make(ground_.device, call.stream));
  for (const Place& place : left->places) {
    GRAPHTREE_ASSIGN_OR_RETURN(Bytes bytes, reader.Read(place.range));
    left->bytes.push_back(std::move(bytes));
  }
  return absl::OkStatus();
}

absl::Status ParityCheck::RunAndRead(const Node& node, const Values& given, uint8_t paint,
                                     const Left* first, Call& call, Left* left, Traced* traced,
                                     absl::Status* back) {
  Undo undo(ground_.memory.get(), call.stream, ground_.TagOf(call.function));
  GRAPHTREE_RETURN_IF_ERROR(SaveWrites(node, call, &undo));
  absl::Status ran = RunBody(
      node, given, paint, call, {}, [&](const LaunchTrace& trace, const Values& outputs) {
        traced->ops = trace.ops();
        traced->has_opaque = trace.has_opaque();
        return ReadAt(first == nullptr ? PlacesOf(node, call, trace, outputs) : first->places,
                      outputs, call, left);
      });
  *back = undo.Restore();
  return ran;
}

absl::Status ParityCheck::Replay(Node* node, Call& call, const CompareWith& wanted) {
  const StepMemory::InCall in_call(*ground_.memory);
  wanted.result->text = WhyNot(*node, call);
  if (!wanted.result->text.empty()) return replayer_.Replay(node, call);
  // What is saved first may still be written by the call before.
  GRAPHTREE_RETURN_IF_ERROR(ground_.ContinueOn(call.stream));
  const Values given(call.inputs.begin(), call.inputs.end());
  return Compare(node, call, given, wanted);
}

absl::Status ParityCheck::RunTwice(const Node& node, const Values& given, Call& call,
                                   Left (*runs)[2], Traced* traced, ParityResult* result) {
  for (size_t i = 0; i < 2; ++i) {
    absl::Status back;
    const absl::Status ran = RunAndRead(node, given, kPaints[i], i == 0 ? nullptr : &(*runs)[0],
                                        call, &(*runs)[i], traced, &back);
    if (!back.ok()) return Located(back, NotPutBack(call.function));
    const absl::Status matches = replayer_.MatchAgain(node, call);
    if (!matches.ok()) result->text = "after a run of its body beside it no recording served it";
    GRAPHTREE_RETURN_IF_ERROR(matches);
    if (ran.ok()) continue;
    result->text = absl::StrCat("a run of its body beside it failed: ", ran.message());
    break;
  }
  return absl::OkStatus();
}

std::string ParityCheck::Difference(const Function& function, const Left& run, const Left& again,
                                    const Left& replay, const Tolerance& tolerance) {
  const std::string another = FirstFormDifference(run.forms, again.forms, replay.forms);
  if (!another.empty()) return absl::StrCat("'", function.name, "': ", another);
  for (size_t i = 0; i < replay.places.size(); ++i) {
    const Place& place = replay.places[i];
    if (place.output.has_value() &&
        !HaveOneForm(*place.output, run.forms, again.forms, replay.forms)) {
      continue;
    }
    const std::optional<ElementDifference> found =
        FirstDifference(place.type, run.bytes[i], again.bytes[i], replay.bytes[i], tolerance);
    if (found.has_value()) {
      return absl::StrCat(place.name, " of '", function.name, "': ", found->text);
    }
  }
  return "";
}

absl::Status ParityCheck::Compare(Node* node, Call& call, const Values& given,
                                  const CompareWith& wanted) {
  ParityResult* const result = wanted.result;
  Left runs[2];
  Traced traced;
  GRAPHTREE_RETURN_IF_ERROR(RunTwice(*node, given, call, &runs, &traced, result));
  if (!result->text.empty()) return replayer_.Replay(node, call);
  Undo before(ground_.memory.get(), call.stream, ground_.TagOf(call.function));
  const absl::Status saved = SaveWrites(*node, call, &before);
  GRAPHTREE_RETURN_IF_ERROR(replayer_.Replay(node, call));
  Left replay;
  if (absl::Status read = ReadAt(runs[0].places, *call.outputs, call, &replay); !read.ok()) {
    result->text = absl::StrCat("what it left cannot be read: ", read.message());
    return absl::OkStatus();
  }
  result->text = Difference(call.function, runs[0], runs[1], replay, wanted.tolerance);
  result->parity = result->text.empty() ? Parity::kSame : Parity::kDiffers;
  if (result->parity == Parity::kSame) return absl::OkStatus();
  if (traced.has_opaque || !saved.ok()) {
    absl::StrAppend(&result->text, "; its body has work that no launch declares, so the op is not "
                                   "known");
    return absl::OkStatus();
  }
  // The ops run on what was there before the replay; what it has left comes back afterwards.
  Undo after(ground_.memory.get(), call.stream, ground_.TagOf(call.function));
  GRAPHTREE_RETURN_IF_ERROR(SaveWrites(*node, call, &after));
  std::string text;
  absl::Status back = before.Restore();
  const int64_t op =
      back.ok() ? FindOp(*node, call, given, traced.ops, wanted.tolerance, &text) : int64_t{-1};
  back.Update(after.Restore());
  if (op >= 0) result->op = traced.ops[static_cast<size_t>(op)].name;
  absl::StrAppend(&result->text, "; ", text.empty() ? "no op of it was found to differ" : text);
  return back.ok() ? back : Located(back, NotPutBack(call.function));
}

int64_t ParityCheck::FindOp(const Node& node, Call& call, const Values& given,
                            const std::vector<TracedOp>& ops, const Tolerance& tolerance,
                            std::string* text) {
  if (node.section.graph == nullptr) return -1;
  const std::vector<const Op*> recorded = OpsOfBody(
      node.section.graph->ops(), node.section.ingest.size(), node.section.egress.size());
  const auto is_fixed = [&](AddressRange range) {
    if (ground_.memory->IsOwn(range)) return false;
    return std::none_of(given.begin(), given.end(), [&](const Value& input) {
      return RangeOf(input).Overlaps(range);
    });
  };
  const std::optional<OpDifference> launch = FirstLaunchDifference(ops, recorded, is_fixed);
  std::string by_bytes;
  const int64_t op = FindByBytes(node, call, given, ops, recorded, tolerance, &by_bytes);
  const bool launch_first =
      launch.has_value() && (op < 0 || launch->op <= static_cast<size_t>(op));
  if (launch_first) {
    *text = absl::StrCat("the first op that differs is ", NameOf(ops, launch->op), ": ",
                         launch->text);
    return static_cast<int64_t>(launch->op);
  }
  *text = std::move(by_bytes);
  return op;
}

int64_t ParityCheck::FindByBytes(const Node& node, Call& call, const Values& given,
                                 const std::vector<TracedOp>& ops,
                                 const std::vector<const Op*>& recorded,
                                 const Tolerance& tolerance, std::string* text) {
  std::vector<Survivor> survivors = SurvivorsOf(ops, recorded);
  survivors.erase(std::remove_if(survivors.begin(), survivors.end(),
                                 [&](const Survivor& survivor) {
                                   return !ground_.memory->IsOwn(survivor.range) ||
                                          !MayReadDead(ground_.device, node, survivor.range);
                                 }),
                  survivors.end());
  if (BytesOfAll(survivors) > kMostBytes) return -1;
  absl::StatusOr<ByteReader> reader = ByteReader::Make(ground_.device, call.stream);
  if (!reader.ok()) return -1;
  for (Survivor& survivor : survivors) {
    absl::StatusOr<Bytes> bytes = ReadDead(ground_.device, *reader, survivor.range);
    if (!bytes.ok()) return -1;
    survivor.replay = *std::move(bytes);
  }
  for (size_t run = 0; run < 2; ++run) {
    Undo undo(ground_.memory.get(), call.stream, ground_.TagOf(call.function));
    if (!SaveWrites(node, call, &undo).ok()) return -1;
    const auto after = [&](const TracedOp& op, size_t number) -> absl::Status {
      for (Survivor& survivor : survivors) {
        if (survivor.op != number || survivor.argument >= op.arguments.size()) continue;
        GRAPHTREE_ASSIGN_OR_RETURN(survivor.runs[run],
                                   reader->Read(op.arguments[survivor.argument].range));
      }
      return absl::OkStatus();
    };
    const absl::Status ran =
        RunBody(node, given, kPaints[run], call, after,
                [](const LaunchTrace&, const Values&) { return absl::OkStatus(); });
    if (!undo.Restore().ok() || !ran.ok()) return -1;
    // What a library has let go cannot be saved for another run.
    if (!ground_.workspaces.AreCurrent(node.workspaces)) return -1;
  }
  for (const Survivor& survivor : survivors) {
    const std::optional<ElementDifference> found = FirstDifference(
        survivor.type, survivor.runs[0], survivor.runs[1], survivor.replay, tolerance);
    if (!found.has_value()) continue;
    size_t seen = 0;  // ops before it whose bytes are there
    std::vector<bool> is_seen(ops.size(), false);
    for (const Survivor& other : survivors) is_seen[other.op] = true;
    while (seen < survivor.op && is_seen[seen]) ++seen;
    *text = absl::StrCat("the first op that is seen to differ is ", NameOf(ops, survivor.op),
                         ", argument ", survivor.argument, ": ", found->text);
    if (seen < survivor.op) {
      absl::StrAppend(text, ". What ", NameOf(ops, seen), " left is overwritten by later ops, so "
                            "it may be that one");
    }
    return static_cast<int64_t>(survivor.op);
  }
  return -1;
}

}  // namespace graphtree
