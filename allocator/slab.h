// Records of one type, named by dense 32-bit ids instead of pointers.
//
// Records live in chunks that never move, so a reference stays good while others are added, and
// growing copies nothing. A freed id is the next one handed out. Ids never decide anything that a
// caller can see (offsets do), so their order may depend on history.
//
//   chunks_:  [ 0 .. 1023 ] [ 1024 .. 2047 ] ...        free_: ids to hand out again, last one first
//
// Threads: none. Cost: constant; a chunk is allocated once for every 1024 records.
#ifndef GRAPHTREE_ALLOCATOR_SLAB_H_
#define GRAPHTREE_ALLOCATOR_SLAB_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace graphtree {

inline constexpr uint32_t kNoId = 0xffffffffu;

template <typename Record>
class Slab {
 public:
  // The id of a record in whatever state its last user left it.
  uint32_t Take() {
    if (!free_.empty()) {
      const uint32_t id = free_.back();
      free_.pop_back();
      return id;
    }
    if (size_ == chunks_.size() * kChunk) AddChunk();
    return size_++;
  }

  // Never allocates: AddChunk made room for every id.
  void Give(uint32_t id) { free_.push_back(id); }

  Record& operator[](uint32_t id) { return chunks_[id / kChunk][id % kChunk]; }
  const Record& operator[](uint32_t id) const { return chunks_[id / kChunk][id % kChunk]; }

  // One more than the largest id ever taken.
  uint32_t size() const { return size_; }
  uint32_t taken() const { return size_ - static_cast<uint32_t>(free_.size()); }

  size_t bytes() const {
    return chunks_.size() * kChunk * sizeof(Record) + free_.capacity() * sizeof(uint32_t);
  }

 private:
  static constexpr uint32_t kChunk = 1024;

  void AddChunk() {
    chunks_.push_back(std::make_unique<Record[]>(kChunk));
    if (free_.capacity() < chunks_.size() * kChunk) free_.reserve(2 * free_.capacity() + kChunk);
  }

  std::vector<std::unique_ptr<Record[]>> chunks_;
  std::vector<uint32_t> free_;
  uint32_t size_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_SLAB_H_
