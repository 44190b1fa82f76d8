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
  const auto unmade = [&] { return Unmade(Layout::Of(type, sizes)); };
  if (!ok() || !Usable(tensor, "pad")) return unmade();
  const absl::StatusOr<uint64_t> bits = value.BitsAs(type);
  const absl::StatusOr<PadPlan> plan = PlanPad(tensor.shape(), sizes, made_.SourceOf(tensor));
  for (const absl::Status& status : {bits.status(), plan.status()}) {
    if (status.ok()) continue;
    FailAt("pad", absl::Status(status.code(), absl::StrCat("pad: ", status.message())));
    return unmade();
  }
  switch (plan->way) {
    case PadWay::kNothing: return tensor.View(plan->layout, 0);
    case PadWay::kInPlace: return PadInPlace(tensor, plan->layout, *bits);
    case PadWay::kCopy: break;
  }
  return PadByCopy(tensor, *plan, *bits);
}

// The op takes the tail alone, so that nothing else counts as written.
Tensor Launcher::PadInPlace(const Tensor& tensor, const Layout* layout, uint64_t bits) {
  const absl::StatusOr<PadOp> op = PadOp::InPlace(tensor.shape(), *layout, bits);
  if (!op.ok()) {
    FailAt("pad", op.status());
    return Unmade(layout);
  }
  const AddressRange written = op->written();
  const Tensor tail =
      tensor.View(Layout::Of(DType::kU8, {static_cast<int64_t>(written.bytes)}), written.base);
  made_.Padded(tensor, *layout);
  Issue(PadInPlaceKernel(), op->shape(), {Out(tail), Val(op->table())});
  ++requests_.pads.in_place;
  return tensor.View(layout, 0);
}

Tensor Launcher::PadByCopy(const Tensor& tensor, const PadPlan& plan, uint64_t bits) {
  Storage* const storage = Allocate(plan.copy_bytes);
  if (storage == nullptr) return Unmade(plan.layout);
  const Tensor result = Tensor::Over(storage, plan.layout, storage->range().base);
  requests_.pads.room_bytes += made_.AddCopy(*storage, tensor, plan);
  const absl::StatusOr<PadOp> op = PadOp::Copy(tensor.shape(), *plan.layout, bits);
  if (!op.ok()) {
    FailAt("pad", op.status());
    return Unmade(plan.layout);
  }
  Issue(PadCopyKernel(), op->shape(), {Out(result), In(tensor), Val(op->table())});
  ++requests_.pads.copied;
  return result;
}

}  // namespace graphtree
