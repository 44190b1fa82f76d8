// Records of one type, named by dense 32-bit ids instead of pointers.
//
// Records lie in one array that grows by an eighth, so finding one is a multiplication and little
// is unused; a reference to a record is good until the next Take. The id that was freed last is
// handed out first; until then its record's first four bytes name the id freed before it, so free
// ids cost no memory. No caller's result depends on an id, so the order of ids may depend on
// history.
//
//   records_:  [ 0 ][ 1 ][ 2 ] ... [ size - 1 ]        free_head_ -> 7 -> 2 -> none
//
// Threads: none. Cost: constant but for growing, which copies a record eight times in its life.
#ifndef GRAPHTREE_ALLOCATOR_PLACEMENT_SLAB_H_
#define GRAPHTREE_ALLOCATOR_PLACEMENT_SLAB_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "allocator/ids.h"

namespace graphtree {

template <typename Record>
class Slab {
  static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) >= sizeof(uint32_t));

 public:
  // A record's id. The record is as its last user left it, but for its first four bytes.
  [[gnu::always_inline]] uint32_t Take() {
    const uint32_t id = free_head_;
    ++taken_;
    if (id == kNoId) return TakeNew();
    std::memcpy(&free_head_, &records_[id], sizeof(free_head_));
    return id;
  }

  void Give(uint32_t id) {
    std::memcpy(static_cast<void*>(&records_[id]), &free_head_, sizeof(free_head_));
    free_head_ = id;
    --taken_;
  }

  Record& operator[](uint32_t id) { return records_[id]; }
  const Record& operator[](uint32_t id) const { return records_[id]; }

  // One more than the largest id ever taken.
  uint32_t size() const { return static_cast<uint32_t>(records_.size()); }
  uint32_t taken() const { return taken_; }
  size_t bytes() const { return records_.capacity() * sizeof(Record); }

 private:
  [[gnu::noinline]] uint32_t TakeNew() {
    const size_t size = records_.size();
    if (size == records_.capacity()) records_.reserve(size + size / 8 + 64);
    records_.emplace_back();
    return static_cast<uint32_t>(size);
  }

  std::vector<Record> records_;
  uint32_t taken_ = 0;
  uint32_t free_head_ = kNoId;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_PLACEMENT_SLAB_H_
