// Layouts and values of graphtree.h.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graphs/layout.h"
#include "graphs/tensor.h"
#include "runtime/c/device_objects.h"
#include "runtime/c/entry.h"
#include "runtime/c/texts.h"
#include "runtime/c/values.h"

using graphtree::Layout;
using graphtree::Tensor;
using graphtree::Value;
using graphtree::c::Entry;
using graphtree::c::Within;

gt_error gt_layout_new(gt_dtype dtype, uint32_t rank, const int64_t* sizes, const int64_t* strides,
                       gt_layout* out) noexcept {
  constexpr uint32_t kMostDimensions = 64;
  return Within("gt_layout_new", [&](Entry& entry) -> gt_error {
    entry.Fail(graphtree::c::CheckEnum("dtype", dtype, GT_F64));
    entry.HasArray(sizes, rank, "sizes");
    if (rank > kMostDimensions) {
      entry.Fail(absl::InvalidArgumentError(absl::StrCat(rank, " dimensions; 64 at most")));
    }
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    const auto type = static_cast<graphtree::DType>(dtype);
    const absl::Span<const int64_t> by_rank(sizes, rank);
    const Layout* const layout = strides == nullptr
                                     ? Layout::Of(type, by_rank)
                                     : Layout::Strided(type, by_rank, {strides, rank});
    if (!layout->possible()) return entry.Return(layout->Check());
    *out = graphtree::c::HandleOfLayout(layout);
    return *out != nullptr ? nullptr : entry.Return(Entry::NoHandle());
  });
}

gt_error gt_layout_look(gt_layout layout, gt_layout_info* out) noexcept {
  return Within("gt_layout_look", [&](Entry& entry) -> gt_error {
    const Layout* const of = graphtree::c::LayoutOf(layout);
    if (of == nullptr) {
      entry.FailHandle(graphtree::c::HandleOf(layout), graphtree::c::kLayout, "layout");
      return entry.Failed();
    }
    const gt_layout_info found = {.size = sizeof(gt_layout_info),
                                  .dtype = static_cast<gt_dtype>(of->type()),
                                  .rank = static_cast<uint32_t>(of->sizes().size()),
                                  .sizes = of->sizes().data(),
                                  .strides = of->strides().data(),
                                  .elements = of->elements(),
                                  .extent_bytes = of->extent_bytes(),
                                  .is_dense = of->dense() ? 1 : 0,
                                  .overlaps_itself = of->overlaps_itself() ? 1 : 0};
    return entry.Return(graphtree::c::WriteFigures(found, "gt_layout_info", out));
  });
}

gt_error gt_value_copy(const gt_value* value, gt_value* out) noexcept {
  return Within("gt_value_copy", [&](Entry& entry) -> gt_error {
    Value copy;
    const bool has = entry.Has(value, "value");
    // The two may be the same.
    const gt_value from = has ? *value : gt_value{};
    if (!entry.Sets(out, "out") || !has) return entry.Failed();
    if (!graphtree::c::CopyValue(from, "value", &entry, &copy)) return entry.Failed();
    return entry.Return(graphtree::c::GiveValue(std::move(copy), out));
  });
}

gt_error gt_value_view(const gt_value* value, gt_layout layout, uint64_t offset_bytes,
                       gt_value* out) noexcept {
  return Within("gt_value_view", [&](Entry& entry) -> gt_error {
    Value view;
    if (!entry.Has(value, "value")) return entry.Failed();
    gt_value moved = *value;
    moved.layout = layout;
    moved.word += offset_bytes;
    if (!entry.Sets(out, "out")) return entry.Failed();
    if (moved.word < offset_bytes || moved.kind != GT_TENSOR) {
      return entry.Return(absl::InvalidArgumentError(
          moved.kind != GT_TENSOR ? "a view of what is no tensor" : "a view beyond all addresses"));
    }
    if (!graphtree::c::CopyValue(moved, "the view", &entry, &view)) return entry.Failed();
    return entry.Return(graphtree::c::GiveValue(std::move(view), out));
  });
}

gt_error gt_value_check(const gt_value* value) noexcept {
  return Within("gt_value_check", [&](Entry& entry) -> gt_error {
    Tensor tensor;
    if (!graphtree::c::CopyTensor(value, "value", &entry, &tensor)) return entry.Failed();
    return entry.Return(tensor.bytes().status());
  });
}

gt_error gt_storage_range(gt_storage storage, uint64_t* address, uint64_t* bytes) noexcept {
  return Within("gt_storage_range", [&](Entry& entry) -> gt_error {
    Value holder;
    entry.Sets(address, "address");
    if (!entry.Sets(bytes, "bytes") || !entry.ok()) return entry.Failed();
    graphtree::c::HandleTable::Slot* const slot =
        graphtree::c::Table().Pin(graphtree::c::HandleOf(storage), graphtree::c::kStorage);
    if (slot == nullptr) {
      entry.FailHandle(graphtree::c::HandleOf(storage), graphtree::c::kStorage, "storage");
      return entry.Failed();
    }
    const graphtree::AddressRange range = graphtree::c::ValueIn(slot)->storage()->range();
    *address = range.base;
    *bytes = range.bytes;
    if (graphtree::c::Table().Unpin(slot)) graphtree::c::EndSlot(slot, graphtree::c::kStorage);
    return nullptr;
  });
}

gt_error gt_value_describe(const gt_value* value, gt_text* out) noexcept {
  return Within("gt_value_describe", [&](Entry& entry) -> gt_error {
    Value copy;
    if (!entry.Sets(out, "out") || !entry.Has(value, "value")) return entry.Failed();
    if (!graphtree::c::CopyValue(*value, "value", &entry, &copy)) return entry.Failed();
    return graphtree::c::GiveText(entry, graphtree::Description(copy), out);
  });
}

gt_error gt_opaque_new(void* object, void (*destroy)(void* object), const uint64_t* version,
                       gt_value* out) noexcept {
  return Within("gt_opaque_new", [&](Entry& entry) -> gt_error {
    const auto held = graphtree::c::HoldContext(object, destroy, &entry);
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    Value value;
    const auto make = [&] {
      value = version == nullptr ? Value::Opaque(held) : Value::Opaque(held, *version);
    };
    if (!entry.Own(make)) {
      held->EndNow();
      return entry.Failed();
    }
    return entry.Return(graphtree::c::GiveValue(std::move(value), out));
  });
}

gt_error gt_opaque_object(const gt_value* value, void** out) noexcept {
  return Within("gt_opaque_object", [&](Entry& entry) -> gt_error {
    Value copy;
    if (!entry.Sets(out, "out") || !entry.Has(value, "value")) return entry.Failed();
    if (!graphtree::c::CopyValue(*value, "value", &entry, &copy)) return entry.Failed();
    if (!copy.is_opaque()) {
      return entry.Return(absl::InvalidArgumentError(
          absl::StrCat("value is to be opaque, and is ", graphtree::Description(copy))));
    }
    *out = copy.opaque<graphtree::c::CallerContext>().get();
    return nullptr;
  });
}
