// Which thread of the process calls: the number that the system gives it, as other tools show it.
//
// Asking the system costs as much as a launch's whole share of a profile. So a table remembers what
// it said, by the address that stands for the thread inside of the process:
//
//   pthread_self() --hash--> | thread, number | thread, number | ...
//
// A thread that begins where an ended one was may have the ended one's address, and then has its
// number, too: both are in one line of the timeline, one after the other. Where the table is full
// the system is asked each time.
//
// Threads: any. Cost: one or two loads.
#ifndef GRAPHTREE_PROFILER_LIVE_THREAD_NUMBERS_H_
#define GRAPHTREE_PROFILER_LIVE_THREAD_NUMBERS_H_

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace graphtree::live {

class ThreadNumbers {
 public:
  int64_t Mine() {
    const auto self = static_cast<uint64_t>(pthread_self());
    size_t place = Hash(self);
    for (size_t tried = 0; tried < kTried; ++tried, place = (place + 1) % kRoom) {
      Entry& entry = entries_[place];
      uint64_t thread = entry.thread.load(std::memory_order_acquire);
      if (thread == self) return Number(entry);
      if (thread != 0) continue;
      if (entry.thread.compare_exchange_strong(thread, self, std::memory_order_acq_rel)) {
        const int64_t number = Ask();
        entry.number.store(number, std::memory_order_relaxed);
        return number;
      }
      if (thread == self) return Number(entry);
    }
    return Ask();
  }

 private:
  static constexpr size_t kRoom = 256;
  static constexpr size_t kTried = 8;
  struct Entry {
    std::atomic<uint64_t> thread{0};  // 0: nobody's
    std::atomic<int64_t> number{0};   // 0: not yet known, as its thread writes it now
  };

  static size_t Hash(uint64_t thread) { return (thread >> 12) * 0x9e3779b97f4a7c15u >> 56; }
  static int64_t Ask() { return static_cast<int64_t>(syscall(SYS_gettid)); }
  // Only the entry's own thread asks for it.
  static int64_t Number(const Entry& entry) { return entry.number.load(std::memory_order_relaxed); }

  std::array<Entry, kRoom> entries_;
};

}  // namespace graphtree::live

#endif  // GRAPHTREE_PROFILER_LIVE_THREAD_NUMBERS_H_
