// Asks before a launch, and tells after it.
#include "graphs/run/hook_calls.h"

#include <utility>

#include "device/base/guarded_call.h"
#include "graphs/history/stack_marks.h"
#include "graphs/run/located.h"

namespace graphtree {

absl::Status AskBefore(const FunctionHooks& hooks, const LaunchInfo& launch) {
  if (hooks.before_launch == nullptr) return absl::OkStatus();
  absl::Status may;
  CallbackMark callback;
  absl::Status thrown = Guarded([&] {
    callback.Enter();
    may = hooks.before_launch(launch);
  });
  if (!thrown.ok()) may = std::move(thrown);
  return may.ok() ? may : Located(may, "before_launch stopped the launch");
}

absl::Status TellAfter(const FunctionHooks& hooks, const LaunchInfo& launch,
                       const absl::Status& launched) {
  if (hooks.after_launch == nullptr) return absl::OkStatus();
  CallbackMark callback;
  return GuardedBy("after_launch", [&] {
    callback.Enter();
    hooks.after_launch(launch, launched);
  });
}

}  // namespace graphtree
