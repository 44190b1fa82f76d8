// Makes pages one after another on a thread of its own, for a loop that waits for none of them.
//
//   the loop       Submit(7) ......... wake: TakeDone -> {7, page}
//   page thread              make(7) ----^
//
// Threads: one thread calls; `wake` is called on the page thread.
#ifndef GRAPHTREE_RUNTIME_DOOR_PAGE_THREAD_H_
#define GRAPHTREE_RUNTIME_DOOR_PAGE_THREAD_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/door/http.h"
#include "runtime/door/quiet_thread.h"

namespace graphtree {

class PageThread {
 public:
  struct Done {
    uint64_t id = 0;
    HttpResponse page;
  };
  using Make = std::function<HttpResponse(const HttpRequest&)>;

  static absl::StatusOr<std::unique_ptr<PageThread>> Start(Make make, std::function<void()> wake);
  PageThread(const PageThread&) = delete;
  PageThread& operator=(const PageThread&) = delete;
  // Waits for the page that is being made; those that were not begun are dropped.
  ~PageThread();

  void Submit(uint64_t id, HttpRequest request);
  // Nobody waits for it any more. A page that is being made comes nevertheless. For one that was
  // not begun it returns the request that is served in its stead.
  std::optional<HttpRequest> Drop(uint64_t id);
  std::vector<Done> TakeDone();

 private:
  PageThread(Make make, std::function<void()> wake)
      : make_(std::move(make)), wake_(std::move(wake)) {}
  void Run();

  const Make make_;
  const std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<uint64_t, HttpRequest>> wanted_;  // guarded by mutex_, as all below
  std::optional<HttpRequest> making_;
  std::vector<Done> done_;
  bool is_over_ = false;
  std::unique_ptr<QuietThread> thread_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_DOOR_PAGE_THREAD_H_
