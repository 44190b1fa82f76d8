// Folds the axes before and after that of the rows into one stride each.
#include "runtime/slots/tensor_rows.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace graphtree {
namespace {

// The axes [begin, end) of a tensor as one axis with a stride: the last axis' own, if each axis
// before it steps over exactly what follows. -1 if one does not. Axes of one index have no stride.
int64_t FoldedStride(const Layout& layout, size_t begin, size_t end, int64_t when_single) {
  int64_t stride = -1;
  int64_t next = 0;
  for (size_t i = end; i-- > begin;) {
    if (layout.sizes()[i] == 1) continue;
    if (stride < 0) {
      stride = layout.strides()[i];
    } else if (layout.strides()[i] != next) {
      return -1;
    }
    next = layout.strides()[i] * layout.sizes()[i];
  }
  return stride < 0 ? when_single : stride;
}

std::string ShapeOf(const SlotSpec& slot) {
  return absl::StrCat(DTypeName(slot.type), "[", absl::StrJoin(slot.sizes, ","), "]");
}

absl::Status Misfit(const SlotSpec& slot, const Tensor& tensor, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("slot '", slot.name, "' of ", ShapeOf(slot),
                                                 " was staged with a tensor of ",
                                                 tensor.shape().ToString(), ": ", why));
}

absl::Status CheckSizes(const SlotSpec& slot, const Tensor& tensor) {
  const absl::Span<const int64_t> sizes = tensor.shape().sizes();
  if (sizes.size() != slot.sizes.size()) {
    return Misfit(slot, tensor, absl::StrCat("it has ", sizes.size(), " axes, and the slot has ",
                                             slot.sizes.size()));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == slot.sizes[i] || (slot.rows.has_value() && i == slot.axis)) continue;
    return Misfit(slot, tensor,
                  absl::StrCat("its axis ", i, " has ", sizes[i], ", and the slot's has ",
                               slot.sizes[i], ", and holds no rows"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DeviceRows> RowsOfTensor(const SlotSpec& slot, const Tensor& tensor) {
  if (!tensor.defined()) {
    return absl::InvalidArgumentError(
        absl::StrCat("slot '", slot.name, "' was staged with a tensor that is nothing"));
  }
  if (absl::Status fits = CheckSizes(slot, tensor); !fits.ok()) return fits;
  const Layout& layout = tensor.shape();
  const bool has_axes = !slot.sizes.empty();
  DeviceRows rows = {.address = tensor.word(), .type = layout.type()};
  rows.rows = has_axes ? layout.sizes()[slot.axis] : 1;
  if (layout.elements() == 0) return rows;
  if (!has_axes) return rows;
  if (FoldedStride(layout, slot.axis + 1, layout.sizes().size(), 1) != 1) {
    return Misfit(slot, tensor, "the elements of a row do not lie one after another");
  }
  rows.row_stride = FoldedStride(layout, slot.axis, slot.axis + 1, RowElementsOf(slot));
  rows.piece_stride = FoldedStride(layout, 0, slot.axis, rows.row_stride * rows.rows);
  if (rows.piece_stride < 0) {
    return Misfit(slot, tensor, "the axes before the rows do not lie evenly apart");
  }
  // Where rows are staged a stride of 0 stands for rows without gaps.
  if (rows.row_stride == 0 || rows.piece_stride == 0) {
    return Misfit(slot, tensor, "a stride of 0 repeats its rows, which a slot cannot say");
  }
  return rows;
}

}  // namespace graphtree
