// Maps, fills, tells the device.
#include "tests/simulation/caller_memory.h"

#include <algorithm>
#include <utility>

#include "device/base/status_macros.h"
#include "graphs/layout.h"
#include "tests/kernels/kernels.h"

namespace graphtree::simulation {
namespace {

constexpr uint64_t kSlotBytes = 4096;
constexpr size_t kStatics = 3;
constexpr size_t kForeign = 6;
constexpr uint64_t kUsedBytes = (kStatics + kForeign) * kSlotBytes;
constexpr const char* kLabel = "the simulated caller's own memory";

// As many words as a dense one, and most of them twice.
const Layout* Overlapping(uint32_t elements) {
  if (elements < 3) return Layout::Of(DType::kI32, {elements});
  return Layout::Strided(DType::kI32, {2, elements - 1}, {1, 1});
}

}  // namespace

absl::Status CallerMemory::AddBuffer(size_t slot, std::vector<Seen>* to, bool shifted,
                                     bool overlapping, Stream& stream) {
  const Address address = range_.base + slot * kSlotBytes + (shifted ? kAligned / 4 : 0);
  const Layout* layout =
      overlapping ? Overlapping(elements_) : Layout::Of(DType::kI32, {elements_});
  to->push_back({Tensor::Foreign(address, layout), std::make_shared<Cell>(elements_)});
  return Rewrite(to->back(), static_cast<uint32_t>(slot), stream);
}

absl::Status CallerMemory::Open(Stream& stream) {
  Memory& memory = device_.memory();
  const uint64_t bytes = std::max(kUsedBytes, memory.granularity());
  GRAPHTREE_ASSIGN_OR_RETURN(range_, memory.Reserve(bytes, {}));
  GRAPHTREE_ASSIGN_OR_RETURN(memory_, memory.Create(bytes));
  GRAPHTREE_RETURN_IF_ERROR(memory.Map(range_.base, *memory_));
  GRAPHTREE_RETURN_IF_ERROR(memory.SetAccess(range_, MemoryAccess::kReadWrite));
  // The host device writes to what is live, and a fresh page takes longer than many calls.
  memory.NoteLive({range_.base, kUsedBytes}, kLabel);
  for (size_t i = 0; i < kStatics; ++i) {
    GRAPHTREE_RETURN_IF_ERROR(AddBuffer(i, &statics_, i + 1 == kStatics, false, stream));
  }
  for (size_t i = 0; i < kForeign; ++i) {
    GRAPHTREE_RETURN_IF_ERROR(AddBuffer(kStatics + i, &foreign_, i + 2 == kForeign,
                                        i + 1 == kForeign, stream));
  }
  return absl::OkStatus();
}

absl::Status CallerMemory::Close() {
  if (memory_ != nullptr) {
    GRAPHTREE_RETURN_IF_ERROR(device_.memory().Unmap(range_));
    memory_ = nullptr;
  }
  if (range_.empty()) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(device_.memory().Release(range_));
  range_ = {};
  return absl::OkStatus();
}

absl::Status CallerMemory::Rewrite(const Seen& seen, uint32_t seed, Stream& stream) {
  Cell& cell = *seen.cell;
  for (uint32_t e = 0; e < elements_; ++e) cell[e] = PatternWord(seed, e);
  GRAPHTREE_RETURN_IF_ERROR(stream.Copy(seen.handle.word(), AddressOf(cell.data()),
                                        RangeOf(seen).bytes));
  return stream.Synchronize();
}

absl::Status CallerMemory::Kill(const Seen& seen, Stream& stream) {
  const Address address = seen.handle.word();
  if (dead_.insert(address).second) {
    device_.memory().NoteDead(RangeOf(seen), "the simulated caller gave it back");
    return absl::OkStatus();
  }
  dead_.erase(address);
  device_.memory().NoteLive(RangeOf(seen), kLabel);
  return Rewrite(seen, static_cast<uint32_t>(address), stream);
}

}  // namespace graphtree::simulation
