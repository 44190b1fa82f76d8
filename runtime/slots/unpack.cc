// Pairs the bodies of the unpack kernels, one for each size of table.
#include "runtime/slots/unpack.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "runtime/slots/unpack_symbols.h"
#include "runtime/slots/unpack_table.h"

namespace graphtree {
namespace {

constexpr std::array<uint32_t, 3> kTableSlots = {kSmallUnpackSlots, kMiddleUnpackSlots,
                                                 kLargeUnpackSlots};

template <uint32_t kSlots>
void UnpackOnHost(const HostCall& call) {
  const auto table = call.Get<unpack::Table<kSlots>>(2);
  auto* const arena = call.Get<uint8_t*>(1);
  const uint8_t* const block =
      unpack::FindBlock(table.ring, call.Get<const uint8_t*>(0), arena);
  for (uint32_t i = 0; i < call.shape().grid.x; ++i) {
    unpack::UnpackThread(table.slots, table.count, block, arena, i, 0, 1);
  }
  unpack::MoveCursor(table.ring, block, arena);
}

template <uint32_t kSlots>
const Kernel* NewUnpackKernel(const void* symbol) {
  return new Kernel(absl::StrCat("graphtree_unpack_", kSlots),
                    Params<const uint8_t*, uint8_t*, unpack::Table<kSlots>>(), UnpackOnHost<kSlots>,
                    symbol == nullptr ? CudaBody() : CudaSymbol{symbol}, KernelOwner::kLibrary,
                    KernelReach::kReadsByTable);
}

template <uint32_t kSlots>
void LaunchWith(Launcher& on, const Kernel& kernel, const ShapePlan& plan,
                const unpack::Ring& ring, const Tensor& block, const Tensor& arena) {
  unpack::Table<kSlots> table;
  table.ring = ring;
  table.count = static_cast<uint32_t>(plan.slots.size());
  std::copy(plan.slots.begin(), plan.slots.end(), table.slots);
  const LaunchShape shape = {.grid = {plan.launch_blocks}, .block = {unpack::kLaunchThreads}};
  on.Launch(kernel, shape, {In(block), InOut(arena), Val(table)});
}

}  // namespace

absl::Span<const Kernel* const> UnpackKernels() {
  static const auto* kernels = new std::array<const Kernel*, kTableSlots.size()>{
      NewUnpackKernel<kSmallUnpackSlots>(LinkedUnpackKernels().small_table),
      NewUnpackKernel<kMiddleUnpackSlots>(LinkedUnpackKernels().middle_table),
      NewUnpackKernel<kLargeUnpackSlots>(LinkedUnpackKernels().large_table),
  };
  return *kernels;
}

void LaunchUnpack(Launcher& on, const ShapePlan& plan, unpack::Ring ring, const Tensor& block,
                  const Tensor& arena) {
  if (plan.launch_blocks == 0) return;
  ring.block_units = unpack::BlockUnitsFor(plan.block_bytes);
  const absl::Span<const Kernel* const> kernels = UnpackKernels();
  if (plan.slots.size() <= kSmallUnpackSlots) {
    LaunchWith<kSmallUnpackSlots>(on, *kernels[0], plan, ring, block, arena);
  } else if (plan.slots.size() <= kMiddleUnpackSlots) {
    LaunchWith<kMiddleUnpackSlots>(on, *kernels[1], plan, ring, block, arena);
  } else {
    LaunchWith<kLargeUnpackSlots>(on, *kernels[2], plan, ring, block, arena);
  }
}

}  // namespace graphtree
