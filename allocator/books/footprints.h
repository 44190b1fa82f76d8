// Which places were touched on the way from one checkpoint to the next.
//
//   place        0   1   2   3        a place is a stretch of addresses, as its owner cuts them
//   way to c0    x   x
//   way to c1        x   x
//   way now              x
//   references   1   2   2   0        a place with references is needed by some checkpoint
//
// Touching a place twice on one way is one compare: each place carries the number of the way that
// touched it last.
//
// Threads: none.
#ifndef GRAPHTREE_ALLOCATOR_BOOKS_FOOTPRINTS_H_
#define GRAPHTREE_ALLOCATOR_BOOKS_FOOTPRINTS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace graphtree {

class Footprints {
 public:
  // Notes a place on the way that is walked now.
  void Touch(uint32_t place) {
    if (place >= way_of_.size()) Grow(place);
    if (way_of_[place] == way_) return;
    way_of_[place] = way_;
    ++references_[place];
    touched_.push_back(place);
  }
  // Ends the way and begins another. The places are the caller's, to be given to Leave.
  std::vector<uint32_t> EndWay() {
    ++way_;
    return std::exchange(touched_, {});
  }
  // Ends the way, as if nobody had walked it, and begins another.
  void ForgetWay() {
    Leave(&touched_);
    ++way_;
  }
  // The places of a way that nobody needs any more.
  void Leave(std::vector<uint32_t>* places) {
    for (uint32_t place : *places) --references_[place];
    places->clear();
  }
  uint32_t references(uint32_t place) const {
    return place < references_.size() ? references_[place] : 0;
  }
  size_t bytes() const { return touched_.capacity() * sizeof(uint32_t); }

 private:
  void Grow(uint32_t place) {
    way_of_.resize(place + 1, 0);
    references_.resize(place + 1, 0);
  }

  uint32_t way_ = 1;
  std::vector<uint32_t> touched_;     // on the way that is walked now
  std::vector<uint32_t> way_of_;      // by place: the way that touched it last
  std::vector<uint32_t> references_;  // by place
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_BOOKS_FOOTPRINTS_H_
