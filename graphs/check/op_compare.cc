// One op after the other.
#include "graphs/check/op_compare.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace graphtree {
namespace {

std::string Hex(absl::string_view bytes) {
  constexpr size_t kMost = 16;
  std::string text;
  for (size_t i = 0; i < bytes.size() && i < kMost; ++i) {
    absl::StrAppendFormat(&text, "%s%02x", i == 0 ? "" : " ", static_cast<uint8_t>(bytes[i]));
  }
  return bytes.size() > kMost ? text + " ..." : text;
}

// Integers of 4 and 8 bytes as numbers too.
std::string ValueText(absl::string_view bytes) {
  if (bytes.size() == sizeof(int32_t)) {
    int32_t value;
    std::memcpy(&value, bytes.data(), sizeof(value));
    return absl::StrCat(Hex(bytes), " (", value, ")");
  }
  return Hex(bytes);
}

absl::string_view BytesOf(const Op& op, const ParamSlot& slot) {
  if (slot.offset + slot.bytes > op.argument_bytes.size()) return "";
  return {reinterpret_cast<const char*>(op.argument_bytes.data()) + slot.offset, slot.bytes};
}

std::string NameOf(const Op& op) {
  return op.kind == OpKind::kKernel ? op.name : OpKindName(op.kind);
}

std::string ShapeText(const LaunchShape& shape) {
  return absl::StrFormat("%dx%dx%d blocks of %dx%dx%d threads", shape.grid.x, shape.grid.y,
                         shape.grid.z, shape.block.x, shape.block.y, shape.block.z);
}

std::string ArgumentDifference(const TracedOp& body, const Op& recorded, size_t argument,
                               const std::function<bool(AddressRange)>& is_fixed) {
  const TracedArgument& now = body.arguments[argument];
  if (now.access == Access::kValue) {
    if (!now.is_comparable || body.kind != OpKind::kKernel) return "";
    const absl::string_view before = BytesOf(recorded, recorded.parameters[argument]);
    if (before == now.value) return "";
    return absl::StrCat("its argument ", argument, " is ", ValueText(before),
                        " in the recording, and ", ValueText(now.value), " now");
  }
  if (!is_fixed(now.range)) return "";
  const std::optional<Address> before = RecordedAddress(body, recorded, argument);
  if (!before.has_value() || *before == now.range.base) return "";
  return absl::StrFormat("its argument %d is memory at %#x in the recording, and at %#x now",
                         argument, *before, now.range.base);
}

std::string Difference(const TracedOp& body, const Op& recorded,
                       const std::function<bool(AddressRange)>& is_fixed) {
  const bool is_kernel = body.kind == OpKind::kKernel;
  if (body.kind != recorded.kind || (is_kernel && body.name != recorded.name)) {
    return absl::StrCat("the recording has '", NameOf(recorded), "' in its place");
  }
  if (is_kernel && !body.is_librarys &&
      !(body.shape.grid == recorded.shape.grid && body.shape.block == recorded.shape.block)) {
    return absl::StrCat("it has ", ShapeText(recorded.shape), " in the recording, and ",
                        ShapeText(body.shape), " now");
  }
  if (is_kernel && body.arguments.size() != recorded.parameters.size()) return "";
  for (size_t i = 0; i < body.arguments.size(); ++i) {
    std::string text = ArgumentDifference(body, recorded, i, is_fixed);
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace

std::vector<const Op*> OpsOfBody(absl::Span<const Op> recorded, size_t front, size_t back) {
  std::vector<const Op*> ops;
  for (const Op& op : recorded) {
    const bool counts =
        op.kind == OpKind::kKernel || op.kind == OpKind::kCopy || op.kind == OpKind::kFill;
    if (counts) ops.push_back(&op);
  }
  std::sort(ops.begin(), ops.end(), [](const Op* a, const Op* b) { return a->id < b->id; });
  front = std::min(front, ops.size());
  back = std::min(back, ops.size() - front);
  return {ops.begin() + front, ops.end() - back};
}

std::optional<OpDifference> FirstLaunchDifference(
    absl::Span<const TracedOp> body, absl::Span<const Op* const> recorded,
    const std::function<bool(AddressRange)>& is_fixed) {
  for (size_t i = 0; i < body.size() && i < recorded.size(); ++i) {
    std::string text = Difference(body[i], *recorded[i], is_fixed);
    if (!text.empty()) return OpDifference{i, std::move(text)};
  }
  if (body.size() > recorded.size()) {
    return OpDifference{recorded.size(), "the recording has no such op"};
  }
  return std::nullopt;
}

std::optional<Address> RecordedAddress(const TracedOp& body, const Op& recorded, size_t argument) {
  if (recorded.kind != body.kind) return std::nullopt;
  switch (recorded.kind) {
    case OpKind::kCopy:
      return argument == 0 ? recorded.copy.target : recorded.copy.source;
    case OpKind::kFill:
      return recorded.fill.target;
    case OpKind::kKernel:
      break;
    case OpKind::kHost:
    case OpKind::kEmpty:
    case OpKind::kEventRecord:
    case OpKind::kEventWait:
    case OpKind::kChildGraph:
    case OpKind::kAllocate:
    case OpKind::kFree:
    case OpKind::kConditional:
    case OpKind::kOther:
      return std::nullopt;
  }
  if (body.arguments.size() != recorded.parameters.size()) return std::nullopt;
  const absl::string_view word = BytesOf(recorded, recorded.parameters[argument]);
  if (word.size() != sizeof(Address)) return std::nullopt;
  Address address = 0;
  std::memcpy(&address, word.data(), sizeof(address));
  return address;
}

}  // namespace graphtree
