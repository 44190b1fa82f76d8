// Runs parts with launchers of their own.
#include "graphs/part_launcher.h"

#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "device/base/guarded_call.h"
#include "graphs/history/stack_marks.h"
#include "graphs/random/random_source.h"

namespace graphtree {

absl::Status PartLauncher::RunOn(Launcher& on, const RunMemory* outer,
                                 const BreakRequest& request) {
  on.means_.inputs = BodyInputs::OfPart();
  on.scope_around_ = request.scope;
  on.memory_.BeginPart(outer);
  CallbackMark callback;
  on.Fail(Guarded([&] {
    callback.Enter();
    request.run(on, request.tensors);
  }));
  on.JoinForks();
  on.memory_.EndScratch();
  if (on.ok()) return absl::OkStatus();
  absl::Status failed(on.status().code(), absl::StrCat("eager part '", request.why,
                                                       "': ", on.status().message()));
  on.status().ForEachPayload([&failed](absl::string_view url, const absl::Cord& payload) {
    failed.SetPayload(url, payload);
  });
  return failed;
}

absl::Status PartLauncher::RunInPlace(const BreakRequest& part, Launcher& body) {
  if (body.random_ != nullptr) body.random_->EndSection();
  PartLauncher parts(body.stream_, body.memory_.allocator(), nullptr, body.random_);
  parts.SetWorkspaces(body.means_.workspaces);
  parts.SetWatch(body.means_.watch);
  const absl::Status status = parts.Run(part);
  body.requests_.AddOfPart(parts.TakeRequests());
  if (body.random_ != nullptr) body.random_->EndSection();
  return status;
}

void PartLauncher::Fail(const absl::Status& why) {
  on_.Fail(why);
  for (Launcher* part : inner_) part->Fail(why);
}

absl::Status PartLauncher::Cut(BreakRequest request) {
  Launcher& outer = inner_.empty() ? on_ : *inner_.back();
  Launcher inner(on_.stream_, on_.memory_.allocator(), on_.observer_, on_.random_);
  inner.means_ = on_.means_;
  inner_.push_back(&inner);
  const absl::Status status = RunOn(inner, &outer.memory_, request);
  inner_.pop_back();
  outer.requests_.AddOfPart(std::move(inner.requests_));
  return status;
}

}  // namespace graphtree
