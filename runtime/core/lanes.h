// A runtime's lanes, each with a tree of its own, and the memory that those of one device share.
//
//   device 0 --- lane 0, lane 1        share RuntimeOptions::pool_bytes (allocator/shared_bytes.h)
//   device 1 --- lane 0                likewise, and RuntimeOptions::shared
//
// A lane is added with its first program and stays, so a pointer to one is good for as long as the
// runtime. Only if that program could not be made the lane goes again.
//
// Threads: lanes are added while no step is under way; what else is here may be called by several,
// each with a lane of its own.
#ifndef GRAPHTREE_RUNTIME_CORE_LANES_H_
#define GRAPHTREE_RUNTIME_CORE_LANES_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "allocator/shared_bytes.h"
#include "device/device.h"
#include "graphs/shared_budget.h"
#include "graphs/tree_options.h"
#include "runtime/core/lane.h"
#include "runtime/runtime_options.h"

namespace graphtree {

class Lanes {
 public:
  // A device's number, then that of a lane among the device's.
  using Place = std::pair<uint32_t, uint32_t>;

  // `options` are the runtime's, and outlive the lanes.
  Lanes(std::vector<Device*> devices, const RuntimeOptions& options);
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  size_t devices() const { return devices_.size(); }
  const std::vector<Device*>& all_devices() const { return devices_; }
  // Null if there is none.
  Lane* Find(Place place) const;
  // REQUIRES: there is such a device, and no such lane.
  absl::StatusOr<Lane*> Add(Place place);
  // REQUIRES: there is such a lane, and nothing was ever run in it.
  void Remove(Place place) { lanes_.erase(place); }
  template <typename Call>
  void ForEach(const Call& call) const {
    for (const auto& [place, lane] : lanes_) call(*lane);
  }

  // An error if a step is open in some lane: `what` cannot be done then.
  absl::Status CheckNoStep(absl::string_view what) const;
  // An error if this thread is in a call of some lane, most likely in a body, while another thread
  // is in a call of another one. Whoever waits for all lanes asks this first, since two bodies that
  // do so would wait for each other (watch/watch.h). `what`: "'weights' was touched".
  absl::Status CheckMayWaitForAll(absl::string_view what) const;
  // The lane that this thread is in a call of; null: none.
  const Lane* InCallOf() const;
  // "while 'decode' ran for tokens=8", "between steps".
  std::string WhoRuns() const;
  bool AnyRuns() const;
  // An error if this is what a step lets go as it begins (Lane::is_beginning).
  absl::Status CheckNoneBegins(absl::string_view what) const;
  // A call in `own` was no replay: where lanes share memory, notes how many recordings have gone
  // for it.
  void NoteGivenUp(Lane& own) const;
  // Before a call that may take memory: where the step's lane may come to lack some of what the
  // lanes share, those that have no step give back what nobody uses there. What the step takes is
  // known from its shape's last run, or guessed from the lane's others; a step that may record also
  // takes what earlier tries have lacked. `takes_recordings`: where it is known, and that does not
  // do, they give recordings up, too (Tree::GiveMemory).
  void MakeRoomFor(const OpenStep& step, bool takes_recordings = false);
  // The step's body has run, and may have found no memory.
  void NoteAsked(const OpenStep& step, bool has_found_none);
  // A recording of the shape, which is of the lane, has found no memory. How much it lacked nobody
  // knows: the next one is taken to need a piece more, and so on.
  void NoteRecordingLacked(Lane& own, ShapeState* shape);
  // Before the lane's pool is woken, by the thread that has the lane. An error if what the lanes
  // share has not so many bytes left though others have given back what nobody uses there.
  absl::Status MakeRoomToWake(Lane& own, uint64_t bytes);
  // A device lacked memory for something beside its lanes: those that have no step give back what
  // nobody uses there, and so do `own`, which the caller has. True if some was given back.
  bool GiveBackIdle(absl::Span<Lane* const> own = {});
  // Makes it, for something beside the lanes; where that finds no memory and lanes give some back,
  // makes it once more. `make` returns a status or a value with one.
  template <typename Make>
  auto MakeBeside(const Make& make, absl::Span<Lane* const> own = {}) {
    auto made = make();
    if (absl::IsResourceExhausted(StatusOf(made)) && GiveBackIdle(own)) made = make();
    return made;
  }
  // A program has left the lane: gives back what nobody uses there. REQUIRES: it has no step.
  void GiveBack(Lane& own);
  // Where memory was lacking: the same error, with what the lanes share, and who has it.
  absl::Status Explained(const Lane& own, const absl::Status& status) const;
  // If a lane of the device has found nothing left to record in (RuntimeOptions::shared), though it
  // had less than its share: has the others give up what they have beyond theirs, but for `own` and
  // those that have a step under way. If `own` has found no memory these give back all that nobody
  // uses there. True if a call may now find what it did not find before.
  bool AskOthers(Lane& own);
  // Waits for all work of theirs. REQUIRES: they are used no more.
  void CloseTrees();

 private:
  static const absl::Status& StatusOf(const absl::Status& status) { return status; }
  template <typename T>
  static const absl::Status& StatusOf(const absl::StatusOr<T>& made) {
    return made.status();
  }
  // What the lanes of the device share. REQUIRES: RuntimeOptions::pool_bytes.
  const SharedBytes& shared(const Lane& own) const { return *memory_[own.device_number]; }
  // What the lane has and a call may not be able to use: what is live, and what recordings pin.
  uint64_t InUseBy(Lane& own) const;
  // True if some lane has given some back. `for_whom`: as Tree::GiveMemory has it.
  bool MakeRoom(Lane& own, uint64_t bytes, const std::string& for_whom = "");

  const std::vector<Device*> devices_;
  const RuntimeOptions& options_;
  std::vector<std::shared_ptr<SharedBudget>> budgets_;  // by device; null: none
  std::vector<std::shared_ptr<SharedBytes>> memory_;    // likewise
  std::map<Place, std::unique_ptr<Lane>> lanes_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_LANES_H_
