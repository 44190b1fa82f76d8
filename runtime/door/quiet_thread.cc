// A thread takes its signal mask from whoever starts it.
#include "runtime/door/quiet_thread.h"

#include <signal.h>

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace graphtree {

absl::StatusOr<std::unique_ptr<QuietThread>> QuietThread::Start(const char* name,
                                                                std::function<void()> run) {
  std::unique_ptr<QuietThread> thread(new QuietThread(std::move(run)));
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(
      &thread->thread_, nullptr,
      [](void* self) -> void* {
        static_cast<QuietThread*>(self)->run_();
        return nullptr;
      },
      thread.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot start the thread ", name, ": ", std::strerror(error)));
  }
  thread->is_started_ = true;
  pthread_setname_np(thread->thread_, name);
  return thread;
}

QuietThread::~QuietThread() {
  if (is_started_) pthread_join(thread_, nullptr);
}

}  // namespace graphtree
