// Compares layouts, and counts bytes of the block.
#include "graphs/pad/pad_plan.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

// OK if every size is at least the tensor's. The error says that the tensor `was_to` be `sizes`.
absl::Status CheckGrows(const Layout& tensor, absl::string_view was_to,
                        absl::Span<const int64_t> sizes) {
  const absl::Span<const int64_t> from = tensor.sizes();
  const auto refused = [&](auto... why) {
    return absl::InvalidArgumentError(absl::StrCat("a tensor of ", tensor.ToString(), was_to, " [",
                                                   absl::StrJoin(sizes, ","), "]: ", why...));
  };
  if (sizes.size() != from.size()) {
    return refused("the one has ", from.size(), " sizes, the other ", sizes.size());
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] >= from[i]) continue;
    return refused("size ", i, " would shrink from ", from[i], " to ", sizes[i]);
  }
  return absl::OkStatus();
}

// Whether every element of `tensor` is where `other` has it, counted from the first one.
bool LeavesElements(const Layout& tensor, const Layout& other) {
  for (size_t i = 0; i < tensor.sizes().size() && tensor.elements() > 0; ++i) {
    if (tensor.sizes()[i] > 1 && tensor.strides()[i] != other.strides()[i]) return false;
  }
  return true;
}

bool Fits(uint64_t offset, const Layout& layout, uint64_t bytes) {
  return offset <= bytes && layout.extent_bytes() <= bytes - offset;
}

}  // namespace

absl::StatusOr<PadPlan> PlanPad(const Layout& tensor, absl::Span<const int64_t> sizes,
                                const PadSource& source) {
  GRAPHTREE_RETURN_IF_ERROR(CheckGrows(tensor, " is to be padded to", sizes));
  if (sizes == tensor.sizes()) return PadPlan{PadWay::kNothing, &tensor};
  const Layout* const dense = Layout::Of(tensor.type(), sizes);
  if (!dense->possible()) return dense->Check();
  if (dense->elements() == 0) return PadPlan{PadWay::kNothing, dense};
  const Layout* const strided = Layout::Strided(tensor.type(), sizes, tensor.strides());
  const bool keeps_strides = source.made && strided->possible() && !strided->overlaps_itself() &&
                             Fits(source.offset, *strided, source.asked);
  if (keeps_strides && source.alone) return PadPlan{PadWay::kInPlace, strided};
  if (keeps_strides) return PadPlan{PadWay::kCopy, strided, source.asked - source.offset};
  const uint64_t bytes = dense->extent_bytes();
  if (!source.made || !source.alone || !LeavesElements(tensor, *dense)) {
    return PadPlan{PadWay::kCopy, dense, bytes};
  }
  if (Fits(source.offset, *dense, source.has)) return PadPlan{PadWay::kInPlace, dense};
  return PadPlan{PadWay::kCopy, dense, bytes, source.offset + bytes};
}

absl::StatusOr<const Layout*> LayoutWithRoom(DType type, absl::Span<const int64_t> sizes,
                                             absl::Span<const int64_t> room) {
  const Layout* const own = Layout::Of(type, sizes);
  if (!own->possible()) return own->Check();
  GRAPHTREE_RETURN_IF_ERROR(CheckGrows(*own, " is to have room for", room));
  const Layout* const whole = Layout::Of(type, room);
  if (!whole->possible()) return whole->Check();
  return Layout::Strided(type, sizes, whole->strides());
}

}  // namespace graphtree
