// Ends what belongs to a tree.
#include "runtime/c/tree_objects.h"

#include "allocator/foreign.h"

namespace graphtree::c {

bool Belongings::Add(Handle handle) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!is_over_) {
      handles_.insert(handle);
      return true;
    }
  }
  EndHandle(handle);
  return false;
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
