// The methods that do something of their own, and the installation. shim_class.h has the others.
#include "runtime/torch/shim.h"

#include "runtime/torch/shim_class.h"

namespace graphtree::torch_adaptor {
namespace {

Shim* the_shim = nullptr;  // made once, and never destroyed: torch may call it to the very end

}  // namespace

c10::DataPtr Shim::allocate(size_t bytes) {
  Region* const region = bytes == 0 ? nullptr : Region::Here();
  return region == nullptr ? under_->allocate(bytes) : region->Allocate(bytes);
}

void* Shim::raw_alloc(size_t bytes) {
  Region* const region = bytes == 0 ? nullptr : Region::Here();
  return region == nullptr ? under_->raw_alloc(bytes) : region->AllocateRaw(bytes);
}

void* Shim::raw_alloc_with_stream(size_t bytes, cudaStream_t stream) {
  Region* const region = bytes == 0 ? nullptr : Region::Here();
  return region == nullptr ? under_->raw_alloc_with_stream(bytes, stream)
                           : region->AllocateRaw(bytes);
}

void Shim::raw_delete(void* address) {
  if (!Region::FreeRaw(address)) under_->raw_delete(address);
}

void Shim::recordStream(const c10::DataPtr& data, c10::cuda::CUDAStream stream) {
  Hold* const hold = Hold::Of(data);
  if (hold == nullptr) return under_->recordStream(data, stream);
  if (Region* const region = Region::Here(); region != nullptr) {
    return region->UsedOn(*hold, data.get(), 1, stream.stream());
  }
  // Outside of a body the bytes go to the tree's next call, which then waits for the stream.
  NoteSideStream(hold->list(), stream);
}

void InstallShim() {
  if (IsShimInstalled()) return;
  cca::CUDAAllocator* const there = cca::get();
  if (the_shim == nullptr) {
    TORCH_CHECK(there->name() == "native",
                "graphtree: the CUDA allocator in force is '", there->name(),
                "'. Graphtree stands in front of torch's own caching allocator ('native') alone: "
                "take the other one out first (PYTORCH_CUDA_ALLOC_CONF=backend:native)");
    static Shim* const made = new Shim(there);
    the_shim = made;
  }
  TORCH_CHECK(there == the_shim->under(), "graphtree: the CUDA allocator '", there->name(),
              "' was put in the place of torch's own since graphtree was first installed");
  cca::allocator.store(the_shim);
  c10::SetAllocator(c10::DeviceType::CUDA, the_shim, /*priority=*/255);
}

void UninstallShim() {
  if (!IsShimInstalled()) return;
  cca::allocator.store(the_shim->under());
  c10::SetAllocator(c10::DeviceType::CUDA, the_shim->under(), /*priority=*/255);
}

bool IsShimInstalled() { return the_shim != nullptr && cca::get() == the_shim; }

std::string AllocatorName() { return cca::get()->name(); }

}  // namespace graphtree::torch_adaptor
