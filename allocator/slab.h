// Records of one type, named by dense 32-bit ids instead of pointers.
//
// Records live in chunks that never move, so a reference stays good while others are added, and
// growing copies nothing. A freed id is the next one handed out; until then its record's first four
// bytes name the id freed before it, so free ids cost no memory. Ids never decide anything that a
// caller can see (offsets do), so their order may depend on history.
//
//   chunks_:  [ 0 .. 1023 ] [ 1024 .. 2047 ] ...        free_head_ -> 7 -> 2 -> none
//
// Threads: none. Cost: constant; a chunk is allocated once for every 1024 records.
#ifndef GRAPHTREE_ALLOCATOR_SLAB_H_
#define GRAPHTREE_ALLOCATOR_SLAB_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

namespace graphtree {

inline constexpr uint32_t kNoId = 0xffffffffu;

template <typename Record>
class Slab {
  static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) >= sizeof(uint32_t));

 public:
  // The id of a record as its last user left it, but for its first four bytes.
  uint32_t Take() {
    uint32_t id = free_head_;
    if (id != kNoId) {
      std::memcpy(&free_head_, &(*this)[id], sizeof(free_head_));
    } else {
      if (size_ == chunks_.size() * kChunk) chunks_.push_back(std::make_unique<Record[]>(kChunk));
      id = size_++;
    }
    ++taken_;
    return id;
  }

  void Give(uint32_t id) {
    std::memcpy(static_cast<void*>(&(*this)[id]), &free_head_, sizeof(free_head_));
    free_head_ = id;
    --taken_;
  }

  Record& operator[](uint32_t id) { return chunks_[id / kChunk][id % kChunk]; }
  const Record& operator[](uint32_t id) const { return chunks_[id / kChunk][id % kChunk]; }

  // One more than the largest id ever taken.
  uint32_t size() const { return size_; }
  uint32_t taken() const { return taken_; }
  size_t bytes() const { return chunks_.size() * kChunk * sizeof(Record); }

 private:
  static constexpr uint32_t kChunk = 1024;

  std::vector<std::unique_ptr<Record[]>> chunks_;
  uint32_t size_ = 0;
  uint32_t taken_ = 0;
  uint32_t free_head_ = kNoId;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_SLAB_H_
