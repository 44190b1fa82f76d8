// The op that pads: one kernel that writes the tail of a tensor, and one that also copies the
// tensor to memory of its own. What they write is worked out beforehand, in a table that is passed
// by value (pad_table.h). The tensors are arguments of their own, so that a replay can be patched
// to read and write elsewhere.
//
//   const PadOp op = *PadOp::InPlace(from, to, bits);
//   on.Launch(PadInPlaceKernel(), op.shape(), {Out(tail), Val(op.table())});
//
// Pure, but for the kernels. Cost: a few divisions for each dimension.
#ifndef GRAPHTREE_GRAPHS_PAD_PAD_OP_H_
#define GRAPHTREE_GRAPHS_PAD_PAD_OP_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/kernel.h"
#include "graphs/layout.h"
#include "graphs/pad/pad_table.h"

namespace graphtree {

class PadOp {
 public:
  // `to` has the rank of `from`, and no size is less; it has elements, does not overlap itself, and
  // is not all in `from`. `bits` are those of one element. Addresses are not part of the table, so
  // that a recording shows the same one wherever its tensors lie.
  //
  // An error if more than pad::kMaxDims dimensions are left once those that lie side by side are
  // joined.

  // REQUIRES: where both have an element, both have it at the same place.
  static absl::StatusOr<PadOp> InPlace(const Layout& from, const Layout& to, uint64_t bits);
  static absl::StatusOr<PadOp> Copy(const Layout& from, const Layout& to, uint64_t bits);

  const pad::Table& table() const { return table_; }
  LaunchShape shape() const;
  // The bytes that the op writes, from the first to the last one, counted from the target.
  AddressRange written() const { return {table_.skipped, end_ - table_.skipped}; }

 private:
  static absl::StatusOr<PadOp> Make(const Layout& from, const Layout& to, uint64_t bits,
                                    bool copies);
  void DealOut(bool copies);

  pad::Table table_ = {};
  uint64_t end_ = 0;
};

// (uint8_t* written, Table)
const Kernel& PadInPlaceKernel();
// (uint8_t* target, const uint8_t* source, Table)
const Kernel& PadCopyKernel();

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_PAD_PAD_OP_H_
