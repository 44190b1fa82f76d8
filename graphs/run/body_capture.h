// Captures a body, section by section.
//
//   Run          BeginSection   a capture opens on the tree's own stream
//                body ...       its ops are captured
//                Cut            the capture ends; the section is instantiated and launched on the
//                               caller's stream, so that the part sees real data, and the part runs
//                               there; BeginSection
//                body ...
//                               the last section is captured, and not launched yet
//   LaunchLast   after the pool's scope: the last section is launched
//   UndoEffects     if anything failed: the random numbers that were drawn and the bytes of the
//                caller's that were written are as they were before the call
//
// Nearly all bodies have no break and one section. The body's inputs and its memory do not change
// at a cut: it is one recording, in one scope of the pool.
//
// Threads: the tree's caller. Used once.
#ifndef GRAPHTREE_GRAPHS_RUN_BODY_CAPTURE_H_
#define GRAPHTREE_GRAPHS_RUN_BODY_CAPTURE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "allocator/pool.h"
#include "graphs/eager_part.h"
#include "graphs/inputs/random_words.h"
#include "graphs/inputs/rehearsal.h"
#include "graphs/listen/identity_log.h"
#include "graphs/memory/part_runner.h"
#include "graphs/recording/given_inputs.h"
#include "graphs/reports/duration_counts.h"
#include "graphs/run/body_runner.h"
#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/capture_listeners.h"
#include "graphs/run/capture_writes.h"
#include "graphs/run/checked_mode.h"
#include "graphs/run/draft.h"
#include "graphs/run/executables.h"
#include "graphs/run/functions.h"
#include "graphs/run/ground.h"
#include "graphs/run/kept_outputs.h"
#include "graphs/run/launch_watch.h"
#include "graphs/run/section_launcher.h"

namespace graphtree {

class BodyCapture : public Cutter {
 public:
  // What a capture uses; all outlive it.
  struct Needs {
    Ground& ground;
    Books& books;
    CallJournal& journal;
    CheckedMode& checks;
    Functions& functions;
    Executables& executables;
    KeptOutputs& kept;
    SectionLauncher& launcher;
    BodyRunner& body;
  };
  // All outlive the capture. `originals` are the call's inputs, without the handles that the body
  // is given. `rehearsal` may be null; if it is not done, this recording becomes the rehearsal.
  BodyCapture(const Needs& needs, Call& call, const Values& originals, GivenInputs& given,
              CaptureScope& scope, Rehearsal* rehearsal);

  // Captures the body. The draft has the result, with its status.
  void Run(InputPlan plan, Values to_body);
  Draft& draft() { return draft_; }

  absl::Status Cut(BreakRequest request) override;
  // REQUIRES: the draft is good, and the caller's stream comes after all work that the section must
  // wait for.
  absl::Status LaunchLast();
  // The draft's node is gone after it.
  absl::Status UndoEffects();
  // Lets go of memory that only the recording itself needed.
  void ReleaseOwn() { words_.Release(); }
  const StepAllocator& allocator() const { return allocator_; }

 private:
  void StartNode(InputPlan plan);
  void ShowInputs();
  std::vector<const Storage*> Pinned() const;
  uint64_t LastSerialBefore() const;
  void Capture(Launcher* on, Values* inputs);
  void Finish(Launcher* on);
  absl::Status BeginSection();
  // Ends the section's capture. If the body has failed already its own error is returned.
  absl::Status EndSection(const absl::Status& body);
  // Makes the executable of the section that ended last. False if that fails; the draft has the
  // error.
  bool FinishGraph();
  absl::Status ContinueOnCallers();
  // REQUIRES: the caller's stream comes after all work that the section must wait for.
  absl::Status LaunchEndedSection();
  // What the ops of the section are, whose capture has ended.
  std::shared_ptr<const GraphIdentity> IdentityOfEnded(const Graph& graph);
  std::string OpenEnds();
  void KeepRehearsal();
  // False if the body asks for something that forbids a recording; the draft has the error.
  bool TakeRequests(BodyRequests* requests);
  // Makes the node hold memory that the body used without being given it, so that it does not go.
  void HoldUsed();
  // Notes the outputs of this path that the body used without being given them. Every replay has
  // them where they were, so the node need not hold them.
  void NoteNeeds();
  size_t GeneratorsOf(size_t section) const;
  size_t section_number() const { return draft_.node->cuts.size(); }

  const Needs needs_;
  Call& call_;
  const Values& originals_;
  GivenInputs& given_;
  CaptureScope& scope_;
  Stream& capture_stream_;

  // What the path held before this recording, by the serial of the storage.
  std::vector<std::pair<uint64_t, OutputRef>> held_before_;

  // The recording that is being made.
  Draft draft_;
  StepAllocator allocator_;
  RandomWords words_;
  RecordedRandom random_;
  std::vector<OpToken> tokens_;  // of this section's ingest ops
  bool capturing_ = false;
  Timing timing_;  // since the section's capture began

  // Effects of the sections that were launched and of the parts that ran.
  EagerRandom taken_;
  BodyRequests asked_by_parts_;
  CaptureWrites writes_;
  PartRunner parts_;

  IdentityLog identities_;  // of this section's ops
  LaunchWatch watch_;
  std::optional<LaunchWatch> parts_watch_;

  Launcher* on_ = nullptr;  // that the body launches through
  std::unique_ptr<CaptureListeners> listeners_;  // from the moment when the inputs are ready
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_BODY_CAPTURE_H_
