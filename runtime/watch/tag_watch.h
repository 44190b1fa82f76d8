// What is noted of a tag (parking.h), for readers on any thread.
//
// Threads: one writes at a time, any reads.
#ifndef GRAPHTREE_RUNTIME_WATCH_TAG_WATCH_H_
#define GRAPHTREE_RUNTIME_WATCH_TAG_WATCH_H_

#include <string>
#include <utility>

#include "runtime/watch/counter.h"
#include "runtime/watch/durations.h"

namespace graphtree {

struct TagWatch {
  explicit TagWatch(std::string tag) : tag(std::move(tag)) {}

  const std::string tag;
  Counter is_parked;     // 1 or 0
  Counter contents;      // as it was parked last, by Contents
  Counter parked_bytes;  // that left the device, and come back at a wake
  Counter saved_bytes;   // contents on the host
  Counter memory_bytes;  // of Runtime::AddMemory: what the device gave, now
  Counter parks;
  Counter wakes;
  Counter failed_wakes;
  Durations wake_times;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WATCH_TAG_WATCH_H_
