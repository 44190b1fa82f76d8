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
#ifndef GRAPHTREE_ALLOCATOR_FREE_RUNS_H_
#define GRAPHTREE_ALLOCATOR_FREE_RUNS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/run.h"
#include "allocator/size_class.h"

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

  // The lowest run, in the smallest class that has one, in which `length` quanta fit at a multiple of
  // `alignment`. Misses nothing, and looks at every run that may do: for the last attempt.
  RunId FindAny(uint32_t length, uint32_t alignment) const;

  uint32_t count() const { return count_; }
  size_t bytes() const;

 private:
  struct Entry {
    uint32_t offset;
    RunId run;
  };
  using Heap = std::vector<Entry>;
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

// The first multiple of `alignment` (a power of two) at or after `offset`.
constexpr uint64_t AlignUp(uint64_t offset, uint64_t alignment) {
  return (offset + alignment - 1) & ~(alignment - 1);
}

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_FREE_RUNS_H_
