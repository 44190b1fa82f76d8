// How the engine's threads sleep, and how long they wait for code that is not ours.
#ifndef GRAPHTREE_DEVICE_HOST_ENGINE_ENGINE_SLEEP_H_
#define GRAPHTREE_DEVICE_HOST_ENGINE_ENGINE_SLEEP_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace graphtree::host {

// The engine takes a host callback that runs longer to be waiting for something, and lets other ops
// go on. The time is long, so that a busy machine does not change the order that the seed picks.
constexpr std::chrono::milliseconds kPatience{100};

// `sleepers` lets those who change something skip the notify when nobody sleeps.
inline void Sleep(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  int& sleepers) {
  ++sleepers;
  changed.wait(lock);
  --sleepers;
}

template <typename Done>
void SleepUntil(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, int& sleepers,
                std::chrono::milliseconds patience, const Done& done) {
  const auto deadline = std::chrono::system_clock::now() + patience;
  ++sleepers;
  changed.wait_until(lock, deadline, done);
  --sleepers;
}

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_ENGINE_ENGINE_SLEEP_H_
