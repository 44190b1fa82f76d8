// The writes of a body under capture: those that the recording must know of, and the bytes that
// must be saved before a section that writes them is launched.
//
//   an op of the body writes         Note: its range is saved before its section is launched
//   a part writes                    SaveOfPart: saved at once, as a part runs while it is recorded
//   either writes to an input
//   that the recording copies        Draft::written: the recording is made again with the input
//                                    taken otherwise
//
// Threads: the capture's thread. Cost: a look at each input for each write, while a function is
// recorded.
#ifndef GRAPHTREE_GRAPHS_RUN_CAPTURE_WRITES_H_
#define GRAPHTREE_GRAPHS_RUN_CAPTURE_WRITES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "device/address.h"
#include "graphs/memory/part_runner.h"
#include "graphs/memory/spoilt_ranges.h"
#include "graphs/memory/undo.h"
#include "graphs/recording/cut.h"
#include "graphs/run/call.h"
#include "graphs/run/draft.h"
#include "graphs/run/ground.h"
#include "graphs/tensor.h"

namespace graphtree {

class CaptureWrites {
 public:
  // All outlive this object. `originals` are the call's inputs.
  CaptureWrites(Ground& ground, const Call& call, const Values& originals, Draft& draft);

  // These bytes of the tree's own memory are somebody's, and must be saved before a write.
  void Show(AddressRange range) { spoilt_.Show(range); }
  // An op of the body, of the section that is captured now, writes to the tensor.
  void Note(const Tensor& tensor);
  // A part is about to write.
  void SaveOfPart(const PartRunner::Write& write);
  // Saves what the section that was captured last will write. `spoilt` gets the ranges that a
  // replay must save at that place.
  absl::Status SaveOfSection(std::vector<SpoiltBytes>* spoilt);

  // All saved bytes are as they were before the call.
  absl::Status Restore() { return undo_.Restore(); }

 private:
  // A write by the body, or by a part whose break does not tell of it. `serial` is that of the
  // storage that is written to, where that is known; else 0.
  void NoteWrite(AddressRange range, uint64_t serial);
  // Notes the copied inputs that such a write reaches. Returns whether the bytes are those of an
  // input whose writes the node lists already.
  bool NoteInputs(AddressRange range, uint64_t serial);
  SpoiltBytes SpoiltAt(AddressRange range) const;
  std::vector<AddressRange> WritesOfSection();

  Ground& ground_;
  const Call& call_;
  const Values& originals_;
  Draft& draft_;

  SpoiltRanges spoilt_;
  Undo undo_;
  std::vector<AddressRange> noted_;  // since the last section was saved
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_CAPTURE_WRITES_H_
