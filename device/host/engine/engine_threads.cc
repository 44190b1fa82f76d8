// The engine's threads: one for host callbacks, one for ops that queries start, and one for each
// stream with HostScheduler::kThreads.
#include <algorithm>
#include <utility>

#include "device/error.h"
#include "device/host/engine/engine.h"
#include "device/host/engine/engine_sleep.h"

namespace graphtree::host {

void Engine::HandToCallbacks(Lock& lock, ReadyItem item) {
  if (!callback_thread_.joinable()) callback_thread_ = std::thread([this] { CallbackLoop(); });
  callbacks_.push_back(item);
  const uint64_t number = ++callbacks_handed_;
  LetOthersKnow();
  SleepUntil(lock, changed_, sleepers_, kPatience, [&] { return callbacks_done_ >= number; });
}

void Engine::CallbackLoop() {
  Lock lock = Guard();
  while (true) {
    if (!callbacks_.empty()) {
      const ReadyItem item = callbacks_.front();
      callbacks_.pop_front();
      RunItem(lock, item);
      ++callbacks_done_;
      LetOthersKnow();
    } else if (stopping_) {
      return;
    } else {
      Sleep(lock, changed_, sleepers_);
    }
  }
}

void Engine::PollLoop() {
  Lock lock = Guard();
  while (!stopping_) {
    if (!polling_) {
      Sleep(lock, changed_, sleepers_);
      continue;
    }
    for (; poll_steps_ > 0 && !ready_.empty(); --poll_steps_) RunOne(lock);
    polling_ = false;
    LetOthersKnow();
  }
}

void Engine::WorkerLoop(StreamQueue* queue) {
  Lock lock = Guard();
  while (true) {
    const auto mine = std::find_if(ready_.begin(), ready_.end(), [queue](const ReadyItem& item) {
      return item.queue == queue;
    });
    if (mine != ready_.end()) {
      const ReadyItem item = *mine;
      ready_.erase(mine);
      ++taken_;
      RunItem(lock, item);
    } else if (stopping_) {
      return;
    } else {
      Sleep(lock, changed_, sleepers_);
    }
  }
}

void Engine::Stop() {
  std::vector<std::thread> threads;
  {
    const Lock lock = Guard();
    stopping_ = true;
    for (const auto& queue : queues_) threads.push_back(std::move(queue->worker));
    threads.push_back(std::move(callback_thread_));
    threads.push_back(std::move(poll_thread_));
  }
  changed_.notify_all();
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace graphtree::host
