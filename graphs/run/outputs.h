// Hands out the outputs of a replay: one storage for each, over the memory that the recording has
// for it.
//
//   kOwn        this node's memory: the slot's storage again where nobody holds it, else a new one
//   kSameAsOwn  the storage of another output
//   kAncestor   the storage of an earlier node's output, which the path holds again where nobody
//               has held it in between
//   kInput      the caller's own memory, not the copy that the graph read
//   kKept       the place where this run put the output
//   kConstant   the value that was recorded
//
// Threads: the tree's caller. Cost: no heap while storages are free to be used again.
#ifndef GRAPHTREE_GRAPHS_RUN_OUTPUTS_H_
#define GRAPHTREE_GRAPHS_RUN_OUTPUTS_H_

#include <cstdint>

#include "graphs/recording/node.h"
#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/ground.h"
#include "graphs/tensor.h"

namespace graphtree {

class Outputs {
 public:
  // Both outlive it.
  Outputs(Ground& ground, Books& books) : ground_(ground), books_(books) {}
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  // The node was launched for the call: consumes the call's inputs and sets its outputs.
  void HandOut(Node* node, const Call& call);
  // A replay writes memory that may be free in the pool's books: tells a device that checks
  // accesses that the outputs are live.
  void TellDevice(const Node& node) {
    if (ground_.tells_device) Revive(node);
  }

 private:
  void RenewStorage(Node* node, uint32_t output, StackId from);
  // The storage of an earlier node's output, which may have died since.
  Storage* HeldAgain(const OutputSlot& slot, StackId from);
  void Revive(const Node& node);

  Ground& ground_;
  Books& books_;
  Values made_;  // kept between calls, so that its memory is used again
};

// An output that lies in an input: a view of the call's own input.
Value ViewOfInput(const Value& input, const OutputSlot& slot);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_OUTPUTS_H_
