// Finds out which argument bytes of a library's ops are addresses of inputs: the body is recorded
// twice, once with those inputs elsewhere, and the two recordings are compared.
//
//   input x at          0x7000_1000            0x9000_1000
//   op 2, a library's   | 0x7000_1040 | 48 |   | 0x9000_1040 | 48 |   slot {x, byte 0, 64}
//   op 3, a library's   | 0x6000_0000 | 12 |   | 0x6000_0000 | 12 |   nobody's
//   op 4, a library's   | 0x7000_1080 |  0 |   | 0x7000_1080 |  0 |   x stays hidden: an address of
//                                                                     it is known from elsewhere
//
// Nothing but such words may differ. If anything else does, the body does not record the same work
// twice, and no input counts as found. Nor does an input that moved no word at all: its address
// then lies where no argument shows it.
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

// An input that is elsewhere in the other recording.
struct MovedInput {
  uint32_t input = 0;
  AddressRange here;
  Address there = 0;
};

struct MovedWords {
  std::vector<PointerOp> ops;    // the library's ops; their slots name bytes of Op::argument_bytes
  std::vector<uint32_t> hidden;  // inputs that were not found
};

// `here` are the ops of the recording that is kept, `there` those of the rehearsal. Ops in `known`
// were launched by the launcher: their slots of these inputs are expected to differ. Ops in
// `skipped` are not looked at.
MovedWords FindMovedWords(const std::vector<Op>& here, const std::vector<Op>& there,
                          absl::Span<const PointerOp> known, absl::Span<const OpId> skipped,
                          absl::Span<const MovedInput> moved);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_INPUTS_MOVED_WORDS_H_
