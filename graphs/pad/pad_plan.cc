// Compares layouts, and counts bytes of the block.
#include "graphs/pad/pad_plan.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace graphtree {
namespace {

// OK if every size is at least the tensor's. The error begins with `what`, which is to be `sizes`.
absl::Status CheckGrows(absl::string_view what, absl::Span<const int64_t> from,
                        absl::Span<const int64_t> sizes) {
  const auto refused = [&](auto... why) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " [", absl::StrJoin(sizes, ","), "]: ", why...));
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
  absl::Status grows =
      CheckGrows(absl::StrCat("a tensor of ", tensor.ToString(), " is to be padded to"),
                 tensor.sizes(), sizes);
  if (!grows.ok()) return grows;
  if (sizes == tensor.sizes()) return PadPlan{PadWay::kNothing, &tensor};
  const Layout* const dense = Layout::Of(tensor.type(), sizes);
  if (!dense->possible()) return dense->Check();
  if (dense->elements() == 0) return PadPlan{PadWay::kNothing, dense};
  const Layout* const strided = Layout::Strided(tensor.type(), sizes, tensor.strides());
  const bool keeps_strides = source.made && strided->possible() && !strided->overlaps_itself() &&
                             Fits(source.offset, *strided, source.asked);
  if (keeps_strides) return PadPlan{source.alone ? PadWay::kInPlace : PadWay::kCopy, strided};
  if (!source.made || !source.alone || !LeavesElements(tensor, *dense)) {
    return PadPlan{PadWay::kCopy, dense};
  }
  if (Fits(source.offset, *dense, source.has)) return PadPlan{PadWay::kInPlace, dense};
  return PadPlan{PadWay::kCopy, dense, source.offset + dense->extent_bytes()};
}

absl::StatusOr<const Layout*> LayoutWithRoom(DType type, absl::Span<const int64_t> sizes,
                                             absl::Span<const int64_t> room) {
  const Layout* const own = Layout::Of(type, sizes);
  if (!own->possible()) return own->Check();
  absl::Status grows = CheckGrows(
      absl::StrCat("a tensor of ", own->ToString(), " is to have room for"), sizes, room);
  if (!grows.ok()) return grows;
  const Layout* const whole = Layout::Of(type, room);
  if (!whole->possible()) return whole->Check();
  return Layout::Strided(type, sizes, whole->strides());
}

}  // namespace graphtree
