// Another framework's callbacks, routed to a pool.
#include "allocator/foreign.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

constexpr int kMostDevices = 64;

// Who is there, and who is installed for which device.
struct Registry {
  std::mutex mutex;
  std::array<ForeignAllocator*, kMostDevices> installed = {};  // guarded by mutex
  std::vector<ForeignAllocator*> all;                          // guarded by mutex
};

Registry& TheRegistry() {
  static auto* const registry = new Registry();
  return *registry;
}

bool IsDevice(int device) { return device >= 0 && device < kMostDevices; }

// With the registry's lock held.
ForeignAllocator* InstalledIn(const Registry& registry, int device) {
  return IsDevice(device) ? registry.installed[static_cast<size_t>(device)] : nullptr;
}

}  // namespace

ForeignAllocator::ForeignAllocator(Pool* pool) : pool_(*pool) {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  registry.all.push_back(this);
}

void ForeignAllocator::AwaitCallers() {
  {
    Registry& registry = TheRegistry();
    const std::lock_guard<std::mutex> lock(registry.mutex);
    std::replace(registry.installed.begin(), registry.installed.end(), this,
                 static_cast<ForeignAllocator*>(nullptr));
    std::vector<ForeignAllocator*>& all = registry.all;
    all.erase(std::remove(all.begin(), all.end(), this), all.end());
  }
  while (callers_.load(std::memory_order_acquire) > 0) std::this_thread::yield();
}

ForeignAllocator::~ForeignAllocator() {
  AwaitCallers();
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  for (auto& [native, stream] : streams_) pool_.streams().Forget(std::move(stream));
}

absl::Status ForeignAllocator::Install(int device, ForeignAllocator* allocator) {
  if (!IsDevice(device)) {
    return absl::InvalidArgumentError(
        absl::StrCat("installing an allocator for device ", device, ": devices have numbers from 0 "
                     "to ", kMostDevices - 1));
  }
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  registry.installed[static_cast<size_t>(device)] = allocator;
  return absl::OkStatus();
}

ForeignAllocator* ForeignAllocator::OwnerOf(Address address, int device) {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  for (ForeignAllocator* const allocator : registry.all) {
    if (allocator->pool_.arena().reserved().Contains({address, 1})) return allocator;
  }
  return InstalledIn(registry, device);
}

ForeignAllocator* ForeignAllocator::Installed(int device) {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  return InstalledIn(registry, device);
}

absl::StatusOr<Address> ForeignAllocator::AllocateFromInstalled(uint64_t bytes, int device,
                                                                NativeStream stream) {
  ForeignAllocator* allocator = nullptr;
  {
    Registry& registry = TheRegistry();
    const std::lock_guard<std::mutex> lock(registry.mutex);
    allocator = InstalledIn(registry, device);
    if (allocator == nullptr) return absl::NotFoundError("no allocator is installed");
    allocator->callers_.fetch_add(1, std::memory_order_relaxed);
  }
  const absl::StatusOr<Address> address = allocator->Allocate(bytes, stream);
  allocator->callers_.fetch_sub(1, std::memory_order_release);
  return address;
}

void ForeignAllocator::Know(NativeStream native, Stream& stream) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  known_[native] = &stream;
}

absl::Status ForeignAllocator::Noted(absl::Status status) {
  if (!status.ok()) last_error_ = status;
  return status;
}

absl::StatusOr<Stream*> ForeignAllocator::Adopt(NativeStream native) {
  if (const auto known = known_.find(native); known != known_.end()) return known->second;
  std::unique_ptr<Stream>& stream = streams_[native];
  if (stream == nullptr) {
    auto adopted = pool_.arena().device().AdoptStream(native);
    if (!adopted.ok()) {
      streams_.erase(native);
      return Noted(adopted.status());
    }
    stream = *std::move(adopted);
  }
  return stream.get();
}

absl::StatusOr<Address> ForeignAllocator::Take(uint64_t bytes, Stream& stream) {
  GRAPHTREE_ASSIGN_OR_RETURN(const Block block, pool_.Allocate(bytes, stream));
  return block.range.base;
}

// Found by address and freed on this thread: the lock makes it the pool's one user.
absl::Status ForeignAllocator::GiveBack(Address address, Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(UseOn(address, stream));
  return pool_.FreeAddress(address);
}

absl::StatusOr<Address> ForeignAllocator::Allocate(uint64_t bytes, Stream& stream) {
  const Visit visit(*this);
  absl::StatusOr<Address> address = Take(bytes, stream);
  Noted(address.status()).IgnoreError();
  return address;
}

absl::StatusOr<Address> ForeignAllocator::Allocate(uint64_t bytes, NativeStream native) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  GRAPHTREE_ASSIGN_OR_RETURN(Stream * stream, Adopt(native));
  return Allocate(bytes, *stream);
}

absl::Status ForeignAllocator::Free(Address address, Stream& stream) {
  if (address == 0) return absl::OkStatus();
  absl::Status status;
  bool is_over = false;
  {
    const Visit visit(*this);
    status = Noted(GiveBack(address, stream));
    is_over = IsOver();
  }
  if (is_over) Leave();
  return status;
}

absl::Status ForeignAllocator::Free(Address address, NativeStream native) {
  if (address == 0) return absl::OkStatus();
  absl::StatusOr<Stream*> stream;
  {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    stream = Adopt(native);
  }
  return stream.ok() ? Free(address, **stream) : stream.status();
}

absl::Status ForeignAllocator::UseOn(Address address, Stream& stream) {
  const Visit visit(*this);
  if (absl::Status refused = MayUsePool(); !refused.ok()) return Noted(refused);
  const absl::StatusOr<Block> block = pool_.Find(address);
  return Noted(block.ok() ? pool_.UseOn(block->id, stream) : block.status());
}

absl::Status ForeignAllocator::UseOn(Address address, NativeStream native) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  GRAPHTREE_ASSIGN_OR_RETURN(Stream * stream, Adopt(native));
  return UseOn(address, *stream);
}

absl::Status ForeignAllocator::last_error() const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  return last_error_;
}

}  // namespace graphtree

extern "C" {

void* graphtree_foreign_malloc(int64_t bytes, int device, void* stream) {
  if (bytes < 0) return nullptr;
  const auto address = graphtree::ForeignAllocator::AllocateFromInstalled(
      static_cast<uint64_t>(bytes), device, stream);
  return address.ok() ? graphtree::PointerTo(*address) : nullptr;
}

// A failure is kept in last_error: the caller has no way to hear of it.
void graphtree_foreign_free(void* address, int64_t, int device, void* stream) {
  graphtree::ForeignAllocator* allocator =
      graphtree::ForeignAllocator::OwnerOf(graphtree::AddressOf(address), device);
  if (allocator == nullptr) return;
  allocator->Free(graphtree::AddressOf(address), stream).IgnoreError();
}

void graphtree_foreign_record_stream(void* address, int device, void* stream) {
  graphtree::ForeignAllocator* allocator =
      graphtree::ForeignAllocator::OwnerOf(graphtree::AddressOf(address), device);
  if (allocator == nullptr) return;
  allocator->UseOn(graphtree::AddressOf(address), stream).IgnoreError();
}

}  // extern "C"
