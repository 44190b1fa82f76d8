// Checked mode finds writes that a body does not declare and memory that is gone, and adds call
// stacks to errors.
//
//   a call that is checked   NoteCaller        takes the stack of the caller
//   before a launch          InputsAreLive     an input whose memory is gone is an error
//                            OutsideIsLive     so is other memory that a recording points to
//   around a run at once     Begin ... End     all inputs are digested (body_check.h): a write that
//                                              nothing declares is warned of
//   after a capture          HostValuesAgree   the body gave its ops the values of its last run
//   after the work           Await             a failure of the device names this call's ops
//
// Of a function that is not checked only the first warm-up is looked at, where that is cheap.
//
// Threads: the tree's caller. Cost of a call that is not checked: one test.
#ifndef GRAPHTREE_GRAPHS_RUN_CHECKED_MODE_H_
#define GRAPHTREE_GRAPHS_RUN_CHECKED_MODE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graphs/check/body_check.h"
#include "graphs/history/call_stack.h"
#include "graphs/inputs/access_log.h"
#include "graphs/inputs/pointer_log.h"
#include "graphs/listen/op_log.h"
#include "graphs/recording/node.h"
#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/ground.h"

namespace graphtree {

class CheckedMode {
 public:
  // All outlive it.
  CheckedMode(Ground& ground, const Books& books, CallJournal& journal)
      : ground_(ground), books_(books), journal_(journal) {}
  CheckedMode(const CheckedMode&) = delete;
  CheckedMode& operator=(const CheckedMode&) = delete;

  bool Applies(const Function& function) const {
    return ground_.options.check || function.options.check;
  }
  // Called once for each call that is checked, before anything else.
  void NoteCaller(Call* call);
  // The call went well: notes the function that ran last, and the bytes of the step region that the
  // call used.
  void NoteRun(const Call& call, absl::Span<const AddressRange> used) {
    ground_.history->SetLastRun(call.function.id);
    if (call.from != 0) {
      ground_.history->NoteWrites(used, {call.function.id, books_.step(), call.from});
    }
  }

  // Errors that name memory of the caller's that is gone, before anything runs on it.
  absl::Status InputsAreLive(const Call& call);
  absl::Status OutsideIsLive(const Node& node, const Call& call);
  // Notes in the node the memory outside of the tree that its ops point to, each range once. Inputs
  // that may be elsewhere in the next call are left out.
  void NoteOutside(const OpLog& log, absl::Span<const MarkedInput> marked, Node* node);

  // A body is about to run at once. Sets `check`, or leaves it null where nothing is checked. A
  // first warm-up checks doubtful and cheap inputs, in checked mode or not. `copied` tells which
  // inputs are copies.
  absl::Status Begin(const Call& call, bool is_warm_up, absl::Span<const Value> inputs,
                     const std::vector<bool>& copied, Stream& stream, AccessLog* log,
                     std::unique_ptr<BodyCheck>* check);
  // The body has run. An input that was found to be written counts as mutated from here on, and is
  // noted in `written`.
  absl::Status End(Call& call, Stream& stream, BodyCheck* check, std::vector<bool>* written);

  // The body was captured: warns of a value that it gave an op and that was another one in its last
  // run at once. An error if the tree is strict.
  absl::Status HostValuesAgree(const Call& call, const OpLog& log);

  // Waits for the work of a call that is checked.
  absl::Status Await(const Call& call, absl::Span<const OpSite> sites, Stream& stream);
  // The same failure, with the stacks of the call and of the launches of the ops that it names.
  absl::Status WithStacks(const absl::Status& status, const Call& call,
                          absl::Span<const OpSite> sites) const;
  std::string ToldCaller(const Call& call) const;

 private:
  absl::Status TellOfWrites(Call& call, absl::Span<const UndeclaredWrite> writes);

  Ground& ground_;
  const Books& books_;
  CallJournal& journal_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_CHECKED_MODE_H_
