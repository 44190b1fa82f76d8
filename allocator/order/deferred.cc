// Work that waits for captures to end.
#include "allocator/order/deferred.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace graphtree {

bool DeferredQueue::MayBegin(const Item& item) {
  if (must_wait()) return false;
  if (item.kind != Kind::kPark) return true;
  if (no_parking_.load() > 0) return false;
  is_parking_.store(true);
  if (no_parking_.load() == 0) return true;
  is_parking_.store(false);  // a call has come meanwhile
  return false;
}

absl::Status DeferredQueue::DoNow(const Item& item) {
  const absl::Status status = item.work();
  if (item.kind == Kind::kPark) is_parking_.store(false);
  return status;
}

absl::Status DeferredQueue::Do(Item item) {
  bool is_queued = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_queued = !items_.empty() || !MayBegin(item);
    if (is_queued) {
      items_.push_back(std::move(item));
      pending_.store(static_cast<uint32_t>(items_.size()), std::memory_order_relaxed);
      ++deferred_total_;
    }
  }
  return is_queued ? Drain() : DoNow(item);
}

absl::Status DeferredQueue::Drain() {
  absl::Status first;
  for (;;) {
    Item item;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (items_.empty() || !MayBegin(items_.front())) break;
      item = std::move(items_.front());
      items_.pop_front();
      pending_.store(static_cast<uint32_t>(items_.size()), std::memory_order_relaxed);
    }
    const absl::Status status = DoNow(item);
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
