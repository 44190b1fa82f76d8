// Makes an op's identity, and hands it to all who want it.
#include "graphs/run/launch_watch.h"

#include <utility>

#include "absl/status/statusor.h"
#include "graphs/run/hook_calls.h"

namespace graphtree {

LaunchInfo LaunchWatch::InfoOf(const OpLaunch& op) const {
  LaunchInfo info;
  info.function = function_.name;
  info.run = run_;
  info.tree = journal_.observers().tree();
  info.recording = recording_;
  info.section = section_;
  info.op = &identity_;
  info.stream = op.stream;
  return info;
}

void LaunchWatch::Tell(const OpLaunch& op, bool begins, bool ok) {
  OpEvent event;
  event.begins = begins;
  event.ok = ok;
  event.run = run_;
  event.function = function_.name;
  event.op = op.name;
  event.stream = op.stream;
  event.identity = &identity_;
  event.tree = journal_.observers().tree();
  event.launch = launch_;
  journal_.TellOfThrown(journal_.observers().Tell(event, audience_));
}

absl::Status LaunchWatch::Before(const OpLaunch& op) {
  Identify(op, scopes_.text(), &identity_);
  captured_before_.reset();
  if (log_ != nullptr && op.may_follow_others) {
    const absl::StatusOr<size_t> count = op.stream->CapturedOpCount();
    captured_before_ = count.ok() ? *count : IdentityLog::kNotKnown;
  }
  absl::Status may = AskBefore(function_.options.hooks, InfoOf(op));
  if (!may.ok()) {
    has_refused_ = true;
    return may;
  }
  launch_ = 0;
  if (!journal_.observers().wants_ops()) return may;
  audience_ = Observers::Now();
  launch_ = journal_.observers().NextLaunch();
  Tell(op, true, true);
  return may;
}

void LaunchWatch::After(const OpLaunch& op, const absl::Status& launched) {
  if (launch_ != 0) Tell(op, false, launched.ok());
  journal_.CountThrown(TellAfter(function_.options.hooks, InfoOf(op), launched));
  if (log_ == nullptr || !launched.ok() || op.is_nothing) return;
  log_->Add(std::move(identity_), captured_before_);
}

}  // namespace graphtree
