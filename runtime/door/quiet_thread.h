// A thread that takes no signals, so that handlers of the process run on the process's own threads;
// and an error, not an end of the process, where the system has no thread left.
//
// Threads: like a container.
#ifndef GRAPHTREE_RUNTIME_DOOR_QUIET_THREAD_H_
#define GRAPHTREE_RUNTIME_DOOR_QUIET_THREAD_H_

#include <pthread.h>

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"

namespace graphtree {

class QuietThread {
 public:
  // `name`: for people who look at the process, at most 15 letters.
  static absl::StatusOr<std::unique_ptr<QuietThread>> Start(const char* name,
                                                            std::function<void()> run);
  QuietThread(const QuietThread&) = delete;
  QuietThread& operator=(const QuietThread&) = delete;
  ~QuietThread();  // waits for it

 private:
  explicit QuietThread(std::function<void()> run) : run_(std::move(run)) {}

  const std::function<void()> run_;
  pthread_t thread_ = {};
  bool is_started_ = false;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_DOOR_QUIET_THREAD_H_
