// Compares a replay with runs of its body on the same inputs, within a tolerance, and names the
// first op that differs.
//
//   save      what the recording writes of its caller's
//   run       the body, with its own memory painted; what it leaves is read; what was saved is put
//   run       back. Twice, with two paints: bytes that differ are nobody's work, and not compared
//   match     the recording once more: a run may have moved a workspace. Then nothing is replayed
//   replay    the call itself: what it leaves stays
//   compare   outputs, by kind, integer, layout and bytes, and what was written of the caller's
//
// Only if something differs the ops are looked at:
//
//   launches  what the body launches now against what was recorded: another kernel, value, address
//   bytes     what each op of the recording has left and no later op of it has overwritten, against
//             what the same op leaves in two more runs of the body
//
// The earliest op that either finds is named. An op whose bytes are overwritten later can only be
// found by its launch: then the op after it is named that read them, and the words say so.
//
// Threads: the tree's caller. Cost: two runs of the body, copies of what it writes, and the host
// waits; to find the op, two more.
#ifndef GRAPHTREE_GRAPHS_RUN_PARITY_CHECK_H_
#define GRAPHTREE_GRAPHS_RUN_PARITY_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graphs/budget/keeper.h"
#include "graphs/check/byte_reader.h"
#include "graphs/check/output_compare.h"
#include "graphs/listen/launch_trace.h"
#include "graphs/memory/undo.h"
#include "graphs/recording/node.h"
#include "graphs/reports/parity.h"
#include "graphs/run/body_runner.h"
#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/ground.h"
#include "graphs/run/replayer.h"
#include "graphs/tensor.h"

namespace graphtree {

// How exactly a replay must agree with its body, and where the answer goes.
struct CompareWith {
  Tolerance tolerance;
  ParityResult* result = nullptr;
};

class ParityCheck {
 public:
  // All outlive it.
  ParityCheck(Ground& ground, Books& books, Keeper& keeper, BodyRunner& body, Replayer& replayer)
      : ground_(ground), books_(books), keeper_(keeper), body_(body), replayer_(replayer) {}
  ParityCheck(const ParityCheck&) = delete;
  ParityCheck& operator=(const ParityCheck&) = delete;

  // Replays, as Replayer::Replay does and with its errors, and compares if that can be done.
  absl::Status Replay(Node* node, Call& call, const CompareWith& wanted);

 private:
  // Memory that is compared, and its elements: an output's, or else the caller's.
  struct Place {
    std::string name;
    AddressRange range;
    DType type = DType::kU8;
    std::optional<size_t> output;
  };
  // The outputs that a run has handed out, and the bytes that it has left at each place.
  struct Left {
    OutputForms forms;
    std::vector<Place> places;
    std::vector<Bytes> bytes;
  };
  // The ops that a run has launched.
  struct Traced {
    std::vector<TracedOp> ops;
    bool has_opaque = false;
  };
  using After = std::function<absl::Status(const TracedOp& op, size_t number)>;

  static std::string WhyNot(const Node& node, const Call& call);
  absl::Status SaveWrites(const Node& node, const Call& call, Undo* undo);
  // `after` is called after each op, and may be empty; `read` once the body has run.
  absl::Status RunBody(const Node& node, const Values& given, uint8_t paint, Call& call,
                       const After& after,
                       const std::function<absl::Status(const LaunchTrace&, const Values&)>& read);
  // Returns what became of the run. What it wrote of the caller's is put back; `back` is an error
  // if that failed. `first` is what the run before has left, or null: the same places are read.
  absl::Status RunAndRead(const Node& node, const Values& given, uint8_t paint, const Left* first,
                          Call& call, Left* left, Traced* traced, absl::Status* back);
  // Also notes why it cannot be compared, if a run fails. An error if nothing is to be replayed.
  absl::Status RunTwice(const Node& node, const Values& given, Call& call, Left (*runs)[2],
                        Traced* traced, ParityResult* result);
  std::vector<Place> PlacesOf(const Node& node, const Call& call, const LaunchTrace& trace,
                              const Values& outputs);
  absl::Status ReadAt(std::vector<Place> places, const Values& outputs, Call& call, Left* left);
  // Where the replay differs from both runs of its body, in words; empty if nowhere.
  static std::string Difference(const Function& function, const Left& run, const Left& again,
                                const Left& replay, const Tolerance& tolerance);
  absl::Status Compare(Node* node, Call& call, const Values& given, const CompareWith& wanted);
  // The op that differs first: its number, or -1, and what is to be said of it.
  int64_t FindOp(const Node& node, Call& call, const Values& given,
                 const std::vector<TracedOp>& ops, const Tolerance& tolerance, std::string* text);
  int64_t FindByBytes(const Node& node, Call& call, const Values& given,
                      const std::vector<TracedOp>& ops,
                      const std::vector<const Op*>& recorded, const Tolerance& tolerance,
                      std::string* text);

  Ground& ground_;
  Books& books_;
  Keeper& keeper_;
  BodyRunner& body_;
  Replayer& replayer_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_PARITY_CHECK_H_
