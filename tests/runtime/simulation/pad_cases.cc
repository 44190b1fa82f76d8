// Draws pads, and pads.
#include "tests/runtime/simulation/pad_cases.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "runtime/slots/slot.h"
#include "tests/runtime/simulation/model.h"

namespace graphtree::runtime_simulation {
namespace {

// A slot without sizes cannot grow.
PadKind Possible(const ProgramSpec& spec, uint32_t at) {
  const auto kind = static_cast<PadKind>(at % kPadKinds);
  if (kind == PadKind::kSlot &&
      (spec.slots.empty() || spec.slots[at / kPadKinds % spec.slots.size()].sizes.empty())) {
    return PadKind::kGrows;
  }
  if (kind == PadKind::kPrepared && !spec.prepares) return PadKind::kHeld;
  if (kind == PadKind::kForeign && spec.deps.empty()) return PadKind::kRows;
  return kind;
}

int64_t Elements(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

Sizes SizesOf(const SlotSpec& slot, const Key& key) {
  Sizes sizes = slot.sizes;
  sizes[slot.axis] = RowsOf(slot, key);
  return sizes;
}

}  // namespace

PadCase PadCaseOf(const ProgramSpec& spec, uint32_t at, const Key& key) {
  const uint64_t hash = HashOf(key) + at;
  const int64_t rows = 1 + hash % 5, columns = 1 + hash / 5 % 4;
  const int64_t more = 1 + hash / 20 % 3, wider = hash / 60 % 3;
  PadCase pad;
  pad.kind = Possible(spec, at);
  pad.value = hash / 180 % 2;
  pad.seed = static_cast<uint32_t>(hash) ^ 5;
  switch (pad.kind) {
    case PadKind::kGrows:
    case PadKind::kHeld:
      pad.from = {rows * columns};
      pad.to = {rows * columns + more + wider};
      break;
    case PadKind::kHasRoom:
      pad.from = {rows};
      pad.between = {rows + more};
      pad.to = {rows + more + 1 + wider};
      break;
    case PadKind::kRows:
      pad.from = {rows, columns};
      pad.to = {rows + more, columns + wider};
      break;
    case PadKind::kSlot: {
      pad.at = static_cast<uint32_t>(at / kPadKinds % spec.slots.size());
      const SlotSpec& slot = spec.slots[pad.at];
      pad.type = slot.type;
      pad.from = pad.to = SizesOf(slot, key);
      for (int64_t& size : pad.to) size += wider;
      pad.to[slot.axis] += more;
      break;
    }
    case PadKind::kPrepared:
      pad.from = {kPartWords};
      pad.to = {kPartWords + more};
      break;
    case PadKind::kForeign:
      pad.at = spec.deps[at / kPadKinds % spec.deps.size()];
      pad.from = {kDepWords / 2};
      pad.to = {kDepWords / 2 + more};
      break;
  }
  return pad;
}

std::vector<uint8_t> PadNaively(absl::Span<const uint8_t> tensor, const Sizes& from,
                                const Sizes& to, absl::Span<const uint8_t> element) {
  std::vector<uint8_t> padded;
  const int64_t size = element.size();
  for (int64_t i = 0; i < Elements(to); ++i) {
    int64_t place = 0, rest = i, step = 1;
    bool is_tail = false;
    for (size_t d = to.size(); d-- > 0;) {
      const int64_t index = rest % to[d];
      rest /= to[d];
      is_tail |= index >= from[d];
      place += index * step;
      step *= from[d];
    }
    const uint8_t* const bytes = is_tail ? element.data() : tensor.data() + place * size;
    padded.insert(padded.end(), bytes, bytes + size);
  }
  return padded;
}

std::vector<uint8_t> ElementOf(DType type, uint32_t number) {
  SlotSpec slot;
  slot.type = type;
  slot.pad = PadRule::kValue;
  slot.pad_value = number;
  const uint64_t bits = PadBits(slot);
  std::vector<uint8_t> bytes(BytesOf(type));
  std::memcpy(bytes.data(), &bits, bytes.size());
  return bytes;
}

}  // namespace graphtree::runtime_simulation
