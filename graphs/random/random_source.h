// Where a body's random numbers come from. The body asks for them the same way in every run:
//
//   const RandomState state = on.Random(generator, rows * kVocabulary);
//   on.Launch(kSample, shape, {In(logits), Out(tokens), Val(state)});
//
//   EagerRandom      takes a piece of the generator for each op; its start goes by value
//   RecordedRandom   takes nothing; gives each op an offset from a start that two device words
//                    hold, and notes how much every run of the recording takes and where its words
//                    are
//
// Where a body is cut each section takes a piece of its own, so that a part between two sections
// draws its numbers between theirs in every run.
//
//   recording                                         a replay
//   Draw(g, 10) -> {words of g, offset 0}             piece = g->Take(14)
//   Draw(g, 4)  -> {words of g, offset 10}            scalar words[0] = piece.seed
//   uses() = {g, words, 14}                           scalar words[1] = piece.offset
//
// Threads: a source belongs to one run, and so to its thread. Generators are shared.
#ifndef GRAPHTREE_GRAPHS_RANDOM_RANDOM_SOURCE_H_
#define GRAPHTREE_GRAPHS_RANDOM_RANDOM_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/address.h"
#include "graphs/random/generator.h"
#include "graphs/random/random_state.h"

namespace graphtree {

class RandomSource {
 public:
  virtual ~RandomSource() = default;
  // The next `count` numbers of `generator`, for one op.
  virtual absl::StatusOr<RandomState> Draw(const GeneratorPtr& generator, uint64_t count) = 0;
  // A section of the body ends here and an eager part begins, or the other way round.
  virtual void EndSection() {}
};

// Eager runs and warm-ups.
class EagerRandom : public RandomSource {
 public:
  absl::StatusOr<RandomState> Draw(const GeneratorPtr& generator, uint64_t count) override;
  void EndSection() override { ends_.push_back(pieces_.size()); }

  // Draws for a recorded section. GiveBack returns this piece with the others.
  RandomPiece Take(const GeneratorPtr& generator, uint64_t count);
  // Puts the generators back to where they were before a run that failed.
  void GiveBack();
  // By section: how many different generators it drew from. Eager parts do not count.
  std::vector<size_t> generators() const;

 private:
  std::vector<std::pair<GeneratorPtr, RandomPiece>> pieces_;
  std::vector<size_t> ends_;  // of sections and parts in turn, as places in pieces_
};

// What each run of a recording takes from one generator.
struct RandomUse {
  GeneratorPtr generator;
  Address words = 0;  // {seed, offset}, written before the recording's other ops run
  uint64_t increment = 0;
};

class RecordedRandom : public RandomSource {
 public:
  // `new_words` finds 16 bytes of device memory, a multiple of 8, which stay as long as the
  // recording does. It is called once for each generator.
  explicit RecordedRandom(std::function<absl::StatusOr<Address>()> new_words)
      : new_words_(std::move(new_words)) {}

  absl::StatusOr<RandomState> Draw(const GeneratorPtr& generator, uint64_t count) override;

  const std::vector<RandomUse>& uses() const { return uses_; }
  // The uses of the section that ends here; the next one begins with none.
  std::vector<RandomUse> TakeUses() { return std::exchange(uses_, {}); }

 private:
  const std::function<absl::StatusOr<Address>()> new_words_;
  std::vector<RandomUse> uses_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RANDOM_RANDOM_SOURCE_H_
