// Does one check after the other, each with an error of its own.
#include "graphs/run/check_call.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/run/planted_bug.h"

namespace graphtree {
namespace {

bool IsOpen(const CaptureInfo& capture) { return capture.state != CaptureState::kNone; }

absl::Status CheckInput(Ground& ground, const Call& call, size_t i) {
  const Value& input = call.inputs[i];
  if (input.is_consumed()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", i, " of '", call.function.name,
        "' was consumed by an earlier call: a call "
        "takes the tensors that a tree made out of its caller's inputs. Pass a copy of the "
        "handle to the earlier one to keep it"));
  }
  if (input.is_tensor() && !input.layout()->possible()) {
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " of '", call.function.name,
                                                   "': ", input.layout()->Check().message()));
  }
  GRAPHTREE_RETURN_IF_ERROR(ground.home.CheckInput(call, i));
  const Storage* storage = input.storage();
  if (storage == nullptr && input.is_tensor() && input.word() == 0 && RangeOf(input).bytes > 0) {
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " of '", call.function.name,
                                                   "' is a tensor of ", RangeOf(input).bytes,
                                                   " bytes at address 0"));
  }
  if (input.is_tensor() && RangeOf(input).end() < input.word()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " of '", call.function.name, "' is a tensor of ",
                     RangeOf(input).bytes, " bytes at 0x", absl::Hex(input.word()),
                     ", and would reach past the last address"));
  }
  if (storage == nullptr) return absl::OkStatus();
  if (IsPlanted(PlantedBug::kLaunchesStale)) return absl::OkStatus();
  const absl::Status may = MayBeUsed(*storage, RangeOf(input).bytes);
  if (may.ok()) return may;
  return absl::Status(may.code(), absl::StrCat("input ", i, " of '", call.function.name,
                                               "' may not be used: ", may.message()));
}

}  // namespace

absl::Status CheckStream(const Ground& ground, const Call& call) {
  const DevicePlace place = DevicePlaceOf(call.stream.device());
  if (place.id != ground.home.place().id) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", call.function.name, "' was called on a stream of another device, ",
                     place.name, "; this tree's is ", ground.home.place().name));
  }
  if (const auto capture = call.stream.Capture(); capture.ok() && IsOpen(*capture)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", call.function.name,
        "' was called on a stream that captures: a tree makes graphs of "
        "its own, and cannot be part of another's. Call it on another stream, or after the "
        "capture"));
  }
  StreamLife* const last = ground.order.last();
  if (last == nullptr || last == call.stream.life().get()) return absl::OkStatus();
  if (const auto capture = last->Capture(); !capture.ok() || !IsOpen(*capture)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "'", call.function.name,
      "' was not run: the stream that the tree was called on before "
      "captures now, so what the tree put there cannot be awaited. End that capture first, or call "
      "trees on streams that nobody captures"));
}

absl::Status CheckInputs(Ground& ground, const Call& call) {
  if (call.inputs.size() < call.function.inputs_named) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", call.function.name, "' was called with ", call.inputs.size(),
                     " inputs, and its options speak of input ", call.function.inputs_named - 1,
                     " (static_inputs, mutated_inputs or alignments; inputs count from 0)"));
  }
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    GRAPHTREE_RETURN_IF_ERROR(CheckInput(ground, call, i));
  }
  return absl::OkStatus();
}

absl::Status CheckPromises(const Call& call) {
  for (const HeldOpaque& kept : call.variant->opaque) {
    const Value& input = call.inputs[kept.input];
    if (input.object() == kept.value.object()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", kept.input, " of '", call.function.name, "' has version ", input.word(),
        ", but is another object than the one that first had it. Give a new object or a "
        "changed one a version of its own"));
  }
  return absl::OkStatus();
}

absl::Status WaitForOtherUsers(Ground& ground, const Call& call) {
  GRAPHTREE_RETURN_IF_ERROR(CheckStream(ground, call));
  const StreamLives users = ground.memory->other_users().Take();
  if (users.empty()) return absl::OkStatus();
  // What comes next comes after these waits, also where this call is refused.
  absl::Status ordered = ground.order.ContinueOn(call.stream);
  for (const std::shared_ptr<StreamLife>& user : users) {
    if (ordered.ok()) ordered = ground.order.WaitFor(*user, call.stream);
    if (!ordered.ok()) ground.memory->other_users().Add(user);
  }
  return ordered;
}

}  // namespace graphtree
