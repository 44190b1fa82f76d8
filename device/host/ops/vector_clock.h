// The clock of a stream says, for every stream, up to which op that stream's work is sure to be
// done before the first stream's next op.
//
//   stream a:  1  2  3  record e  4      the clock of b after waiting for e: {a: 3, b: ...}
//   stream b:           wait e  1  2     so b's op 2 comes after a's op 3, but not after a's op 4
//
// Streams have slots as numbers, ops have sequence numbers that begin at 1; 0 means "no op". A slot
// goes to a new stream when its stream is gone, and its sequence numbers go on.
#ifndef GRAPHTREE_DEVICE_HOST_OPS_VECTOR_CLOCK_H_
#define GRAPHTREE_DEVICE_HOST_OPS_VECTOR_CLOCK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphtree::host {

// One point in one stream's work.
struct Ticket {
  uint32_t slot = 0;
  uint64_t sequence = 0;
};

class VectorClock {
 public:
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
    return news;
  }

 private:
  std::vector<uint64_t> at_;
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_OPS_VECTOR_CLOCK_H_
