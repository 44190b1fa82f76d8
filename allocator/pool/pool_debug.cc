// Writing poison and canaries, and remembering frees.
#include "allocator/pool/pool_debug.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/memory/scratch_memory.h"
#include "device/base/status_macros.h"
#include "device/kernel.h"

namespace graphtree {
namespace {

constexpr uint8_t kCanary = 0xC3;

void CountMismatchesOnHost(const HostCall& call) {
  const uint8_t* bytes = call.Get<const uint8_t*>(0);
  const uint32_t count = call.Get<uint32_t>(1);
  const uint32_t expected = call.Get<uint32_t>(2);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < count; ++i) wrong += bytes[i] != expected ? 1 : 0;
  *call.Get<uint32_t*>(3) = wrong;
}

const char kCountMismatchesSource[] = R"(
extern "C" __global__ void count_mismatches(const unsigned char* bytes, unsigned count,
                                            unsigned expected, unsigned* wrong) {
  __shared__ unsigned total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  unsigned mine = 0;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) mine += bytes[i] != expected;
  if (mine != 0) atomicAdd(&total, mine);
  __syncthreads();
  if (threadIdx.x == 0) *wrong = total;
}
)";

const Kernel& CountMismatches() {
  static const Kernel* const kernel =
      new Kernel("count_mismatches", Params<const uint8_t*, uint32_t, uint32_t, uint32_t*>(),
                 CountMismatchesOnHost, CudaSource{kCountMismatchesSource, "count_mismatches", {}});
  return *kernel;
}

}  // namespace

absl::Status PoolDebugger::WriteCanary(AddressRange guard, Stream& stream) {
  return stream.Fill(guard.base, kCanary, 1, guard.bytes);
}

absl::Status PoolDebugger::Poison(AddressRange range, Stream& stream) {
  return stream.Fill(range.base, modes_.poison, 1, range.bytes);
}

absl::Status PoolDebugger::QueueCounts(const std::vector<Guard>& guards, const Counts& counts,
                                       Stream& stream) {
  for (size_t i = 0; i < guards.size(); ++i) {
    const AddressRange count = {counts.on_device.base() + i * sizeof(uint32_t), sizeof(uint32_t)};
    const uint32_t length = static_cast<uint32_t>(guards[i].range.bytes);
    GRAPHTREE_RETURN_IF_ERROR(stream.Launch(
        CountMismatches(), {.grid = {1}, .block = {128}},
        {Argument::In(guards[i].range), Argument::Value(length),
         Argument::Value(uint32_t{kCanary}), Argument::Out(count)}));
  }
  const uint64_t bytes = guards.size() * sizeof(uint32_t);
  return stream.Copy(counts.on_host->range().base, counts.on_device.base(), bytes);
}

// The counts are written where the device can reach them: page-locked host memory would need a
// mapped address, so a piece of device memory of our own is used. While kernels that write there
// may be queued it must not go, whatever failed.
absl::Status PoolDebugger::CheckCanaries(const std::vector<Guard>& guards, Stream& stream) {
  if (guards.empty()) return absl::OkStatus();
  auto counts = std::make_unique<Counts>(&device_.memory(), stream);
  const uint64_t bytes = guards.size() * sizeof(uint32_t);
  const auto unchecked = [&](const char* where, const absl::Status& why) {
    absl::Status said(why.code(), absl::StrCat("checking ", guards.size(), " guards needs ", bytes,
                                               " bytes of ", where,
                                               " beside the pool, and none was checked: ",
                                               why.message()));
    why.ForEachPayload([&said](absl::string_view url, const absl::Cord& payload) {
      said.SetPayload(url, payload);
    });
    return said;
  };
  if (const absl::Status mapped = counts->on_device.Map(bytes); !mapped.ok()) {
    return unchecked("device memory", mapped);
  }
  absl::StatusOr<std::unique_ptr<HostBuffer>> on_host = device_.memory().AllocateHost(bytes);
  if (!on_host.ok()) return unchecked("page-locked memory", on_host.status());
  counts->on_host = *std::move(on_host);
  const absl::Status queued = QueueCounts(guards, *counts, stream);
  const absl::Status done = stream.Synchronize();
  if (!done.ok()) {
    left_.push_back(std::move(counts));
    return queued.ok() ? done : queued;
  }
  left_.erase(std::remove_if(left_.begin(), left_.end(),
                             [&](const auto& left) { return left->stream == stream.life(); }),
              left_.end());
  GRAPHTREE_RETURN_IF_ERROR(queued);
  std::string broken;
  for (size_t i = 0; i < guards.size(); ++i) {
    uint32_t wrong = 0;
    std::memcpy(&wrong, static_cast<char*>(counts->on_host->data()) + i * sizeof(wrong),
                sizeof(wrong));
    if (wrong == 0) continue;
    absl::StrAppend(&broken, broken.empty() ? "" : "; ", wrong, " bytes ",
                    guards[i].is_front ? "in front of " : "behind ", guards[i].block);
  }
  if (broken.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("guards were written over: ", broken));
}

void PoolDebugger::RememberFree(BlockId id, std::string by) {
  constexpr size_t kMostRemembered = 1 << 14;
  const uint64_t key = uint64_t{id.generation} << 32 | id.index;
  if (!freed_by_.insert_or_assign(key, std::move(by)).second) return;
  in_order_.push_back(key);
  if (in_order_.size() <= kMostRemembered) return;
  freed_by_.erase(in_order_.front());
  in_order_.pop_front();
}

std::string PoolDebugger::WhoFreed(BlockId id) const {
  const auto found = freed_by_.find(uint64_t{id.generation} << 32 | id.index);
  return found == freed_by_.end() ? std::string() : found->second;
}

}  // namespace graphtree
