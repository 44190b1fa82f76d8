// Launchers of graphtree.h: inputs, memory, ops and outputs of a body.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/c/arguments.h"
#include "runtime/c/bodies.h"
#include "runtime/c/launcher_object.h"
#include "runtime/c/tree_objects.h"
#include "runtime/c/values.h"

using graphtree::Tensor;
using graphtree::Value;
using graphtree::c::KernelObject;
using graphtree::c::LauncherEntry;
using graphtree::c::LayoutOf;
using graphtree::c::OrEnd;
using graphtree::c::Ref;

gt_error gt_launcher_input_count(gt_launcher on, size_t* out) noexcept {
  return OrEnd("gt_launcher_input_count", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_input_count", on);
    if (!entry.Sets(out, "out")) return entry.Done();
    const graphtree::Values* const inputs = entry.object().given().inputs;
    *out = inputs == nullptr ? 0 : inputs->size();
    return entry.Done();
  });
}

gt_error gt_launcher_input(gt_launcher on, size_t index, gt_value* out) noexcept {
  return OrEnd("gt_launcher_input", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_input", on);
    if (entry.Sets(out, "out")) entry.object().Give(entry->Input(index), out);
    return entry.Done();
  });
}

gt_error gt_launcher_integer(gt_launcher on, size_t index, int64_t* out) noexcept {
  return OrEnd("gt_launcher_integer", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_integer", on);
    if (entry.Sets(out, "out")) *out = entry->Integer(index);
    return entry.Done();
  });
}

gt_error gt_launcher_any_input(gt_launcher on, size_t index, gt_value* out) noexcept {
  return OrEnd("gt_launcher_any_input", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_any_input", on);
    if (!entry.Sets(out, "out")) return entry.Done();
    const graphtree::Values* const inputs = entry.object().given().inputs;
    if (inputs == nullptr || index >= inputs->size()) {
      entry.entry().Fail(absl::InvalidArgumentError(absl::StrCat(
          "the body takes input ", index, ", and has ", inputs == nullptr ? 0 : inputs->size())));
      return entry.Done();
    }
    entry.object().Give(Value((*inputs)[index]), out);
    return entry.Done();
  });
}

gt_error gt_launcher_drop_input(gt_launcher on, size_t index) noexcept {
  return OrEnd("gt_launcher_drop_input", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_drop_input", on);
    if (!entry) return entry.Done();
    graphtree::Values* const inputs = entry.object().given().inputs;
    if (inputs != nullptr && index < inputs->size()) {
      (*inputs)[index] = Value();
    } else {
      entry.entry().Fail(absl::InvalidArgumentError(
          absl::StrCat("the body drops input ", index, ", which it has not")));
    }
    return entry.Done();
  });
}

gt_error gt_launcher_output(gt_launcher on, const gt_value* value) noexcept {
  return OrEnd("gt_launcher_output", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_output", on);
    Value output;
    if (entry && entry.entry().Has(value, "value") &&
        graphtree::c::CopyValue(*value, "the output", &entry.entry(), &output)) {
      entry.entry().Own([&] { entry.object().outputs().push_back(std::move(output)); });
    }
    return entry.Done();
  });
}

gt_error gt_launcher_empty(gt_launcher on, gt_layout layout, gt_value* out) noexcept {
  return OrEnd("gt_launcher_empty", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_empty", on);
    if (!entry.Sets(out, "out")) return entry.Done();
    const graphtree::Layout* const of = LayoutOf(layout);
    if (of != nullptr) {
      entry.object().Give(entry->Empty(of), out);
    } else {
      entry.entry().FailHandle(graphtree::c::HandleOf(layout), graphtree::c::kLayout, "layout");
    }
    return entry.Done();
  });
}

gt_error gt_launcher_empty_with_room(gt_launcher on, gt_dtype dtype, uint32_t rank,
                                     const int64_t* sizes, const int64_t* room,
                                     gt_value* out) noexcept {
  return OrEnd("gt_launcher_empty_with_room", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_empty_with_room", on);
    entry.entry().HasArray(sizes, rank, "sizes");
    entry.entry().HasArray(room, rank, "room");
    entry.entry().Fail(graphtree::c::CheckEnum("dtype", dtype, GT_F64));
    if (!entry.Sets(out, "out")) return entry.Done();
    entry.object().Give(
        entry->Empty(static_cast<graphtree::DType>(dtype), {sizes, rank}, {room, rank}), out);
    return entry.Done();
  });
}

gt_error gt_launcher_pad(gt_launcher on, const gt_value* tensor, uint32_t rank,
                         const int64_t* sizes, double number, gt_value* out) noexcept {
  return OrEnd("gt_launcher_pad", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_pad", on);
    entry.entry().HasArray(sizes, rank, "sizes");
    const gt_value given = tensor != nullptr ? *tensor : gt_value{};
    if (!entry.Sets(out, "out") || !entry.entry().Has(tensor, "tensor")) return entry.Done();
    Value value;
    graphtree::c::HandleTable::Slot* slot = nullptr;
    if (!graphtree::c::TakeValue(given, "tensor", &entry.entry(), &value, &slot)) {
      return entry.Done();
    }
    // The handle goes: what is handed over has no other holder.
    if (slot != nullptr) graphtree::c::LoseSlot(slot);
    if (!value.is_tensor()) {
      entry.entry().Fail(absl::InvalidArgumentError(
          absl::StrCat("a pad of what is no tensor: ", graphtree::Description(value))));
      return entry.Done();
    }
    Tensor handed = Tensor::From(value);
    value = Value();
    entry.object().Give(entry->Pad(std::move(handed), {sizes, rank}, number), out);
    return entry.Done();
  });
}

gt_error gt_launcher_scratch(gt_launcher on, uint64_t bytes, gt_value* out) noexcept {
  return OrEnd("gt_launcher_scratch", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_scratch", on);
    if (entry.Sets(out, "out")) entry.object().Give(entry->Scratch(bytes), out);
    return entry.Done();
  });
}

gt_error gt_launcher_pin(gt_launcher on, const gt_value* tensor) noexcept {
  return OrEnd("gt_launcher_pin", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_pin", on);
    const Tensor pinned = entry.TensorAt(tensor, "tensor");
    if (entry) entry->Pin(pinned);
    return entry.Done();
  });
}

gt_error gt_launcher_launch(gt_launcher on, gt_kernel kernel, const gt_launch_shape* shape,
                            const gt_arg* args, size_t count) noexcept {
  return OrEnd("gt_launcher_launch", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_launch", on);
    const Ref<KernelObject> what = entry.entry().Get<KernelObject>(kernel, "kernel");
    graphtree::c::LauncherArguments read;
    if (!entry.entry().Has(shape, "shape") || !entry ||
        !read.Read(args, count, &entry.entry())) {
      return entry.Done();
    }
    entry.object().Keep(what->kernel());
    entry->Launch(*what->kernel(), graphtree::c::ShapeOf(*shape), read.args());
    return entry.Done();
  });
}

gt_error gt_launcher_copy(gt_launcher on, const gt_value* target,
                          const gt_value* source) noexcept {
  return OrEnd("gt_launcher_copy", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_copy", on);
    const Tensor to = entry.TensorAt(target, "target");
    const Tensor from = entry.TensorAt(source, "source");
    if (entry) entry->Copy(to, from);
    return entry.Done();
  });
}

gt_error gt_launcher_fill(gt_launcher on, const gt_value* target, uint8_t byte) noexcept {
  return OrEnd("gt_launcher_fill", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_fill", on);
    const Tensor to = entry.TensorAt(target, "target");
    if (entry) entry->Fill(to, byte);
    return entry.Done();
  });
}

gt_error gt_launcher_break(gt_launcher on, const char* why, const gt_arg* args, size_t count,
                           gt_part part, void* context, void (*destroy)(void* context)) noexcept {
  return OrEnd("gt_launcher_break", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_break", on);
    const auto held = graphtree::c::HoldContext(context, destroy, &entry.entry());
    if (part == nullptr) {
      entry.entry().Fail(absl::InvalidArgumentError("gt_launcher_break: part is null"));
    }
    graphtree::c::LauncherArguments read;
    if (!entry || !read.Read(args, count, &entry.entry())) return entry.Done();
    entry->Break(std::string(graphtree::c::WordOf(why)), read.args(),
                 graphtree::c::PartOf(part, held, entry.object().opened()));
    return entry.Done();
  });
}

gt_error gt_launcher_status(gt_launcher on) noexcept {
  return OrEnd("gt_launcher_status", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_status", on);
    return entry.Done();
  });
}
