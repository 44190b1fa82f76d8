// Where a recorded graph holds addresses of some memory: for a server that registers this memory
// elsewhere, and has to tell its peers what the graph reads and writes there.
//
//   op 7   reduce   argument 1, byte 0     0x7f0000400000
//   op 9   copy     argument 0, byte 0     0x7f0000400200     a copy has its target as argument 0
//   op 12  experts  argument 3, byte 24    0x7f0000480000     inside of a structure
//
// What is shown was captured. An input that a replay patches stands where it was recorded, and a
// kept output likewise. Every word that has the value of an address counts, also one that means
// something else. An address that lies in memory and not in an argument is not seen, nor is any of
// an op that hides what it touches: these ops are counted.
//
// Pure. Cost: a pass over all arguments.
#ifndef GRAPHTREE_GRAPHS_REPORTS_CAPTURED_POINTERS_H_
#define GRAPHTREE_GRAPHS_REPORTS_CAPTURED_POINTERS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "device/address.h"
#include "device/graph.h"

namespace graphtree {

struct CapturedPointer {
  uint64_t recording = 0;  // its id in the outline
  OpId op = 0;             // its number among the recording's ops (Tree::OpsOf)
  std::string name;        // of the op
  int argument = -1;       // its number; -1: the address begins between two arguments
  uint32_t byte = 0;       // where the address begins: in the argument, or among all argument bytes
  Address address = 0;
};

struct CapturedPointers {
  std::vector<CapturedPointer> found;  // in the order of the ops and their arguments
  uint64_t hidden_ops = 0;             // any of these may hold such an address

  void Add(CapturedPointers more) {
    for (CapturedPointer& pointer : more.found) found.push_back(std::move(pointer));
    hidden_ops += more.hidden_ops;
  }
};

// The addresses in `range` among the arguments of a recording's ops.
CapturedPointers PointersInto(AddressRange range, uint64_t recording, absl::Span<const Op> ops);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_REPORTS_CAPTURED_POINTERS_H_
