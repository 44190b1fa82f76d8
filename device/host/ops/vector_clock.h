// The clock of a stream says, for every stream, up to which op that stream's work is sure to be
// done before the first stream's next op.
//
//   stream a:  1  2  3  record e  4      the clock of b after waiting for e: {a: 3, b: ...}
//   stream b:           wait e  1  2     so b's op 2 comes after a's op 3, but not after a's op 4
//
// Streams have slots as numbers, ops have sequence numbers that begin at 1; 0 means "no op". A slot
// goes to a new stream when its stream is gone, and its sequence numbers go on.
//
// Whoever waits for an event out of the middle of a graph knows that a part of that launch is done:
// of each chain of the graph's ops (graph/replay_plan.h) so many.
#ifndef GRAPHTREE_DEVICE_HOST_OPS_VECTOR_CLOCK_H_
#define GRAPHTREE_DEVICE_HOST_OPS_VECTOR_CLOCK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace graphtree::host {

// One point in one stream's work.
struct Ticket {
  uint32_t slot = 0;
  uint64_t sequence = 0;
};

class VectorClock {
 public:
  VectorClock() = default;
  VectorClock(const VectorClock&) = default;
  // Clocks are copied in every launch, and hardly one has parts.
  VectorClock& operator=(const VectorClock& other) {
    at_ = other.at_;
    if (!parts_.empty() || !other.parts_.empty()) parts_ = other.parts_;
    return *this;
  }

  uint64_t At(uint32_t slot) const { return slot < at_.size() ? at_[slot] : 0; }

  // Raise and Join return whether the clock has changed.
  bool Raise(Ticket to) {
    if (to.slot >= at_.size()) at_.resize(to.slot + 1);
    if (at_[to.slot] >= to.sequence) return false;
    at_[to.slot] = to.sequence;
    return true;
  }
  bool Join(const VectorClock& other) {
    if (at_.size() < other.at_.size()) at_.resize(other.at_.size());
    bool news = false;
    for (size_t i = 0; i < other.at_.size(); ++i) {
      if (at_[i] >= other.at_[i]) continue;
      at_[i] = other.at_[i];
      news = true;
    }
    for (const Part& part : other.parts_) news |= AddPart(part.launch, part.done);
    return news;
  }

  // By chain of a graph: how many of its ops.
  using Chains = std::shared_ptr<const std::vector<uint32_t>>;
  // So much of that launch is sure to be done.
  bool AddPart(Ticket launch, const Chains& done) {
    std::erase_if(parts_, [this](const Part& part) { return IsWhole(part.launch); });
    if (IsWhole(launch)) return false;
    for (const Part& part : parts_) {
      if (part.launch.slot == launch.slot && part.launch.sequence == launch.sequence &&
          part.done == done) {
        return false;
      }
    }
    parts_.push_back({launch, done});
    return true;
  }
  // Whether the part of that launch that is done has this op of the chain.
  bool HasPart(Ticket launch, uint32_t chain, uint32_t index) const {
    return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) {
      return part.launch.slot == launch.slot && part.launch.sequence == launch.sequence &&
             chain < part.done->size() && (*part.done)[chain] > index;
    });
  }

 private:
  struct Part {
    Ticket launch;
    Chains done;
  };
  bool IsWhole(Ticket launch) const { return At(launch.slot) >= launch.sequence; }

  std::vector<uint64_t> at_;
  std::vector<Part> parts_;  // of launches that are not known to be done whole
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_OPS_VECTOR_CLOCK_H_
