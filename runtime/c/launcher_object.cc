// Begins and ends bodies.
#include "runtime/c/launcher_object.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "device/base/guarded_call.h"

namespace graphtree::c {

void LauncherObject::Give(Value&& value, gt_value* out) {
  on_.Fail(WithWords(GiveValue(std::move(value), out)));
  if (out->storage == nullptr || Own(HandleOf(out->storage))) return;
  *out = gt_value{};
  on_.Fail(WithWords(Entry::NoHandle()));
}

void LauncherObject::Keep(const std::shared_ptr<Kernel>& kernel) {
  if (std::find(kept_.begin(), kept_.end(), kernel.get()) != kept_.end()) return;
  on_.KeepAlive(kernel);
  // Where it is not noted it is kept once more by the next launch.
  if (!TryOwn([&] { kept_.push_back(kernel.get()); })) return;
}

gt_error LauncherObject::ErrorFor(const Entry& entry, const char* call) {
  if (error_ == NoMemoryError() || Find<ErrorObject>(HandleOf(error_))) return error_;
  // There is none yet, or the body has released it.
  error_ = nullptr;
  if (on_.ok() && !entry.ok()) {
    error_ = entry.Failed();
    on_.Fail(WithWords(entry.status()));
  } else if (!on_.ok()) {
    error_ = ErrorOf(on_.status(), {.call = call});
  }
  if (error_ != nullptr && !Own(HandleOf(error_))) error_ = NoMemoryError();
  return error_;
}

void LauncherObject::EndOwned() {
  for (size_t i = owned_.size(); i > 0; --i) EndHandle(owned_[i - 1]);
  owned_.clear();
}

Values RunCallback(Launcher& on, const std::shared_ptr<OpenedDevice>& opened,
                   const BodyGiven& given,
                   absl::FunctionRef<gt_error(LauncherObject&, gt_launcher)> callback) {
  const Handle handle = Publish(NewObject<LauncherObject>(on, opened, given));
  const Ref<LauncherObject> self = Find<LauncherObject>(handle);
  if (!self) {
    on.Fail(WithWords(Entry::NoHandle()));
    return {};
  }
  gt_error error = nullptr;
  // What throws has failed, too; no frame in between has anything to undo.
  absl::Status thrown =
      Guarded([&] { error = callback(*self, AsPointer<gt_launcher>(handle)); });
  on.Fail(TakeError(error));
  on.Fail(std::move(thrown));
  Values outputs = std::move(self->outputs());
  self->EndOwned();
  EndHandle(handle);
  // Another thread that uses the launcher, which it must not, is let out first.
  while (!self.is_only()) std::this_thread::yield();
  return outputs;
}

LauncherEntry::LauncherEntry(const char* call, gt_launcher on)
    : call_(call), entry_(call), object_(entry_.Get<LauncherObject>(on, "on")) {
  if (!object_ || object_->is_bodys_thread()) return;
  object_ = Ref<LauncherObject>();
  entry_.Fail(absl::FailedPreconditionError(absl::StrCat(
      call, ": a launcher is used on the thread that runs its body, and this is another one")));
}

gt_error LauncherEntry::Done() {
  if (!object_) return entry_.Failed();
  return object_->ErrorFor(entry_, call_);
}

}  // namespace graphtree::c
