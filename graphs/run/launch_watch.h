// Stands around the single ops that a body or part launches, where somebody wants that: hooks of
// its function are asked and told, observers are told, and of a capture the log of identities notes
// what was captured.
//
//   Before   identity of the op --> before_launch --> observers: begin
//   After                       --> observers: end --> after_launch --> identity log
//
// Threads: the body's. Cost: some strings for each op. A run that nobody watches has no watch, but
// for captures, which always note identities.
#ifndef GRAPHTREE_GRAPHS_RUN_LAUNCH_WATCH_H_
#define GRAPHTREE_GRAPHS_RUN_LAUNCH_WATCH_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "device/observer.h"
#include "device/op_identity.h"
#include "graphs/body/op_watch.h"
#include "graphs/listen/identity_log.h"
#include "graphs/match/function.h"
#include "graphs/run/call_journal.h"
#include "graphs/scope.h"

namespace graphtree {

class LaunchWatch : public OpWatch {
 public:
  // All outlive the watch. `log` is null where nothing is captured.
  LaunchWatch(CallJournal& journal, const Function& function, const ScopeStack& scopes,
              RunKind run, IdentityLog* log = nullptr)
      : journal_(journal), function_(function), scopes_(scopes), run_(run), log_(log) {}

  // Whether anybody wants to stand around the ops of such a run now.
  static bool IsWanted(const CallJournal& journal, const Function& function) {
    return journal.wants_ops() || function.options.hooks.any();
  }
  // A watch for a run that captures nothing; none if nobody wants it.
  static LaunchWatch* For(CallJournal& journal, const Function& function,
                          const ScopeStack& scopes, RunKind run,
                          std::optional<LaunchWatch>* watch) {
    if (!IsWanted(journal, function)) return nullptr;
    return &watch->emplace(journal, function, scopes, run);
  }

  // What is captured from here on is part of this recording's section.
  void BeginSection(uint64_t recording, uint64_t section) {
    recording_ = recording;
    section_ = section;
  }
  // Whether a hook has stopped a launch.
  bool has_refused() const { return has_refused_; }

  absl::Status Before(const OpLaunch& op) override;
  void After(const OpLaunch& op, const absl::Status& launched) override;

 private:
  LaunchInfo InfoOf(const OpLaunch& op) const;
  void Tell(const OpLaunch& op, bool begins, bool ok);

  CallJournal& journal_;
  const Function& function_;
  const ScopeStack& scopes_;
  const RunKind run_;
  IdentityLog* const log_;
  uint64_t recording_ = kNoRecording;
  uint64_t section_ = 0;
  bool has_refused_ = false;
  // Of the op that is launched now.
  OpIdentity identity_;
  std::optional<size_t> captured_before_;  // how many ops, where that is not known by counting
  uint64_t launch_ = 0;                    // 0: its begin was not told
  Audience audience_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_LAUNCH_WATCH_H_
