// Ends what belongs to a tree.
#include "runtime/c/tree_objects.h"

#include <algorithm>

#include "allocator/foreign.h"

namespace graphtree::c {

absl::Status Belongings::Add(Handle handle) {
  absl::Status status;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_over_) {
      status = absl::FailedPreconditionError("what it belongs to was released meanwhile");
    } else if (!TryOwn([&] { handles_.insert(handle); })) {
      status = Entry::NoHandle();
    }
  }
  if (!status.ok()) EndHandle(handle);
  return status;
}

void Belongings::Forget(Handle handle) {
  const std::lock_guard<std::mutex> lock(mutex_);
  handles_.erase(handle);
}

void Belongings::EndAll() {
  std::unordered_set<Handle> handles;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_over_ = true;
    handles.swap(handles_);
  }
  // Each forgets itself here as it ends.
  for (const Handle handle : handles) EndHandle(handle);
}

absl::Status HandOut(CallScratch* scratch, const CallOutputs& out) {
  Values& outputs = scratch->outputs;
  const size_t given = std::min(outputs.size(), out.capacity);
  absl::Status status;
  if (scratch->known.size() < given && !TryOwn([&] { scratch->known.resize(given); })) {
    status = Entry::NoHandle();
  }
  for (size_t i = 0; i < given && !status.ok(); ++i) out.values[i] = gt_value{};
  for (size_t i = 0; i < given && scratch->known.size() >= given; ++i) {
    CallScratch::Output& known = scratch->known[i];
    status.Update(GiveValue(std::move(outputs[i]), &known.layout, &known.home, &out.values[i]));
  }
  for (size_t i = given; i < out.capacity; ++i) out.values[i] = gt_value{};
  if (out.count != nullptr) *out.count = status.ok() ? outputs.size() : 0;
  outputs.clear();
  return status;
}

void TreeObject::NoteInstalled(int device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  installed_.push_back(device);
}

void TreeObject::Retired() {
  std::vector<int> installed;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    installed.swap(installed_);
  }
  for (const int device : installed) {
    if (ForeignAllocator::Installed(device) != &tree().foreign_allocator()) continue;
    ForeignAllocator::Install(device, nullptr).IgnoreError();
  }
  opened_->belongings().EndAll();
}

}  // namespace graphtree::c
