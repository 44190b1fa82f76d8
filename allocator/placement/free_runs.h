// The free runs, by size class and, within a class, lowest offset first.
//
// A history-ordered free list (the usual TLSF) makes placement depend on the order of past frees.
// Here the answer is a function of the set of free runs alone, which is what makes restoring a
// checkpoint cheap: put the same blocks back, in any order, and every later placement is the same.
//
//   summary   1 bit for each word of classes that has a run
//   words     1 bit for each class that has a run
//   heaps     for each class a 4-ary heap of {offset, run}; a run knows its position in it
//
// Threads: none. Cost: finding the class is three bit scans; a heap costs log4 of the runs in one
// class, which is two or three steps for thousands of blocks of mixed sizes.
#ifndef GRAPHTREE_ALLOCATOR_PLACEMENT_FREE_RUNS_H_
#define GRAPHTREE_ALLOCATOR_PLACEMENT_FREE_RUNS_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "allocator/placement/run.h"
#include "allocator/placement/size_class.h"
#include "device/base/check.h"

namespace graphtree {

class FreeRuns {
 public:
  explicit FreeRuns(Runs* runs) : runs_(*runs) {}

  void Insert(RunId id);
  void Remove(RunId id);

  // A run of at least `length` quanta, or kNoId: the lowest run of the length's own class if it is
  // long enough, else the lowest run of the next class that has one. May miss a longer run that is
  // not the lowest of the own class; FindAny does not.
  RunId Find(uint32_t length) const;

  // Says where in the free quanta [begin, end) a block may begin: the first such offset, or kNoId.
  using FirstPlace = std::function<uint32_t(uint32_t begin, uint32_t end, LastUse last_use)>;
  // The lowest run of at least `length` quanta in which `first_place` finds a place, in the
  // smallest class that has such a run; `place` is set to that place. Misses nothing, but may look
  // at every run that is long enough: for the last attempt.
  RunId FindAny(uint32_t length, const FirstPlace& first_place, uint32_t* place) const;

  uint32_t count() const { return count_; }
  size_t bytes() const;

 private:
  // The offset in the high half, the run in the low one: entries compare as numbers.
  using Entry = uint64_t;
  static Entry EntryOf(uint32_t offset, RunId run) { return uint64_t{offset} << 32 | run; }
  static uint32_t OffsetIn(Entry entry) { return static_cast<uint32_t>(entry >> 32); }
  static RunId RunIn(Entry entry) { return static_cast<RunId>(entry); }
  static constexpr Entry kNothing = ~Entry{0};  // greater than every entry

  // At least three entries after the last hold kNothing, so that four children can always be
  // compared without asking how many there are.
  class Heap {
   public:
    uint32_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    Entry& operator[](uint32_t position) { return entries_[position]; }
    Entry front() const { return entries_[0]; }
    const Entry* begin() const { return entries_.get(); }
    const Entry* end() const { return entries_.get() + size_; }
    size_t bytes() const { return capacity_ * sizeof(Entry); }
    void AddLast() {
      if (size_ + 4 >= capacity_) Grow();
      ++size_;
    }
    Entry TakeLast() { return std::exchange(entries_[--size_], kNothing); }

   private:
    void Grow();

    std::unique_ptr<Entry[]> entries_;
    uint32_t size_ = 0;
    uint32_t capacity_ = 0;
  };
  static constexpr uint32_t kWords = (kClassCount + 63) / 64;

  void Place(Heap& heap, uint32_t position, Entry entry);
  void SiftUp(Heap& heap, uint32_t position, Entry entry);
  void SiftDown(Heap& heap, uint32_t position, Entry entry);
  // The first class at or above `size_class` that has a run; kClassCount if none has.
  uint32_t NextClass(uint32_t size_class) const;

  Runs& runs_;
  uint32_t count_ = 0;
  uint64_t summary_ = 0;
  std::array<uint64_t, kWords> words_ = {};
  std::array<Heap, kClassCount> heaps_;
};

// Inline, as allocating and freeing call all of these.

inline void FreeRuns::Place(Heap& heap, uint32_t position, Entry entry) {
  heap[position] = entry;
  runs_[RunIn(entry)].role = position;
}

inline void FreeRuns::SiftUp(Heap& heap, uint32_t position, Entry entry) {
  while (position > 0) {
    const uint32_t parent = (position - 1) / 4;
    if (heap[parent] < entry) break;
    Place(heap, position, heap[parent]);
    position = parent;
  }
  Place(heap, position, entry);
}

inline void FreeRuns::SiftDown(Heap& heap, uint32_t position, Entry entry) {
  const uint32_t size = heap.size();
  for (;;) {
    const uint32_t first = 4 * position + 1;
    if (first >= size) break;
    // Which of four random numbers is least cannot be predicted; these are moves, not branches.
    const Entry* child = &heap[first];
    const uint32_t low = child[1] < child[0] ? 1 : 0;
    const uint32_t high = child[3] < child[2] ? 3 : 2;
    const uint32_t least = first + (child[high] < child[low] ? high : low);
    if (entry < heap[least]) break;
    Place(heap, position, heap[least]);
    position = least;
  }
  Place(heap, position, entry);
}

inline void FreeRuns::Insert(RunId id) {
  const Run& run = runs_[id];
  const uint32_t size_class = SizeClassOf(run.length);
  Heap& heap = heaps_[size_class];
  heap.AddLast();
  SiftUp(heap, heap.size() - 1, EntryOf(run.offset, id));
  words_[size_class / 64] |= uint64_t{1} << (size_class % 64);
  summary_ |= uint64_t{1} << (size_class / 64);
  ++count_;
}

inline void FreeRuns::Remove(RunId id) {
  Run& run = runs_[id];
  const uint32_t size_class = SizeClassOf(run.length);
  Heap& heap = heaps_[size_class];
  const uint32_t position = run.role;
  GRAPHTREE_DCHECK(position < heap.size() && RunIn(heap[position]) == id) << "run " << id;
  run.role = Run::kLiveBit | Run::kNoOwner;
  --count_;
  const Entry last = heap.TakeLast();
  if (position < heap.size()) {
    if (position > 0 && last < heap[(position - 1) / 4]) {
      SiftUp(heap, position, last);
    } else {
      SiftDown(heap, position, last);
    }
  } else if (heap.empty()) {
    words_[size_class / 64] &= ~(uint64_t{1} << (size_class % 64));
    if (words_[size_class / 64] == 0) summary_ &= ~(uint64_t{1} << (size_class / 64));
  }
}

inline uint32_t FreeRuns::NextClass(uint32_t size_class) const {
  if (size_class >= kClassCount) return kClassCount;
  const uint32_t word = size_class / 64;
  const uint64_t here = words_[word] >> (size_class % 64);
  if (here != 0) return size_class + static_cast<uint32_t>(std::countr_zero(here));
  const uint64_t above = summary_ & ~((uint64_t{2} << word) - 1);
  if (above == 0) return kClassCount;
  const uint32_t next = static_cast<uint32_t>(std::countr_zero(above));
  return next * 64 + static_cast<uint32_t>(std::countr_zero(words_[next]));
}

inline RunId FreeRuns::Find(uint32_t length) const {
  const uint32_t own = SizeClassOf(length);
  if (!heaps_[own].empty()) {
    const RunId lowest = RunIn(heaps_[own].front());
    if (runs_[lowest].length >= length) return lowest;
  }
  const uint32_t larger = NextClass(own + 1);
  return larger == kClassCount ? kNoId : RunIn(heaps_[larger].front());
}

constexpr bool IsPowerOfTwo(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

// The first multiple of `alignment` (a power of two) at or after `offset`.
constexpr uint64_t AlignUp(uint64_t offset, uint64_t alignment) {
  return (offset + alignment - 1) & ~(alignment - 1);
}

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_PLACEMENT_FREE_RUNS_H_
