// A body under capture, section by section.
//
//   Run          BeginSection   a capture opens on the tree's own stream
//                body ...       its ops are captured
//                Cut            the capture ends; the section is instantiated and launched on the
//                               caller's stream, so that the part sees real data, and the part runs
//                               there; BeginSection
//                body ...
//                               the last section is captured, and not launched yet
//   LaunchLast   after the pool's scope
//   TakeBack     if anything failed: the random numbers that were drawn and the bytes of the
//                caller's that were written are as they were before the call
//
// Nearly all bodies have no break and one section. What the body is given and where its memory
// lies does not change at a cut: it is one recording, in one scope of the pool.
//
// Threads: the tree's caller. Used once.
#ifndef GRAPHTREE_GRAPHS_RUN_BODY_CAPTURE_H_
#define GRAPHTREE_GRAPHS_RUN_BODY_CAPTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "allocator/pool.h"
#include "graphs/check/hold_log.h"
#include "graphs/eager_part.h"
#include "graphs/inputs/pointer_log.h"
#include "graphs/inputs/random_words.h"
#include "graphs/inputs/rehearsal.h"
#include "graphs/listen/op_log.h"
#include "graphs/listen/work_log.h"
#include "graphs/listen/write_log.h"
#include "graphs/memory/part_runner.h"
#include "graphs/memory/spoilt_ranges.h"
#include "graphs/memory/undo.h"
#include "graphs/recording/given_inputs.h"
#include "graphs/run/body_runner.h"
#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/checked_mode.h"
#include "graphs/run/draft.h"
#include "graphs/run/executables.h"
#include "graphs/run/functions.h"
#include "graphs/run/ground.h"
#include "graphs/run/kept_outputs.h"
#include "graphs/run/section_launcher.h"

namespace graphtree {

class BodyCapture : public Cutter {
 public:
  // What it uses; all outlive it.
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
  // All outlive it. `originals` are the call's inputs without what the body is given. `rehearsal`
  // may be null; one that is not done makes this recording one that is only compared.
  BodyCapture(const Needs& needs, Call& call, const Values& originals, GivenInputs& given,
              CaptureScope& scope, Rehearsal* rehearsal);

  // What came of it is in the draft, with its status.
  void Run(InputPlan plan, Values to_body);
  Draft& draft() { return draft_; }

  absl::Status Cut(BreakRequest request) override;
  // REQUIRES: the draft is good, and the caller's stream is after all that it must wait for.
  absl::Status LaunchLast();
  // The draft's node is gone after it.
  absl::Status TakeBack();
  // Memory that only the recording itself needed.
  void ReleaseOwn() { words_.Release(); }
  const StepAllocator& allocator() const { return allocator_; }

 private:
  void StartNode(InputPlan plan);
  void ShowInputs();
  std::vector<const Storage*> Pinned() const;
  void Capture(Launcher* on, Values* inputs);
  void Finish(Launcher* on);
  absl::Status BeginSection();
  // Ends the capture; a body that has failed already gives its own error.
  absl::Status EndSection(const absl::Status& body);
  // Gives the section that ended last its executable. False if it cannot have one, and the draft
  // says so.
  bool FinishGraph();
  absl::Status ContinueOnCallers();
  // REQUIRES: the caller's stream is after all that the section must wait for.
  absl::Status LaunchSection();
  void NoteWrite(const Tensor& tensor);
  absl::Status SaveSpoilt(graphtree::Cut* cut);
  void SaveOfPart(const Tensor& tensor, bool beside);
  void NoteWriteOfPart(AddressRange range);
  SpoiltBytes SpoiltAt(AddressRange range) const;
  std::string OpenEnds();
  void KeepRehearsal();
  // False if what the body asks for forbids that it becomes a node.
  bool TakeRequests(BodyRequests* requests);
  // What the body used without being given it, and what would else be nobody's.
  void HoldUsed();
  bool IsMade(const Storage* storage) const;
  bool IsNamed(AddressRange memory) const;
  // False if work of the body is not in the recording, and the draft says so.
  bool HasAllWork();
  size_t GeneratorsOf(size_t section) const;
  size_t section_number() const { return draft_.node->cuts.size(); }

  const Needs needs_;
  Call& call_;
  const Values& originals_;
  GivenInputs& given_;
  CaptureScope& scope_;
  Stream& side_;

  // What is made.
  Draft draft_;
  StepAllocator allocator_;
  RandomWords words_;
  RecordedRandom random_;
  std::vector<OpToken> tokens_;  // of this section's ingest ops
  bool capturing_ = false;

  // What the sections that were launched, and the parts, have done already.
  EagerRandom taken_;
  BodyRequests asked_by_parts_;
  SpoiltRanges spoilt_;
  Undo undo_;
  PartRunner parts_;

  // Who listens to the body, from the inside out, and what they fail.
  Launcher* on_ = nullptr;
  std::unique_ptr<PointerLog> log_;
  std::unique_ptr<OpLog> ops_;
  std::unique_ptr<HoldLog> hold_log_;
  std::unique_ptr<WriteLog> write_log_;
  std::unique_ptr<WorkLog> work_log_;
  std::vector<AddressRange> writes_;  // since the last cut
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_BODY_CAPTURE_H_
