// Reads arguments one by one; an error names the one that is wrong.
#include "runtime/c/arguments.h"

#include "absl/strings/str_cat.h"
#include "runtime/c/values.h"

namespace graphtree::c {
namespace {

// What an argument is before it is known who takes it.
struct Seen {
  bool is_tensor = false;
  Argument value = Argument::Bytes("", 0);
  Tensor tensor;
  Access access = Access::kValue;
};

absl::Status Wrong(size_t index, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("argument ", index, " ", what));
}

bool See(const gt_arg& arg, size_t index, Entry* entry, Seen* seen) {
  if (arg.data == nullptr && (arg.access != GT_BYTES || arg.bytes != 0)) {
    entry->Fail(Wrong(index, "points to nothing"));
    return false;
  }
  switch (arg.access) {
    case GT_BYTES:
      seen->value = Argument::Bytes(arg.data != nullptr ? arg.data : "", arg.bytes);
      return true;
    case GT_NUMBER: seen->value = Argument::ComparableBytes(arg.data, arg.bytes); return true;
    case GT_RANGE: {
      const auto& range = *static_cast<const gt_range*>(arg.data);
      seen->value = Argument::InOut({range.address, range.bytes});
      return true;
    }
    case GT_READ: seen->access = Access::kRead; break;
    case GT_WRITE: seen->access = Access::kWrite; break;
    case GT_READ_WRITE: seen->access = Access::kReadWrite; break;
    default:
      entry->Fail(Wrong(index, absl::StrCat("has access ", arg.access,
                                            ", and there is none with that number")));
      return false;
  }
  seen->is_tensor = true;
  const std::string what = absl::StrCat("argument ", index);
  return CopyTensor(static_cast<const gt_value*>(arg.data), what.c_str(), entry, &seen->tensor);
}

}  // namespace

LaunchShape ShapeOf(const gt_launch_shape& shape) {
  return {.grid = {shape.grid[0], shape.grid[1], shape.grid[2]},
          .block = {shape.block[0], shape.block[1], shape.block[2]},
          .shared_bytes = shape.shared_bytes,
          .programmatic = shape.programmatic != 0};
}

bool LauncherArguments::Read(const gt_arg* args, size_t count, Entry* entry) {
  if (!entry->HasArray(args, count, "args")) return false;
  // Arguments point to tensors, which therefore stay where they are.
  if (!entry->Own([&] { tensors_.reserve(count); }) ||
      !entry->Own([&] { args_.reserve(count); })) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    Seen seen;
    if (!See(args[i], i, entry, &seen)) return false;
    if (args[i].access == GT_RANGE) {
      entry->Fail(Wrong(i, "is a range of memory; a body's launch takes a tensor"));
      return false;
    }
    if (seen.is_tensor) {
      tensors_.push_back(std::move(seen.tensor));
      args_.emplace_back(seen.access, tensors_.back());
    } else {
      args_.emplace_back(seen.value);
    }
  }
  return true;
}

bool StreamArguments::Read(const gt_arg* args, size_t count, Entry* entry) {
  if (!entry->HasArray(args, count, "args") || !entry->Own([&] { tensors_.reserve(count); }) ||
      !entry->Own([&] { args_.reserve(count); })) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    Seen seen;
    if (!See(args[i], i, entry, &seen)) return false;
    if (!seen.is_tensor) {
      args_.push_back(seen.value);
      continue;
    }
    const absl::StatusOr<AddressRange> bytes = seen.tensor.bytes();
    if (!bytes.ok()) {
      entry->Fail(bytes.status());
      return false;
    }
    args_.push_back(seen.access == Access::kRead    ? Argument::In(*bytes)
                    : seen.access == Access::kWrite ? Argument::Out(*bytes)
                                                    : Argument::InOut(*bytes));
    tensors_.push_back(std::move(seen.tensor));
  }
  return true;
}

}  // namespace graphtree::c
