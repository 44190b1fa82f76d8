// A place where a recording is cut, because a part of the body must run eagerly: host work between
// kernels, a launch whose shape depends on what the device computed.
//
//   body       op op  Break(why, {In(x), Out(y)}, part)  op op
//   recording  [section 0]        cut 0 {part}           [section 1]
//   replay     launch             part(x, y)             launch
//
// A tensor that is used on both sides of a cut has a fixed place: memory that the recording owns as
// long as it lives. Nothing else of the tree runs between two sections, and an eager part's own
// memory comes from a region that recordings do not use, so nothing else lies in such a place while
// it is needed. Only inputs that every call brings at another address, and outputs that every run
// puts elsewhere, are looked up in each run. So the part finds x at
//
//   if x is a tensor that section 0 makes      its address, as it was recorded
//           a copied input                     the place that section 0 copies it to
//           a patched input, a kept output     where this call has it, and an offset
//
// Bytes of the caller's that are written before the last section are saved first, so that a call
// that fails half-way leaves them as they were (undo.h).
#ifndef GRAPHTREE_GRAPHS_RECORDING_CUT_H_
#define GRAPHTREE_GRAPHS_RECORDING_CUT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "device/address.h"
#include "graphs/eager_part.h"
#include "graphs/inputs/pointer_slots.h"
#include "graphs/recording/section.h"
#include "graphs/tensor.h"

namespace graphtree {

// An address that may differ from run to run.
struct Place {
  uint32_t input = kNobody;  // a patched input; or kFirstKept + the number of a kept output
  uint64_t offset = 0;       // from the address of that; with kNobody, the address itself

  // `places` are where this run puts the kept outputs.
  Address In(absl::Span<const Value> inputs, absl::Span<const Value> places) const {
    if (input == kNobody) return offset;
    const Value& base = input >= kFirstKept ? places[input - kFirstKept] : inputs[input];
    return base.word() + offset;
  }
};

// A tensor of a part, by its number there, that has no fixed place.
struct MovingTensor {
  uint32_t tensor = 0;
  Place place;
};

// Bytes of the caller's that are written before the last section.
struct SpoiltBytes {
  Place place;
  uint64_t bytes = 0;
};

struct Cut {
  BreakRequest part;
  std::vector<MovingTensor> moving;
  // Bytes that the section before the cut and the part write, less those that an earlier cut lists.
  std::vector<SpoiltBytes> spoilt;
  Section next_section;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RECORDING_CUT_H_
