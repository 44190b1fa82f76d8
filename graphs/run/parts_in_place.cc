// Goes to the caller's stream for a part, and back.
#include "graphs/run/parts_in_place.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/memory/stray_capture.h"
#include "graphs/run/located.h"
#include "graphs/run/planted_bug.h"

namespace graphtree {

PartsInPlace::PartsInPlace(Ground& ground, CallJournal& journal, const Call& call, Stream& stream,
                           const StepAllocator& memory, EagerTraces* traces, AccessLog* log,
                           Launcher* body)
    : ground_(ground),
      journal_(journal),
      function_(call.function),
      caller_(call.stream),
      stream_(stream),
      memory_(memory),
      traces_(traces),
      log_(log),
      body_(body),
      parts_(caller_, ground.MemoryFor(call.function, Region::kLasting), &ground.workspaces,
             &traces->random(),
             [this](const PartRunner::Write& write) { NoteWrite(write); }) {
  parts_.SetWatch(
      LaunchWatch::For(journal, call.function, ground.scopes, RunKind::kPart, &launches_));
}

void PartsInPlace::SetWatch(CloneWatch* watch) {
  watch_ = watch;
  if (watch == nullptr) return;
  parts_.set_judge([watch](absl::string_view op, Access access, AddressRange range) {
    return watch->Judge(op, access, range);
  });
}

// What the break tells the body's own observers know.
void PartsInPlace::NoteWrite(const PartRunner::Write& write) {
  if (!write.is_told) {
    if (check_ != nullptr) check_->WrittenByPart(write.range());
    log_->WrittenByPart(write.range(), write.serial);
  }
  if (!IsPlanted(PlantedBug::kForgetsPartWrites)) traces_->SaveOfPart(caller_, write.tensor);
}

absl::Status PartsInPlace::Cut(BreakRequest request) {
  traces_->random().EndSection();
  GRAPHTREE_RETURN_IF_ERROR(ground_.ContinueOn(caller_));
  absl::Status status =
      journal_.Told(Phase::kPart, function_, [&] { return parts_.Run(&request, memory_.held()); });
  if (const absl::Status stray = EndStrayCapture(caller_); !stray.ok()) {
    status.Update(Located(stray, absl::StrCat("the part of break '", request.why, "'")));
  }
  body_->requests().AddOfPart(parts_.TakeRequests());
  traces_->random().EndSection();
  const absl::Status back = ground_.ContinueOn(stream_);
  return status.ok() ? back : status;
}

}  // namespace graphtree
