// An Observer is told what becomes of graphs. Whoever watches implements it (a profiler, a log, a
// test); the tree, which knows what each graph is for, calls it.
//
//   capture begin --> capture end --> instantiate --> replay begin, replay end ... --> destroy
//                          `-- failed: nothing more comes for this capture
//
// Observers is the list of the observers of one tree. While it is empty an event costs one load,
// and is not even put together.
//
// Threads: join and leave on any thread. Leave waits until an event that is being told was told to
// all, unless an observer calls Leave from inside of Saw; after Leave the observer hears nothing
// more. Observers are told on the thread that acts, one event after the other, and must not call
// the tree. An exception from one of them is caught: the others are told all the same, and the call
// goes on.
#ifndef GRAPHTREE_DEVICE_OBSERVER_H_
#define GRAPHTREE_DEVICE_OBSERVER_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "device/base/guarded_call.h"
#include "device/graph.h"
#include "device/stream.h"

namespace graphtree {

enum class GraphMoment : uint8_t {
  kCaptureBegin,
  kCaptureEnd,
  kInstantiate,
  kReplayBegin,
  kReplayEnd,   // the graph was launched, or refused: its work is still under way
  kDestroy,     // the executable was evicted, or its tree is closed: no replay comes any more
};

// "capture begin", ...
inline const char* GraphMomentName(GraphMoment moment) {
  switch (moment) {
    case GraphMoment::kCaptureBegin: return "capture begin";
    case GraphMoment::kCaptureEnd: return "capture end";
    case GraphMoment::kInstantiate: return "instantiate";
    case GraphMoment::kReplayBegin: return "replay begin";
    case GraphMoment::kReplayEnd: return "replay end";
    case GraphMoment::kDestroy: return "destroy";
  }
  return "?";
}

struct GraphEvent {
  GraphMoment moment = GraphMoment::kCaptureBegin;
  // Which function, and which recording of the tree. A recording has one number from kCaptureBegin
  // to kDestroy, which is used again only if that recording failed. After kDestroy an evicted graph
  // may be instantiated again.
  absl::string_view function;
  uint64_t recording = 0;
  // A recording that is cut has a graph for each section; all moments come for each of them.
  uint64_t section = 0;
  bool ok = true;                          // false: what ends here, or was to be made, failed
  Stream* stream = nullptr;                // null for kDestroy
  const Graph* graph = nullptr;            // from kInstantiate on, where there is one
  const Executable* executable = nullptr;  // likewise
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void Saw(const GraphEvent& event) = 0;
};

class Observers {
 public:
  Observers() = default;
  Observers(const Observers&) = delete;
  Observers& operator=(const Observers&) = delete;

  // `observer` must leave before it is destroyed. Null joins nobody.
  void Join(Observer* observer) {
    if (observer == nullptr) return;
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    list_.push_back(observer);
    count_.store(list_.size(), std::memory_order_release);
  }
  void Leave(Observer* observer) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    std::replace(list_.begin(), list_.end(), observer, static_cast<Observer*>(nullptr));
    if (telling_ == 0) CloseGaps();
    const size_t left = list_.size() - std::count(list_.begin(), list_.end(), nullptr);
    count_.store(left, std::memory_order_release);
  }

  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }

  // Goes by index, as observers may come and go meanwhile. Returns the first exception as an error.
  absl::Status Tell(const GraphEvent& event) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    absl::Status first;
    ++telling_;
    for (size_t i = 0; i < list_.size(); ++i) {
      if (list_[i] != nullptr) first.Update(Guarded([&] { list_[i]->Saw(event); }));
    }
    if (--telling_ == 0) CloseGaps();
    return first;
  }

 private:
  void CloseGaps() { list_.erase(std::remove(list_.begin(), list_.end(), nullptr), list_.end()); }

  std::atomic<size_t> count_{0};
  std::recursive_mutex mutex_;
  // Guarded by mutex_:
  std::vector<Observer*> list_;  // null where one has left while all are told
  int telling_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_OBSERVER_H_
