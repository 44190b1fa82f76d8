// A queue in, a list out.
#include "runtime/door/page_thread.h"

#include <algorithm>

#include "device/base/status_macros.h"

namespace graphtree {

absl::StatusOr<std::unique_ptr<PageThread>> PageThread::Start(Make make,
                                                              std::function<void()> wake) {
  std::unique_ptr<PageThread> pages(new PageThread(std::move(make), std::move(wake)));
  GRAPHTREE_ASSIGN_OR_RETURN(
      pages->thread_, QuietThread::Start("graphtree-pages", [self = pages.get()] { self->Run(); }));
  return pages;
}

PageThread::~PageThread() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_ = nullptr;
}

void PageThread::Submit(uint64_t id, HttpRequest request) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    wanted_.emplace_back(id, std::move(request));
  }
  changed_.notify_one();
}

std::optional<HttpRequest> PageThread::Drop(uint64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const size_t dropped =
      std::erase_if(wanted_, [id](const auto& wanted) { return wanted.first == id; });
  return dropped > 0 ? making_ : std::nullopt;
}

std::vector<PageThread::Done> PageThread::TakeDone() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(done_, {});
}

void PageThread::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_over_ || !wanted_.empty(); });
    if (is_over_) return;
    auto [id, request] = std::move(wanted_.front());
    wanted_.pop_front();
    making_ = request;
    lock.unlock();
    HttpResponse page = make_(request);
    lock.lock();
    making_.reset();
    done_.push_back({id, std::move(page)});
    wake_();
  }
}

}  // namespace graphtree
