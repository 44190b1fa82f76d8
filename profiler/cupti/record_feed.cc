// The queue and its reader.
#include "profiler/cupti/record_feed.h"

#include <utility>

#include "device/base/guarded_call.h"

namespace graphtree::cupti {

absl::Status StartThreadOfSystem(std::function<void()> run, std::thread* thread) {
  return GuardedBy("starting the thread that reads records",
                   [&run, thread] { *thread = std::thread(run); });
}

absl::Status RecordFeed::Start(activity::ActivityListener* listener) {
  Stop();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    listener_ = listener;
    counts_ = {};
    stops_ = false;
  }
  const absl::Status started = start_thread_([this] { Run(); }, &thread_);
  if (started.ok()) return started;
  const std::lock_guard<std::mutex> lock(mutex_);
  listener_ = nullptr;
  return started;
}

void RecordFeed::Push(uint8_t* buffer, size_t valid_bytes, uint64_t dropped) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (listener_ == nullptr) {
    ++unread_;
    lock.unlock();
    buffers_.GiveBack(buffer);
    return;
  }
  queue_.push_back({buffer, valid_bytes, dropped});
  changed_.notify_all();
}

void RecordFeed::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stops_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Full full = queue_.front();
    queue_.pop_front();
    is_reading_ = true;
    lock.unlock();
    DecodeBuffer(api_, full.buffer, full.valid_bytes, *listener_, counts_);
    if (full.dropped > 0) listener_->Dropped(full.dropped);
    buffers_.GiveBack(full.buffer);
    lock.lock();
    is_reading_ = false;
    changed_.notify_all();
  }
}

void RecordFeed::Drain() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty() && !is_reading_; });
}

DecodeCounts RecordFeed::Stop() {
  if (!thread_.joinable()) return {};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
    changed_.notify_all();
  }
  thread_.join();
  // What came after the thread's last look.
  std::deque<Full> late;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    listener_ = nullptr;
    late = std::exchange(queue_, {});
    unread_ += late.size();
  }
  for (const Full& full : late) buffers_.GiveBack(full.buffer);
  return counts_;
}

uint64_t RecordFeed::unread() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return unread_;
}

}  // namespace graphtree::cupti
