// RecordFeed: reads full buffers on a thread of its own, so that CUPTI's threads and those that
// launch never wait for a listener.
//
//   CUPTI's thread --Push--> queue --> the feed's thread: decode, tell, give the buffer back
//
// The thread is there between Start and Stop; where the system has none left, Start is an error.
// The queue is as long as there are buffers. What comes while nobody listens is given back unread,
// and counted.
//
// Threads: Push from any; Start, Drain and Stop from one at a time, not from inside of a listener.
#ifndef GRAPHTREE_PROFILER_CUPTI_RECORD_FEED_H_
#define GRAPHTREE_PROFILER_CUPTI_RECORD_FEED_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "profiler/activity/activity.h"
#include "profiler/cupti/buffers.h"
#include "profiler/cupti/cupti_api.h"
#include "profiler/cupti/record_decoder.h"

namespace graphtree::cupti {

// Starts a thread, or says why there is none. Tests have one that fails.
using StartThread = std::function<absl::Status(std::function<void()> run, std::thread* thread)>;
absl::Status StartThreadOfSystem(std::function<void()> run, std::thread* thread);

class RecordFeed {
 public:
  RecordFeed(CuptiApi& api, Buffers& buffers, StartThread start_thread = StartThreadOfSystem)
      : api_(api), buffers_(buffers), start_thread_(std::move(start_thread)) {}
  ~RecordFeed() { Stop(); }
  RecordFeed(const RecordFeed&) = delete;
  RecordFeed& operator=(const RecordFeed&) = delete;

  // After an error it is stopped.
  absl::Status Start(activity::ActivityListener* listener);
  void Push(uint8_t* buffer, size_t valid_bytes, uint64_t dropped);
  // What was pushed before has been told.
  void Drain();
  // The same, and the thread is gone. Returns what was read since Start.
  DecodeCounts Stop();

  uint64_t unread() const;

 private:
  struct Full {
    uint8_t* buffer;
    size_t valid_bytes;
    uint64_t dropped;
  };

  void Run();

  CuptiApi& api_;
  Buffers& buffers_;
  const StartThread start_thread_;
  std::thread thread_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_, but for what the thread alone uses while it runs (the listener, counts_):
  activity::ActivityListener* listener_ = nullptr;
  DecodeCounts counts_;
  std::deque<Full> queue_;
  bool is_reading_ = false;
  bool stops_ = false;
  uint64_t unread_ = 0;
};

}  // namespace graphtree::cupti

#endif  // GRAPHTREE_PROFILER_CUPTI_RECORD_FEED_H_
