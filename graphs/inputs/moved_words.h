// Which argument bytes of a library's ops are addresses of inputs: found by recording the body
// twice, the second time with those inputs elsewhere, and comparing the two recordings.
//
//   input x at          0x7000_1000            0x9000_1000
//   op 2, a library's   | 0x7000_1040 | 48 |   | 0x9000_1040 | 48 |   slot {x, byte 0, 64}
//   op 3, a library's   | 0x6000_0000 | 12 |   | 0x6000_0000 | 12 |   nobody's
//   op 4, a library's   | 0x7000_1080 |  0 |   | 0x7000_1080 |  0 |   x stays hidden: an address of
//                                                                     it is known from elsewhere
//
// Nothing but such words may differ. If anything else does, the body does not record the same
// twice, and no input is taken for found. An input that moved no word at all is not found either:
// its address then lies where no argument shows it.
//
// Pure: no device, no lock.
#ifndef GRAPHTREE_GRAPHS_INPUTS_MOVED_WORDS_H_
#define GRAPHTREE_GRAPHS_INPUTS_MOVED_WORDS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "device/address.h"
#include "device/graph.h"
#include "graphs/inputs/pointer_slots.h"

namespace graphtree {

// An input that was elsewhere in the second recording.
struct MovedInput {
  uint32_t input = 0;
  AddressRange here;
  Address there = 0;
};

struct MovedWords {
  std::vector<PointerOp> ops;    // of the library; their slots name bytes of Op::argument_bytes
  std::vector<uint32_t> hidden;  // inputs that were not found
};

// `here` is the recording that is kept. Ops in `known` are our own launches, whose slots of these
// inputs are expected to differ; ops in `skipped` are not looked at.
MovedWords FindMovedWords(const std::vector<Op>& here, const std::vector<Op>& there,
                          absl::Span<const PointerOp> known, absl::Span<const OpId> skipped,
                          absl::Span<const MovedInput> moved);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_INPUTS_MOVED_WORDS_H_
