// Checked mode: what a body did and did not say, memory that is gone, and errors with call stacks.
//
//   a call that is checked   NoteCaller        the stack of whoever called
//   before a launch          InputsAreLive     memory of the caller's that is gone is named
//                            OutsideIsLive     the same of what a recording points to
//   around a run at once     Begin ... End     every input is digested (body_check.h): a write that
//                                              nobody declared is told
//   after the work           Await             a device's failure names the ops of this call
//
// Of calls that are not checked, the first warm-up alone is looked at, where that is cheap.
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
  // Once for each call that is checked, before anything else of it is.
  void NoteCaller(Call* call);
  // The call went well: who ran last, and which bytes of the steps' memory it was given.
  void NoteRun(const Call& call, absl::Span<const AddressRange> used) {
    ground_.history->SetLastRun(call.function.id);
    if (call.from != 0) {
      ground_.history->NoteWrites(used, {call.function.id, books_.step(), call.from});
    }
  }

  // Memory of the caller's that is gone, named before anything runs on it.
  absl::Status InputsAreLive(const Call& call);
  absl::Status OutsideIsLive(const Node& node, const Call& call);
  // What a recording's ops point to outside of the steps' memory, each range once, but for inputs
  // that may be elsewhere at the next call.
  void NoteOutside(const OpLog& log, absl::Span<const MarkedInput> marked, Node* node);

  // A body is about to run at once; `check` is null where nothing is looked at. A first warm-up
  // looks at what is doubtful and cheap, in checked mode or not. `copied` tells which inputs are
  // copies.
  absl::Status Begin(const Call& call, bool is_warm_up, absl::Span<const Value> inputs,
                     const std::vector<bool>& copied, Stream& stream, AccessLog* log,
                     std::unique_ptr<BodyCheck>* check);
  // The body has run. An input that was found to be written counts as mutated from here on, and is
  // noted in `written`.
  absl::Status End(Call& call, Stream& stream, BodyCheck* check, std::vector<bool>* written);

  // Waits for the work of a call that is checked.
  absl::Status Await(const Call& call, absl::Span<const OpSite> sites, Stream& stream);
  // The same failure, with where the ops that it names were launched, and the function called.
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
