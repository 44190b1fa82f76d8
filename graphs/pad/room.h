// Room behind tensors: what a run of a body has made, with how much room, and what earlier runs of
// the body have learned of the room that it needs.
//
//   warm-up     t = Empty   16 bytes                    allocation 0 of the run
//               Pad(t)      no room: a copy             "allocation 0 needs 32 bytes"
//   recording   t = Empty   32 bytes, as far as the     room that was learned
//                           budget goes
//               Pad(t)      in place
//
// Allocations are told apart by their order in the run. A run that allocates in another order finds
// room behind the wrong tensor, which costs bytes and is otherwise no different: the pad is a copy.
//
// A copy that was made for lack of room lies, as it were, in the block that had too little: what it
// needs when it is padded once more is learned for that block.
//
// Threads: the one that runs the body. Cost: a few words for each allocation of a run.
#ifndef GRAPHTREE_GRAPHS_PAD_ROOM_H_
#define GRAPHTREE_GRAPHS_PAD_ROOM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "graphs/pad/pad_plan.h"
#include "graphs/tensor.h"

namespace graphtree {

// What the pads of a run came to.
struct PadCounts {
  uint64_t in_place = 0;
  uint64_t copied = 0;
  uint64_t room_bytes = 0;  // that were learned and given

  void Add(const PadCounts& other) {
    in_place += other.in_place;
    copied += other.copied;
    room_bytes += other.room_bytes;
  }
};

// What the runs of one body have shown. Kept between them.
class LearnedRoom {
 public:
  // The block of that allocation is to have so many bytes.
  void Learn(size_t allocation, uint64_t bytes) {
    if (is_given_up_) return;
    if (wanted_.size() <= allocation) wanted_.resize(allocation + 1, 0);
    wanted_[allocation] = std::max(wanted_[allocation], bytes);
  }
  // 0 if nothing is known.
  uint64_t WantedBy(size_t allocation) const {
    return allocation < wanted_.size() ? wanted_[allocation] : 0;
  }
  // The tree's memory was too small for a run that had room: there is none from now on.
  void GiveUp() {
    if (wanted_.empty()) return;
    wanted_.clear();
    is_given_up_ = true;
  }

 private:
  std::vector<uint64_t> wanted_;  // bytes, by allocation
  bool is_given_up_ = false;
};

// The memory that one run of a body, or of a part of it, has made.
class MadeMemory {
 public:
  // The run may have up to `budget` bytes of learned room. `learned` outlives this object; a run
  // that is captured only reads it, since a body may be captured twice to be compared.
  void UseRoom(LearnedRoom* learned, uint64_t budget, bool learns) {
    learned_ = learned;
    room_left_ = budget;
    learns_ = learns;
  }

  // How many bytes more than `bytes` the next allocation is to have.
  uint64_t RoomFor(uint64_t bytes) const {
    if (learned_ == nullptr) return 0;
    const uint64_t wanted = learned_->WantedBy(made_.size());
    const uint64_t room = wanted > bytes ? wanted - bytes : 0;
    return room <= room_left_ ? room : 0;
  }
  // The run has asked for `asked` bytes and has got the storage. Returns the bytes of learned room
  // in it.
  uint64_t Add(const Storage& storage, uint64_t asked) {
    made_.push_back({&storage, storage.serial, asked, made_.size(), 0, false});
    const uint64_t room = storage.range().bytes - std::min(asked, storage.range().bytes);
    room_left_ -= std::min(room, room_left_);
    return room;
  }
  // The same, where the storage is to hold a padded copy of `tensor`, for which `plan` wants room.
  uint64_t AddCopy(const Storage& storage, const Tensor& tensor, const PadPlan& plan) {
    const Made* const source = plan.wanted_bytes > 0 ? Find(tensor.storage()) : nullptr;
    const size_t block = source != nullptr ? source->block : made_.size();
    const uint64_t at = source != nullptr ? source->at + OffsetOf(tensor) : 0;
    if (source != nullptr && learns_ && learned_ != nullptr) {
      learned_->Learn(block, source->at + plan.wanted_bytes);
    }
    const uint64_t room = Add(storage, plan.copy_bytes);
    made_.back().block = block;
    made_.back().at = at;
    return room;
  }
  // The tensor is padded in place, and now has this layout: the run has asked for that much. Counts
  // as an allocation, so that what is made later has the number that it has in a run that copies.
  void Padded(const Tensor& tensor, const Layout& layout) {
    Made* const made = FindForChange(tensor.storage());
    made->asked = std::max(made->asked, OffsetOf(tensor) + layout.extent_bytes());
    made_.push_back({});
  }
  // Work on another stream uses the storage.
  void NoteBeside(const Storage* storage) {
    if (Made* const made = FindForChange(storage)) made->is_beside = true;
  }
  // `tensor` is the handle that is to be padded.
  PadSource SourceOf(const Tensor& tensor) const {
    const Made* const made = Find(tensor.storage());
    if (made == nullptr) return {};
    const bool alone = tensor.storage()->held_once() && !made->is_beside;
    return {true, alone, OffsetOf(tensor), made->asked, tensor.storage()->range().bytes};
  }
  void Forget() { made_.clear(); }

 private:
  struct Made {
    const Storage* storage = nullptr;
    uint64_t serial = 0;  // if the storage has another serial by now, it is another allocation's
    uint64_t asked = 0;
    size_t block = 0;        // the allocation that is to have room for it
    uint64_t at = 0;         // where it begins in that allocation's block
    bool is_beside = false;  // another stream uses it
  };

  static uint64_t OffsetOf(const Tensor& tensor) {
    return tensor.word() - tensor.storage()->range().base;
  }
  // The latest one first: a storage that has died may serve again.
  const Made* Find(const Storage* storage) const {
    for (size_t i = made_.size(); storage != nullptr && i-- > 0;) {
      if (made_[i].storage != storage) continue;
      return made_[i].serial == storage->serial ? &made_[i] : nullptr;
    }
    return nullptr;
  }
  Made* FindForChange(const Storage* storage) {
    const Made* const made = Find(storage);
    return made == nullptr ? nullptr : &made_[made - made_.data()];
  }

  LearnedRoom* learned_ = nullptr;
  uint64_t room_left_ = 0;
  bool learns_ = false;
  std::vector<Made> made_;  // in order
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_PAD_ROOM_H_
