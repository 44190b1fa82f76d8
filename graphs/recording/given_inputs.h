// The tree's own tensors among a call's inputs, while its body is captured.
//
// The body is given the call's own handles, so that an input may die inside the body, and memory
// that the body then allocates may lie where the input was. But nothing runs in a capture: the
// input's bytes are read when the graph is launched, and if the capture fails the call must have
// its inputs back. So an input that dies in a capture is buried here, and not yet gone:
//
//   body drops x   block: free in the books, the body's next allocation may take it
//                  bytes: shielded, the graph's launch reads them
//                  storage: held here -- Exhume, books rolled back --> the call's input again
//                                    \- LayToRest, after the launch --> gone
//
// In a warm-up the body runs at once: an input that died is gone, and a body that fails has
// consumed it.
//
// Inputs that somebody else holds never die. Inputs that a recording takes at any address are not
// given to the body: where they lie in a replay is not known.
//
// Thread rule: the tree's caller. Used once, for one capture.
#ifndef GRAPHTREE_GRAPHS_RECORDING_GIVEN_INPUTS_H_
#define GRAPHTREE_GRAPHS_RECORDING_GIVEN_INPUTS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graphs/match/match.h"
#include "graphs/recording/path.h"
#include "graphs/memory/step_memory.h"
#include "graphs/tensor.h"

namespace graphtree {

class GivenInputs {
 public:
  // `in_capture`: the bytes of an input that died are shielded. In a run at once no later launch
  // reads them.
  GivenInputs(StepMemory* memory, Path* path, bool in_capture)
      : memory_(memory), path_(path), in_capture_(in_capture) {}
  GivenInputs(const GivenInputs&) = delete;
  GivenInputs& operator=(const GivenInputs&) = delete;
  ~GivenInputs() { LayToRest(); }

  // Takes the handles of the managed inputs out of `originals` and returns them. Their values there
  // keep addresses and layouts only.
  Values Take(absl::Span<const InputRole> roles, Values* originals);
  // The serial of the storage that input i was taken from, or 0.
  uint64_t SerialOf(uint32_t input) const;

  // Buries the inputs that have died since: their blocks become free in the books.
  void BuryDead();
  // An input that died, with its entry in the path's list.
  struct Buried {
    uint32_t input = 0;
    HeldOutput held;
  };
  const std::vector<Buried>& buried() const { return buried_; }

  // The capture failed and the books are as before it: `originals` has its handles again.
  void Exhume(Values* originals);
  // The capture was good, its launch is under way, and the call failed after it: the books are as
  // before, but the bytes of inputs that died are another's. These are gone; the others are the
  // call's again, as in Exhume.
  void LoseDead(Values* originals);
  // A run that was no capture failed. Inputs that the body dropped are gone: their memory may be
  // another's by now. `originals` has the other handles again.
  void GiveBackLiving(Values* originals);
  // The graph was launched.
  void LayToRest();

 private:
  struct Given {
    uint32_t input;
    Storage* storage;  // held inside
    uint64_t serial;
  };

  StepMemory* const memory_;
  Path* const path_;
  const bool in_capture_;
  std::vector<Given> given_;
  std::vector<Storage*> storages_;
  std::vector<Buried> buried_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RECORDING_GIVEN_INPUTS_H_
