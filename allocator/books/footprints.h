// Which places were touched on the way from one checkpoint to the next. A place is a number: the
// pool cuts its addresses into sectors of equal size (pool/arena.h). A way is all that happens
// between two checkpoints.
//
//   place        0   1   2   3
//   way to c0    x   x
//   way to c1        x   x
//   way now              x
//   references   1   2   2   0        a place with references is needed by some checkpoint
//
// A place that the same way has touched before costs one compare: each place carries the number of
// the way that touched it last.
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
  // Notes a place on the current way.
  void Touch(uint32_t place) {
    if (place >= way_of_.size()) Grow(place);
    if (way_of_[place] == way_) return;
    way_of_[place] = way_;
    ++references_[place];
    touched_.push_back(place);
  }
  // Ends the way and begins another. Returns the way's places, which the caller gives to Leave when
  // no checkpoint needs them any more.
  std::vector<uint32_t> EndWay() {
    ++way_;
    return std::exchange(touched_, {});
  }
  // Ends the way as if it had touched nothing, and begins another.
  void ForgetWay() {
    Leave(&touched_);
    ++way_;
  }
  // Nobody needs these places of an earlier way any more.
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
  std::vector<uint32_t> touched_;     // on the current way
  std::vector<uint32_t> way_of_;      // by place: the way that touched it last
  std::vector<uint32_t> references_;  // by place
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_BOOKS_FOOTPRINTS_H_
