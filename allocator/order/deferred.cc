// Work that waits for captures to end.
#include "allocator/order/deferred.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace graphtree {

absl::Status DeferredQueue::Do(absl::string_view what, Work work) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (must_wait() || !items_.empty()) {
      items_.push_back({std::string(what), std::move(work)});
      pending_.store(static_cast<uint32_t>(items_.size()), std::memory_order_relaxed);
      ++deferred_total_;
      work = nullptr;
    }
  }
  return work != nullptr ? work() : Drain();
}

absl::Status DeferredQueue::Drain() {
  absl::Status first;
  while (!must_wait()) {
    Item item;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (items_.empty()) break;
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
