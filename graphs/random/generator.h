// A Generator is a seed and the position of the next random number.
//
//   positions  |--- run 1 ---|-- run 2 --|--- run 3 ---|            every run takes the next piece
//              0             n1          n1+n2         offset()
//
// Every run of a function takes as many positions as the function draws, whether it runs eagerly or
// is replayed. So a sequence of replays gives the numbers that the eager runs would have given, and
// one generator may feed any number of recordings and trees: it knows none of them.
//
// Threads: Take is one atomic addition and may be called from any thread. Seeding must not race
// with drawing: a draw that did could get the new seed with the old position.
#ifndef GRAPHTREE_GRAPHS_RANDOM_GENERATOR_H_
#define GRAPHTREE_GRAPHS_RANDOM_GENERATOR_H_

#include <atomic>
#include <cstdint>
#include <memory>

namespace graphtree {

// The positions [offset, offset + count) of `seed`.
struct RandomPiece {
  uint64_t seed = 0;
  uint64_t offset = 0;
  uint64_t count = 0;
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : seed_(seed) {}
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  RandomPiece Take(uint64_t count) {
    const uint64_t offset = offset_.fetch_add(count, std::memory_order_relaxed);
    return {seed(), offset, count};
  }
  // Undoes the latest Take, for a run that failed. False, and nothing happens, if somebody else has
  // taken since: those numbers are then skipped.
  bool GiveBack(const RandomPiece& piece) {
    uint64_t expected = piece.offset + piece.count;
    return offset_.compare_exchange_strong(expected, piece.offset, std::memory_order_relaxed);
  }

  uint64_t seed() const { return seed_.load(std::memory_order_relaxed); }
  uint64_t offset() const { return offset_.load(std::memory_order_relaxed); }
  // Starts another sequence, or goes to a position that was saved.
  void Seed(uint64_t seed, uint64_t offset = 0) {
    seed_.store(seed, std::memory_order_relaxed);
    offset_.store(offset, std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> seed_;
  std::atomic<uint64_t> offset_{0};
};

using GeneratorPtr = std::shared_ptr<Generator>;

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RANDOM_GENERATOR_H_
