// What a function of a program computes, on plain vectors.
//
// The model knows nothing of graphs, pools or paths. It knows cells of words, and that outputs and
// what is on the shelf (shelf.h) may share a cell with an input. A body that runs is followed op by
// op; for a replay, which runs no body, the run that was recorded is followed again:
//
//   body run    store 2 -> shelf        load shelf -> register 5      what was there
//   replay      the shelf is as it was  register 5 is what the recorded ops point to: memory that
//                                       nobody moves, or what an earlier run of the path made
#ifndef GRAPHTREE_TESTS_SIMULATION_MODEL_H_
#define GRAPHTREE_TESTS_SIMULATION_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "graphs/tensor.h"
#include "tests/simulation/program.h"

namespace graphtree::simulation {

using Cell = std::vector<uint32_t>;
using CellPtr = std::shared_ptr<Cell>;

// What opaque inputs are made of: a body reads it on the host.
struct Thing {
  uint32_t content = 0;
};

constexpr uint64_t kThisRun = ~uint64_t{0};

// Where a replay finds what a tensor held that its recording had taken from the shelf.
struct Source {
  enum class Kind : uint8_t { kNone, kCell, kRegister };
  Kind kind = Kind::kNone;
  CellPtr cell;                   // kCell: of memory that stays where it is
  uint64_t recording = kThisRun;  // kRegister: of the last run of this recording
  size_t number = 0;
};

// A tensor as the caller sees it; without a cell for anything else.
struct Seen {
  Value handle;
  CellPtr cell;
  bool kept = false;  // it outlives its step
  Source source = {};
};

// How long a tensor may be used that a body has put on the shelf.
enum class Life : uint8_t {
  kUnknown,  // an input's, or a run's that failed
  kStep,     // until the step of its run ends
  kForEver,  // an eager run made it
  kNone,     // the run came to nothing
};

// A tensor in a body's hands.
struct Register {
  CellPtr cell;
  Source source;
  Life life = Life::kUnknown;
  uint64_t run = 0;   // the body's run that made it, where that is known
  uint64_t step = 0;  // kStep
};

constexpr uint64_t kAligned = 16;  // bytes, where a function declares it

// One run of one function.
class Model {
 public:
  // What a recorded run is known by: which inputs the body was given copies of, and what it found
  // on the shelf, load by load.
  struct Recorded {
    std::vector<bool> copied;
    std::vector<std::optional<Source>> loads;
  };

  Model(const FunctionSpec& spec, const std::vector<Seen>& arguments, uint32_t elements,
        uint64_t run);

  // Input p of the body is memory of the run's own, with the input's contents.
  void Copied(size_t p);
  void Do(const OpSpec& op);
  // Instead of that, for a load that found something.
  void Take(Register found);
  // The same of what this run has stored: another name for its register.
  void TakeOwn(size_t number);
  // The run of a recording that is replayed. False if it takes what `find` does not know (null).
  bool Replay(const Recorded& recorded, const std::function<CellPtr(const Source&)>& find);

  const Recorded& recorded() const { return recorded_; }
  // As a body finds it, and as it is put on the shelf.
  const Register& at(size_t number) const { return registers_[number]; }
  Register ForShelf(size_t number) const;
  // The cells that ForShelf would give.
  std::vector<CellPtr> Cells() const;
  uint64_t run() const { return run_; }

 private:
  const FunctionSpec* spec_;
  uint32_t elements_;
  uint64_t run_;
  uint32_t key_ = 0;
  std::vector<Register> registers_;
  std::vector<CellPtr> copies_;  // by register: of inputs; null for the others
  Recorded recorded_;
};

// What integers and objects add to the numbers that a function fills in.
uint32_t KeyOf(const Value& value);

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_MODEL_H_
