// What recordings will cost, told before they are made, from a few that are made already.
//
//   recorded   tokens  512    1   256     pool 4.1 MB  9 KB  2.1 MB    executables 260 KB each ...
//                 |
//                 v   a line through each figure (line_fit.h)
//   asked      tokens  384                pool 3.1 MB +- 60 KB         executables 260 KB +- 0
//
// CostModel    of one program in one mode: what its recordings take, by their keys. A recording
//              grows with one of a key's numbers. Which one is learned, too: the one whose line
//              lies nearest to what was recorded. A key that is recorded already costs what it did.
// DriverModel  of one device: what the driver takes where somebody looked. A driver hands memory
//              out in large pieces, so one executable seems to take nothing or megabytes. So what
//              counts is what executables took from one look that saw a piece go to a later one:
//
//                looks      0    0   2 MiB    0    0   2 MiB    0       counted: three executables,
//                                  |________________ |                  and 2 MiB
//
//              Until that is much, the device's own figure (Executable::device_bytes) counts for
//              the rest.
//
// Pure. Thread rule: like a container.
#ifndef GRAPHTREE_RUNTIME_PLAN_ESTIMATE_H_
#define GRAPHTREE_RUNTIME_PLAN_ESTIMATE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/plan/guess.h"
#include "runtime/plan/line_fit.h"
#include "runtime/shapes/key.h"

namespace graphtree {

// What one recording takes.
struct RecordingCost {
  uint64_t pool_bytes = 0;        // of the memory that the recordings of a lane share
  uint64_t executable_bytes = 0;  // by the device's own figure
  uint64_t host_bytes = 0;
};
struct RecordingGuess {
  Guess pool;
  Guess executables;
  Guess host;
};

class CostModel {
 public:
  // A key that was learned before costs this from now on.
  void Learn(const Key& key, const RecordingCost& cost);
  size_t count() const { return learned_.size(); }
  // All is unknown if nothing was learned.
  RecordingGuess Of(const Key& key) const;

 private:
  struct Learned {
    Key key;
    RecordingCost cost;
  };
  Guess At(const Key& key, uint64_t RecordingCost::*figure) const;

  std::vector<Learned> learned_;
};

class DriverModel {
 public:
  // What the driver hands out at a time.
  static constexpr double kPiece = 2 << 20;

  // While recordings were made whose executables take `said` bytes by the device's own figure, the
  // driver took `taken` bytes that are no pool's. Looks follow one another.
  void LearnExecutables(uint64_t said, uint64_t taken);
  // While a shape ran for the first time, the driver took so much: code, above all.
  void LearnCode(uint64_t taken);

  // What the driver takes for executables of so many bytes by the device's own figure.
  Guess Executables(const Guess& said) const;
  // What it takes for the code of so many further shapes. The first shape's code serves most others
  // of its program, so what shapes after the first took is what counts.
  Guess Code(size_t further_shapes) const;
  bool has_seen_executables() const { return said_ > 0; }
  bool has_seen_code() const { return first_runs_ > 0; }

 private:
  double said_ = 0;
  double taken_ = 0;
  double said_since_ = 0;   // the last look that saw a piece go
  double largest_look_ = 0;
  bool has_seen_piece_ = false;
  size_t first_runs_ = 0;
  double first_code_ = 0;
  double later_code_ = 0;       // summed over the shapes after the first
  double most_later_code_ = 0;  // of one of them
};

// Memory that recordings of one lane use in turn: together they take what the largest takes.
//
//   recordings   4.1 MB  3.1 MB  9 KB      shared 3.1 MB: also another one uses it
//                                          alone  1.0 MB: the largest one, and nobody else
struct PoolGuess {
  Guess alone;
  Guess shared;
};
// `recordings` in any order. Rounded up to whole pieces of `piece` bytes.
PoolGuess PoolOf(const std::vector<Guess>& recordings, double piece);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_PLAN_ESTIMATE_H_
