// Decides how a tensor is padded: in place or by a copy, and with which layout. Pure.
//
//   in place     block  |==tensor==|~~~tail~~~|.......|     only the tail is written
//
//   rows with    block  |==row 0==|~~tail~~|              a stride is room, too
//   a stride            |==row 1==|~~tail~~|
//                       |~~~~~~~~ tail ~~~~|
//
// The tail lies in bytes that nobody else may look at, so a tensor is padded in place only if the
// run that pads it has made the memory itself, and holds no other handle of it. Where it was made,
// room behind it was asked for, or was learned (room.h).
//
// The result has the same layout whether it is a view or a copy, in every kind of run: no kernel
// after the pad has to know which it was.
//
//   1. with the strides of the tensor, if the run has asked for that many bytes
//   2. else dense; a view only if the elements are then where they were
//
// Learned room does not count in 1, since a run that has not learned it yet has less.
#ifndef GRAPHTREE_GRAPHS_PAD_PAD_PLAN_H_
#define GRAPHTREE_GRAPHS_PAD_PAD_PLAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphs/layout.h"

namespace graphtree {

// What the run that pads a tensor knows of the memory behind it.
struct PadSource {
  bool made = false;    // by the run; else the rest says nothing
  bool alone = false;   // the tensor is the only handle, and no other stream uses the memory
  uint64_t offset = 0;  // of the tensor's first byte in its block
  uint64_t asked = 0;   // bytes of the block that the run has asked for
  uint64_t has = 0;     // bytes of the block, with learned room
};

enum class PadWay : uint8_t {
  kNothing,  // the result is a view, and has no tail
  kInPlace,  // the result is a view; its tail is written
  kCopy,     // the result has memory of its own
};

struct PadPlan {
  PadWay way = PadWay::kCopy;
  const Layout* layout = nullptr;  // of the result
  // Of a copy: the bytes that its run asks for. Where the strides stay they are as many as the
  // tensor has asked for from its first byte on, so that a later pad finds the same room that it
  // would find after a pad in place.
  uint64_t copy_bytes = 0;
  // Only the block's room is lacking for the pad to be in place: it would take a block of so many
  // bytes. Else 0.
  uint64_t wanted_bytes = 0;
};

// An error if `sizes` are not at least the tensor's, or no tensor can have them.
// REQUIRES: the tensor's layout is possible.
absl::StatusOr<PadPlan> PlanPad(const Layout& tensor, absl::Span<const int64_t> sizes,
                                const PadSource& source);

// The layout of a tensor of `sizes` that is made with room to be padded to the sizes `room`: its
// strides are those of the room.
absl::StatusOr<const Layout*> LayoutWithRoom(DType type, absl::Span<const int64_t> sizes,
                                             absl::Span<const int64_t> room);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_PAD_PAD_PLAN_H_
