// Kept outputs outlive their step: every run of their function puts them into memory of their own,
// their place, in the lasting region.
//
//   warm-up   body --> output in the step region --copy on the stream--> its place        MoveAll
//   eager     the body allocates in the lasting region anyway                             CountAll
//   record    the ops that make the output and read it are found, and patched to the place;
//             where one is hidden, a last op of the graph copies the output there         Capture
//   replay    the same patches: each run has a place of its own                           Place
//
// An output that is an input lasts as long as that input. One that ends with a step, of this tree
// or of another one, is an error in every kind of run.
//
// Functions that run later see the lasting place only, so the output stays when a step ends or the
// books are restored. The place is free again when the last handle goes; the next run then gets the
// same one and patches nothing. Where two places alternate, two executables take turns (section.h).
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_KEPT_OUTPUTS_H_
#define GRAPHTREE_GRAPHS_RUN_KEPT_OUTPUTS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/stream.h"
#include "graphs/match/function.h"
#include "graphs/recording/node.h"
#include "graphs/run/books.h"
#include "graphs/run/draft.h"
#include "graphs/run/ground.h"
#include "graphs/tensor.h"

namespace graphtree {

class KeptOutputs {
 public:
  // Both outlive it.
  KeptOutputs(Ground& ground, Books& books) : ground_(ground), path_(books.path()) {}
  KeptOutputs(const KeptOutputs&) = delete;
  KeptOutputs& operator=(const KeptOutputs&) = delete;

  // After a warm-up: copies kept outputs to their places, and makes `outputs` look there.
  absl::Status MoveAll(const Function& function, Stream& stream, Values* outputs);
  // After an eager run, whose outputs lie in the lasting region: counts those that are kept.
  absl::Status CountAll(const Function& function, const Values& outputs);
  // The body is done, the capture still open: notes the kept outputs in the node, and captures the
  // copies of those that cannot be patched.
  absl::Status Capture(const Values& originals, Draft* draft);
  // Finds the ops of those copies in the graph.
  static absl::Status FindCopies(Draft* draft);
  // REQUIRES: the node's outputs are known. Notes whether it hands out inputs as kept outputs.
  static void NoteInputs(Node* node);
  // REQUIRES: the node keeps inputs. An error if the call brings one there that ends with a step;
  // an eager run of the call is the same error.
  static absl::Status CheckInputs(const Node& node, absl::Span<const Value> inputs);

  // A new place, of as many bytes as the layout has.
  absl::StatusOr<Tensor> New(const Function& function, const Layout* bytes, Stream& stream);
  // Gives every kept output of the node a place for the next launch; all or none.
  absl::Status Place(Node* node, Stream& stream);
  // Whether the node's kept outputs fit below the limit of kept bytes, in whatever way a call runs.
  bool IsWithinLimit(const Node& node) const;

 private:
  absl::StatusOr<bool> MustMove(const Function& function, uint32_t output, const Values& outputs);
  absl::Status CaptureCopies(const std::vector<IngestCopy>& copies, Draft* draft);
  bool IsNoted(const Node& node, const Storage& storage) const;

  Ground& ground_;
  Path& path_;
};

// If the storage is that of a kept output of the node, makes the slot one of kind kKept.
bool MarkKept(const Node& node, const Storage& storage, OutputSlot* slot);
Value ViewOfKept(const Node& node, const OutputSlot& slot);
void ForgetPlaces(Node* node);
// Patches the ops of the section's executable that copy outputs out: they copy to these places.
absl::Status PatchCopiesOut(Section* section, const Values& places);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_KEPT_OUTPUTS_H_
