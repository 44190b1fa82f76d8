// Runs a body twice with its memory painted, and compares.
#include "graphs/run/replay_check.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphs/check/content_digest.h"
#include "graphs/inputs/access_log.h"
#include "graphs/launcher.h"
#include "graphs/memory/stray_capture.h"
#include "graphs/random/random_source.h"
#include "graphs/run/planted_bug.h"

namespace graphtree {

// Runs a body that writes nothing of its caller's, with its own memory painted beforehand. Returns
// the outputs' digests, or nothing if the run failed. Gives its random numbers back.
std::optional<RunDigest> ReplayCheck::RunPainted(const Values& given, uint8_t paint, Call& call) {
  absl::StatusOr<ContentReader> reader = ContentReader::Make(ground_.device, call.stream);
  if (!reader.ok()) return std::nullopt;
  StepAllocator allocator = ground_.MemoryFor(call.function, Region::kLasting);
  allocator.set_paint(paint);
  Values inputs = given;
  AccessLog log(inputs);
  EagerRandom random;
  Launcher on(call.stream, allocator, &log, &random);
  Values outputs = body_.Run(call.function, on, inputs);
  on.Fail(EndStrayCapture(call.stream));
  keeper_.graveyard().Add(std::exchange(on.requests().keep_alive, {}));
  allocator.TellOwners(call.stream);
  std::optional<RunDigest> left;
  if (on.ok()) {
    absl::StatusOr<RunDigest> digest = RunDigest::Of(*reader, outputs);
    if (digest.ok()) left = *std::move(digest);
  }
  outputs.clear();
  inputs.clear();
  books_.MakeStale(call, allocator, {}, true);
  random.GiveBack();
  return left;
}

// Some recordings are not compared. If the body breaks, a part would have its effects twice. If it
// writes to its caller's memory, the bytes would have to be put back while other streams may use
// those beside them. If it stores tensors, or uses some that it was not given, each run depends on
// the one before. And if a run fails, most likely for lack of memory, it says nothing about the
// recording.
std::optional<BodyDigest> ReplayCheck::Digest(const Node& node, Call& call) {
  const FunctionOptions& options = call.function.options;
  const bool is_first = ground_.options.compare_replays && node.replays == 0 && node.cuts.empty();
  if (!is_first || node.stores || !node.consumed.empty()) return std::nullopt;
  const bool writes =
      absl::c_linear_search(node.variant->mutates, true) || !node.written_beside.empty();
  if (writes) return std::nullopt;
  if (options.unseen_writes || !options.alignments.empty()) return std::nullopt;
  const StepMemory::InCall in_call(*ground_.memory);
  BodyDigest body{{}, Values(call.inputs.begin(), call.inputs.end())};
  std::optional<RunDigest> once = RunPainted(body.inputs, 0x5a, call);
  if (!once.has_value()) return std::nullopt;
  const std::optional<RunDigest> again = RunPainted(body.inputs, 0xa5, call);
  if (!again.has_value()) return std::nullopt;
  body.left = *std::move(once);
  body.left.ForgetUnsettled(*again);
  return body;
}

// Outputs that cannot be read are not compared: a later call gets the device's error.
absl::Status ReplayCheck::Compare(const BodyDigest& body, Call& call) {
  absl::StatusOr<ContentReader> reader = ContentReader::Make(ground_.device, call.stream);
  if (!reader.ok()) return absl::OkStatus();
  const absl::StatusOr<RunDigest> left = RunDigest::Of(*reader, *call.outputs);
  if (!left.ok() || IsPlanted(PlantedBug::kComparesNothing)) return absl::OkStatus();
  const std::string another = body.left.FormDifferenceOf(*left);
  const std::string bytes = another.empty() ? body.left.ByteDifferenceOf(*left) : "";
  if (another.empty() && bytes.empty()) return absl::OkStatus();
  journal_.Count(call.function, Reason::kReplayDiffers);
  const std::string text = absl::StrCat(
      "a replay of '", call.function.name, "' ",
      another.empty() ? "left other bytes" : "handed out other outputs",
      " than a run of its body on the same inputs: ", another, bytes,
      ". A value that the body computed on the host is as it was when it "
      "was recorded (pass it as an input), or part of its work is on another stream than "
      "Launcher::stream()",
      checks_.ToldCaller(call));
  if (!ground_.options.strict) {
    journal_.Tell(call.function, Reason::kReplayDiffers, text);
    return absl::OkStatus();
  }
  call.outputs->clear();
  for (size_t i = 0; i < body.inputs.size(); ++i) call.inputs[i] = body.inputs[i];
  return absl::FailedPreconditionError(text);
}

}  // namespace graphtree
