// Checked mode holds the first replay of a recording to runs of its body on the same inputs.
//
//   body, twice   memory of its own, painted   what it leaves is digested; what it wrote of the
//                 before with two bytes        caller's, and its random numbers, are taken back
//   replay        the node's memory            must leave the bytes in which the two runs agree
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/access_log.h"
#include "graphs/eager_traces.h"
#include "graphs/planted_bug.h"
#include "graphs/tree_core.h"

namespace graphtree {

// One run of the body whose memory was painted before: what it leaves, or nothing if it failed. The
// status says whether random numbers, and what the body wrote against what was seen of it, are as
// they were.
absl::Status TreeCore::RunPainted(const Node& node, const Values& given, uint8_t paint, Call& call,
                                  std::optional<RunDigest>* left) {
  StepAllocator allocator = MemoryFor(call.function, Region::kKept);
  allocator.set_paint(paint);
  Values inputs = given;
  AccessLog log(inputs);
  EagerTraces traces(memory_.get(), &order_, call.stream, Region::kKept, TagOf(call.function));
  AccessObserver* const observer = traces.SaveWrites(inputs, node.variant->mutates, &log);
  absl::StatusOr<ContentReader> reader = ContentReader::Make(device_, call.stream);
  if (!reader.ok()) return absl::OkStatus();  // nothing has run
  Launcher on(call.stream, allocator, observer, &traces.random());
  Values outputs = RunBody(call.function, on, inputs);
  keeper_.graveyard().Add(std::exchange(on.requests().keep_alive, {}));
  if (on.ok()) {
    absl::StatusOr<RunDigest> digest = RunDigest::Of(*reader, outputs);
    if (digest.ok()) *left = *std::move(digest);
  }
  outputs.clear();
  inputs.clear();
  TakeBackMade(call, allocator, {}, true);
  return traces.TakeBack();
}

// Nothing where a replay and the body are not compared: a part would have its effects twice, what a
// body writes of its caller's would have to be put back while other streams may use what lies
// beside it, a body that uses tensors which it was not given, or stores some, goes on from what it
// finds, and a run that fails, for lack of memory above all, says nothing of the recording.
absl::StatusOr<std::optional<BodyDigest>> TreeCore::DigestBody(const Node& node, Call& call) {
  const FunctionOptions& options = call.function.options;
  const bool is_first = options_.compare_replays && node.replays == 0 && node.cuts.empty();
  const bool writes = absl::c_linear_search(node.variant->mutates, true) ||
                      !node.written_beside.empty();
  if (!is_first || writes || node.stores || !node.consumed.empty()) return std::nullopt;
  if (options.unseen_writes || !options.alignments.empty()) return std::nullopt;
  const StepMemory::InCall in_call(*memory_);
  BodyDigest body{{}, Values(call.inputs.begin(), call.inputs.end())};
  std::optional<RunDigest> once, again;
  absl::Status undone = RunPainted(node, body.inputs, 0x5a, call, &once);
  if (undone.ok() && once.has_value()) undone = RunPainted(node, body.inputs, 0xa5, call, &again);
  if (!undone.ok()) {
    return absl::Status(undone.code(),
                        absl::StrCat("'", call.function.name, "' was run to compare a replay with, "
                                     "and what it wrote could not be taken back: ",
                                     undone.message()));
  }
  if (!once.has_value() || !again.has_value()) return std::nullopt;
  body.left = *std::move(once);
  body.left.ForgetUnsettled(*again);
  return body;
}

// An error leaves the call its inputs, and nothing of the outputs. What cannot be read is not
// compared: the device says so in a later call.
absl::Status TreeCore::CompareReplay(const BodyDigest& body, const Node& node, Call& call) {
  absl::StatusOr<ContentReader> reader = ContentReader::Make(device_, call.stream);
  if (!reader.ok()) return absl::OkStatus();
  const absl::StatusOr<RunDigest> left =
      RunDigest::Of(*reader, *call.outputs);
  if (!left.ok() || IsPlanted(PlantedBug::kComparesNothing)) return absl::OkStatus();
  const std::string difference = body.left.DifferenceOf(*left);
  if (difference.empty()) return absl::OkStatus();
  Count(call.function, Reason::kReplayDiffers);
  const std::string text = absl::StrCat(
      "a replay of '", call.function.name, "' left other bytes than a run of its body on the same "
      "inputs: ", difference, ". A value that the body computed on the host is as it was when it "
      "was recorded (pass it as an input), or part of its work is on another stream than "
      "Launcher::stream()", ToldCaller(call));
  if (!options_.strict) {
    Tell(call.function, Reason::kReplayDiffers, text);
    return absl::OkStatus();
  }
  call.outputs->clear();
  for (size_t i = 0; i < body.inputs.size(); ++i) call.inputs[i] = body.inputs[i];
  return absl::FailedPreconditionError(text);
}

}  // namespace graphtree
