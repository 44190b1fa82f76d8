// Searches the table and the list.
#include "runtime/c/held_values.h"

#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/memory.h"
#include "runtime/c/objects.h"
#include "runtime/c/values.h"

namespace graphtree::c {
namespace {

std::mutex exported_mutex;
ExportedTensor* first_exported = nullptr;  // guarded by exported_mutex

// Memory of the caller's has no storage, and an opaque object lies on no device.
bool LiesOn(const Value& value, Device& device) {
  const Storage* const storage = value.is_tensor() ? value.storage() : nullptr;
  return storage != nullptr && storage->owner()->DeviceName() == device.info().name &&
         device.memory().OtherHomeOf(storage->range().base).empty();
}

size_t CountValues(Device& device) {
  size_t count = 0;
  Table().ForEachLive(kStorage, [&](Handle handle) {
    HandleTable::Slot* const slot = Table().Pin(handle, kStorage);
    if (slot == nullptr) return;
    count += LiesOn(*ValueIn(slot), device) ? 1 : 0;
    if (Table().Unpin(slot)) EndSlot(slot, kStorage);
  });
  return count;
}

std::string Counted(size_t count, const char* one, const char* several, const char* of) {
  return count == 0 ? "" : absl::StrCat(count, " ", count == 1 ? one : several, of);
}

}  // namespace

ExportedTensor::ExportedTensor(Tensor tensor) : tensor_(std::move(tensor)) {
  const std::lock_guard<std::mutex> lock(exported_mutex);
  after_ = first_exported;
  if (after_ != nullptr) after_->before_ = this;
  first_exported = this;
}

ExportedTensor::~ExportedTensor() {
  const std::lock_guard<std::mutex> lock(exported_mutex);
  (before_ != nullptr ? before_->after_ : first_exported) = after_;
  if (after_ != nullptr) after_->before_ = before_;
}

std::string HeldOn(Device& device) {
  size_t exported = 0;
  {
    const std::lock_guard<std::mutex> lock(exported_mutex);
    for (const ExportedTensor* one = first_exported; one != nullptr; one = one->after_) {
      exported += LiesOn(one->tensor(), device) ? 1 : 0;
    }
  }
  const std::string values = Counted(CountValues(device), "value", "values", " of its trees");
  const std::string tensors = Counted(exported, "tensor", "tensors", " of gt_dlpack_new");
  return absl::StrCat(values, values.empty() || tensors.empty() ? "" : " and ", tensors);
}

}  // namespace graphtree::c
