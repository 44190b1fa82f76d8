// Work that waits for captures to end.
#include "allocator/order/deferred.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace graphtree {

absl::Status DeferredQueue::Do(Item item) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (MustWait(item) || !items_.empty()) {
      items_.push_back(std::exchange(item, {}));
      pending_.store(static_cast<uint32_t>(items_.size()), std::memory_order_relaxed);
      ++deferred_total_;
    }
  }
  return item.work != nullptr ? item.work() : Drain();
}

absl::Status DeferredQueue::Drain() {
  absl::Status first;
  for (;;) {
    Item item;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (items_.empty() || MustWait(items_.front())) break;
      item = std::move(items_.front());
      items_.pop_front();
      pending_.store(static_cast<uint32_t>(items_.size()), std::memory_order_relaxed);
    }
    const absl::Status status = item.work();
    if (!status.ok() && first.ok()) {
      first = absl::Status(status.code(), absl::StrCat(item.what, ": ", status.message()));
    }
  }
  return first;
}

size_t DeferredQueue::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return items_.size();
}

uint64_t DeferredQueue::deferred_total() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return deferred_total_;
}

}  // namespace graphtree
