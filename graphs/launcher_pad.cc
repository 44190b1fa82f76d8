// Pads tensors: asks what is to be done, and launches it.
#include "absl/strings/str_cat.h"
#include "graphs/history/stack_marks.h"
#include "graphs/launcher.h"
#include "graphs/pad/pad_op.h"
#include "graphs/pad/pad_plan.h"

namespace graphtree {

Tensor Launcher::Empty(DType type, absl::Span<const int64_t> sizes,
                       absl::Span<const int64_t> room) {
  const absl::StatusOr<const Layout*> layout = LayoutWithRoom(type, sizes, room);
  if (!layout.ok()) {
    Fail(layout.status());
    return Unmade(Layout::Of(type, sizes));
  }
  return Empty(Layout::Of(type, room)).View(*layout, 0);
}

Tensor Launcher::Pad(Tensor tensor, absl::Span<const int64_t> sizes, PadValue value) {
  const DoorMark door;
  const DType type = tensor.defined() ? tensor.shape().type() : DType::kU8;
  const auto fail = [&](const absl::Status& why) {
    progress_.FailAt("pad", absl::Status(why.code(), absl::StrCat("pad: ", why.message())));
    return Unmade(Layout::Of(type, sizes));
  };
  if (!ok() || !Usable(tensor, "pad")) return Unmade(Layout::Of(type, sizes));
  const absl::StatusOr<uint64_t> bits = value.BitsAs(type);
  if (!bits.ok()) return fail(bits.status());
  const absl::StatusOr<PadPlan> plan =
      PlanPad(tensor.shape(), sizes, memory_.made().SourceOf(tensor));
  if (!plan.ok()) return fail(plan.status());
  if (plan->way == PadWay::kNothing) return tensor.View(plan->layout, 0);
  const bool in_place = plan->way == PadWay::kInPlace;
  const absl::StatusOr<PadOp> op = in_place ? PadOp::InPlace(tensor.shape(), *plan->layout, *bits)
                                            : PadOp::Copy(tensor.shape(), *plan->layout, *bits);
  if (!op.ok()) return fail(op.status());
  if (in_place) {
    // The op takes the tail alone, so that nothing else counts as written.
    const AddressRange written = op->written();
    const Tensor tail =
        tensor.View(Layout::Of(DType::kU8, {static_cast<int64_t>(written.bytes)}), written.base);
    memory_.made().Padded(tensor, *plan->layout);
    Launch(PadInPlaceKernel(), op->shape(), {Out(tail), Val(op->table())});
    ++requests_.pads.in_place;
    return tensor.View(plan->layout, 0);
  }
  absl::StatusOr<Tensor> copy = memory_.MakeCopy(tensor, *plan);
  if (!copy.ok()) {
    Fail(copy.status());
    return Unmade(plan->layout);
  }
  Launch(PadCopyKernel(), op->shape(), {Out(*copy), In(tensor), Val(op->table())});
  ++requests_.pads.copied;
  return *std::move(copy);
}

}  // namespace graphtree
