// What became of a shape's recording, and whether the shape may serve steps: a small state machine
// without a device.
//
//   event       what is remembered after it
//   Recorded    there is a recording; any failure is forgotten
//   Replayed    the same: Record has found a good one, and ran it
//   Hit         a step that went on from no other was replayed: there is a first recording
//   Missed      no recording any more, where the call shows that; the next step makes another
//   Failed      why; no recording, and nothing that waits for a commit; so until Record
//   FailedServing  the same, but steps try again: after 1, 2, 4, ... that went by without it
//   Waited      a step that it would have served went by
//   Committed   the recording waits no more
//   Exclude     whether the caller has excluded the shape; a shape that is included is tried again
//
// A recording lies in the tree behind the steps before it. A step that begins anew is served only
// by a recording that was made in such a step ("first"); so that is what Record makes.
//
// Pure.
#ifndef GRAPHTREE_RUNTIME_CORE_SHAPE_LIFE_H_
#define GRAPHTREE_RUNTIME_CORE_SHAPE_LIFE_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "graphs/tree_stats.h"
#include "runtime/why.h"

namespace graphtree {

class ShapeLife {
 public:
  using Generations = std::vector<uint64_t>;  // of the program's dependencies, in their order

  // `epoch` is to be committed before the recording serves; 0: none.
  void Recorded(bool is_first, Generations generations, uint64_t epoch) {
    // With what has changed since, a first recording from before serves no more.
    is_recorded_first_ = is_first || (is_recorded_first_ && generations == generations_);
    epoch_ = epoch;
    Serve(std::move(generations));
  }
  void Replayed(Generations generations) {
    is_recorded_first_ = true;
    Serve(std::move(generations));
  }
  void Hit() { is_recorded_ = is_recorded_first_ = true; }
  // A step that was no replay. True if its recording is gone: evicted, or stale.
  bool Missed(const LastCall& last, bool is_first) {
    // A run at once may have any reason, and the recording be good; but for these.
    const bool has_none = last.route != CallRoute::kRanEagerly ||
                          last.reason == Reason::kRecordedApart || last.reason == Reason::kGivenUp;
    const bool is_gone = has_none && is_first && is_recorded_first_;
    if (is_gone) is_recorded_ = is_recorded_first_ = false;
    return is_gone;
  }
  // No step is served until the shape is recorded, or included again. REQUIRES: not kHit.
  void Failed(Why why) {
    unless_recorded_ = why;
    is_recorded_ = is_recorded_first_ = may_be_made_again_ = false;
    epoch_ = pause_ = 0;
  }
  // A step failed to record the shape: not for ever, but no more than `most_pause` steps long.
  void FailedServing(Why why, uint64_t most_pause) {
    const bool may_be_made_again = may_be_made_again_;
    Failed(why);
    may_be_made_again_ = may_be_made_again;
    pause_ = std::min(uint64_t{1} << std::min<uint64_t>(failures_++, 40), most_pause);
  }
  // True if it is to be tried again from now on.
  bool Waited() {
    if (pause_ == 0 || --pause_ > 0) return false;
    unless_recorded_ = Why::kHit;
    return true;
  }
  void Committed() { epoch_ = 0; }
  void Exclude(bool is_excluded) {
    is_excluded_ = is_excluded;
    unless_recorded_ = Why::kHit;
    failures_ = pause_ = 0;
  }

  // As a ShapeTable takes it. What was recorded ahead and was evicted since is recorded again by
  // its next step, also where other shapes wait for Record.
  Why usable(bool records_while_serving) const {
    if (is_excluded_) return Why::kExcluded;
    if (epoch_ != 0) return Why::kNotCommitted;
    if (unless_recorded_ != Why::kHit) return unless_recorded_;
    return records_while_serving || may_be_made_again_ ? Why::kHit : Why::kNotRecorded;
  }
  bool is_excluded() const { return is_excluded_; }
  bool is_recorded() const { return is_recorded_; }
  bool is_recorded_first() const { return is_recorded_first_; }
  uint64_t epoch() const { return epoch_; }
  // With which the last recording was made.
  const Generations& generations() const { return generations_; }
  // So many steps go by before one tries to record it again; 0: none has to.
  uint64_t pause() const { return pause_; }

 private:
  void Serve(Generations generations) {
    generations_ = std::move(generations);
    is_recorded_ = may_be_made_again_ = true;
    unless_recorded_ = Why::kHit;
    failures_ = pause_ = 0;
  }

  bool is_excluded_ = false;
  bool is_recorded_ = false;
  bool is_recorded_first_ = false;
  bool may_be_made_again_ = false;
  Why unless_recorded_ = Why::kHit;  // why the last try to record it failed
  uint64_t failures_ = 0;  // of steps that tried to record it, in a row
  uint64_t pause_ = 0;
  uint64_t epoch_ = 0;
  Generations generations_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_SHAPE_LIFE_H_
