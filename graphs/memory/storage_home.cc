// A stack that any thread pushes to and the tree empties at once, so that no lock is needed.
#include "graphs/memory/storage_home.h"

#include <utility>

namespace graphtree {

namespace {

// The homes of all trees have different serials: a body may be given tensors of several trees, and
// no two of their storages may be taken for one.
uint64_t FirstSerial() {
  static std::atomic<uint64_t> homes{0};
  constexpr int kSerialBits = 40;
  return homes.fetch_add(1, std::memory_order_relaxed) << kSerialBits;
}

}  // namespace

StorageHome::StorageHome(Releaser release, Explainer explain, Ground ground)
    : release_(std::move(release)),
      explain_(std::move(explain)),
      ground_(std::move(ground)),
      next_serial_(FirstSerial()) {}

StorageHome::~StorageHome() = default;

StorageHome* StorageHome::Make(Releaser release, Explainer explain, Ground ground) {
  return new StorageHome(std::move(release), std::move(explain), std::move(ground));
}

void StorageHome::Close() { LetGo(); }

void StorageHome::LetGo() {
  if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

Storage* StorageHome::New(AddressRange range, StorageState state, uint64_t block) {
  if (spare_ == nullptr) spare_ = returned_.exchange(nullptr, std::memory_order_acquire);
  holders_.fetch_add(1, std::memory_order_relaxed);
  Storage* storage = spare_;
  if (storage != nullptr) {
    spare_ = storage->next;
    storage->Reset(range, state);
  } else {
    storage = &storages_.emplace_back(this, range, state, ground_.place.id);
  }
  storage->next = nullptr;
  storage->block = block;
  storage->kept = false;
  storage->remade_by = 0;
  storage->output = 0;  // it may have been scratch before
  storage->serial = ++next_serial_;
  return storage;
}

Storage* StorageHome::NewKept(AddressRange range, uint64_t block) {
  Storage* storage = New(range, StorageState::kOwning, block);
  CountAsKept(storage);
  return storage;
}

void StorageHome::CountAsKept(Storage* storage) {
  storage->kept = true;
  kept_bytes_.fetch_add(storage->range().bytes, std::memory_order_relaxed);
}

void StorageHome::Reclaim(Storage* storage, Dropped dropped) {
  if (storage->kept) kept_bytes_.fetch_sub(storage->range().bytes, std::memory_order_relaxed);
  if (storage->state() == StorageState::kOwning) release_(storage->block, dropped);
  Storage* top = returned_.load(std::memory_order_relaxed);
  do {
    storage->next = top;
  } while (!returned_.compare_exchange_weak(top, storage, std::memory_order_release,
                                            std::memory_order_relaxed));
  LetGo();
}

bool StorageHome::KeepAwake() {
  holders_.fetch_add(1, std::memory_order_relaxed);
  if (ground_.keep_awake != nullptr) ground_.keep_awake(true);
  return true;
}

void StorageHome::LetSleep() {
  if (ground_.keep_awake != nullptr) ground_.keep_awake(false);
  LetGo();
}

std::string StorageHome::WhyStale(const Storage& storage) const { return explain_(storage); }

}  // namespace graphtree
