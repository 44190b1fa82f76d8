// Gives memory of the launcher's, and tells it of inputs that have died.
#include "runtime/torch/region.h"

#include <mutex>
#include <unordered_map>
#include <utility>

#include <c10/cuda/CUDAFunctions.h>
#include <c10/util/Exception.h>

#include "runtime/torch/layouts.h"
#include "runtime/torch/library.h"

namespace graphtree::torch_adaptor {
namespace {

thread_local Region* open_region = nullptr;

struct StandInOf {
  const Region* region;
  size_t index;
};

// Memory that was given without a storage.
struct RawBlocks {
  std::mutex mutex;
  std::unordered_map<void*, c10::DataPtr> blocks;
};
RawBlocks& Raw() {
  // Never destroyed: blocks may come back when the process ends.
  static RawBlocks* const raw = new RawBlocks;
  return *raw;
}

}  // namespace

Region::Region(gt_launcher on, gt_device device, c10::DeviceIndex index,
               std::shared_ptr<HoldList> list)
    : on_(on), device_(device), index_(index), list_(std::move(list)) {
  TORCH_CHECK(open_region == nullptr, "graphtree: a body runs on this thread already");
  SetDropListener(&Region::Dropped);
  open_region = this;
}

Region::~Region() { open_region = nullptr; }

Region* Region::Open() { return open_region; }

Region* Region::Here() {
  Region* const region = open_region;
  if (region == nullptr || c10::cuda::current_device() != region->index_) return nullptr;
  return region;
}

gt_value Region::Take(size_t bytes) {
  gt_value made = gt_nothing();
  const gt_error error = Gt().gt_launcher_empty(on_, LayoutOfBytes(bytes), &made);
  if (error != nullptr) {
    TORCH_CHECK_WITH(OutOfMemoryError, Gt().gt_error_look(error)->code != GT_RESOURCE_EXHAUSTED,
                     "CUDA out of memory. Graphtree's pool: ", Gt().gt_error_look(error)->text,
                     ". Torch's own allocator: ", TorchMemoryText(index_));
    CheckLauncher(error);
  }
  // A handle of the storage's own outlives the body; the launcher's would hold the bytes to its
  // end.
  gt_value kept = gt_nothing();
  Check(Gt().gt_value_copy(&made, &kept));
  Check(Gt().gt_release(made.storage));
  ++allocations_;
  return kept;
}

c10::DataPtr Region::Allocate(size_t bytes) {
  const gt_value taken = Take(bytes);
  return Hold::Make(list_, taken.storage, AddressOf(taken.word),
                    c10::Device(c10::DeviceType::CUDA, index_));
}

void* Region::AllocateRaw(size_t bytes) {
  c10::DataPtr block = Allocate(bytes);
  void* const address = block.get();
  const std::lock_guard<std::mutex> lock(Raw().mutex);
  Raw().blocks.insert_or_assign(address, std::move(block));
  return address;
}

bool Region::FreeRaw(void* address) {
  c10::DataPtr block;
  const std::lock_guard<std::mutex> lock(Raw().mutex);
  const auto found = Raw().blocks.find(address);
  if (found == Raw().blocks.end()) return false;
  block = std::move(found->second);
  Raw().blocks.erase(found);
  return true;
}

void Region::UsedOn(const Hold& hold, void* address, size_t bytes, cudaStream_t stream) {
  gt_stream side = nullptr;
  Check(Gt().gt_stream_adopt(device_, stream, &side));
  gt_value value = gt_tensor(WordOf(address), LayoutOfBytes(bytes));
  value.storage = hold.storage();
  const gt_error error = Gt().gt_launcher_used_on(on_, &value, side);
  Ignore(Gt().gt_release(side));
  CheckLauncher(error);
}

c10::DataPtr Region::StandIn(void* address, size_t index) {
  auto of = std::make_unique<StandInOf>(StandInOf{this, index});
  return {address, of.release(), &DropStandIn, c10::Device(c10::DeviceType::CUDA, index_)};
}

int64_t Region::InputOf(const c10::DataPtr& data) {
  if (data.get_deleter() != &DropStandIn) return -1;
  return static_cast<int64_t>(static_cast<StandInOf*>(data.get_context())->index);
}

int64_t Region::InputOf(const Hold* hold) const {
  for (const Input& input : inputs_) {
    if (input.hold == hold) return static_cast<int64_t>(input.index);
  }
  return -1;
}

void Region::DropStandIn(void* context) {
  const std::unique_ptr<StandInOf> of(static_cast<StandInOf*>(context));
  if (open_region == nullptr || open_region != of->region) return;
  // The launcher's errors stick, and the body's call fails with them.
  static_cast<void>(Gt().gt_launcher_drop_input(open_region->on_, of->index));
}

void Region::Dropped(Hold* hold) {
  if (open_region == nullptr) return;
  for (Input& input : open_region->inputs_) {
    if (input.hold != hold) continue;
    input.hold = nullptr;
    static_cast<void>(Gt().gt_launcher_drop_input(open_region->on_, input.index));
  }
}

}  // namespace graphtree::torch_adaptor
