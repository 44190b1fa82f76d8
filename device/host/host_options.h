// Options of a host device: how it schedules, what it checks, and how much memory it says it has.
#ifndef GRAPHTREE_DEVICE_HOST_HOST_OPTIONS_H_
#define GRAPHTREE_DEVICE_HOST_HOST_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "device/graph.h"

namespace graphtree {

enum class HostScheduler : uint8_t {
  kSeeded,  // work waits in queues; whoever waits for it runs it, in an order that the seed picks
  kImmediate,  // a call returns when its work is done
  kThreads,    // each stream has a thread, which runs its work as soon as it can
};

// An op that is about to run.
struct HostTraceEntry {
  const std::string& stream;
  const std::string& op;
  uint64_t sequence = 0;  // counts what was issued to the stream
  bool replayed = false;
  OpId op_id = 0;         // in its graph, if replayed
};

struct HostOptions {
  HostScheduler scheduler = HostScheduler::kSeeded;
  uint64_t seed = 1;
  uint64_t memory_bytes = uint64_t{8} << 30;
  // A queued op beyond this many makes the call that issues it run half of them (kSeeded).
  uint32_t queue_limit = 1024;
  // Bytes that become live are filled with 0xCB, bytes that become dead with 0xDB.
  bool poison = true;
  // Ops that touch the same bytes in no order lose the device.
  bool check_races = true;
  // Called before every op, in the order in which they run, with the device locked: it must not
  // call the device, nor throw.
  std::function<void(const HostTraceEntry&)> trace = nullptr;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_HOST_HOST_OPTIONS_H_
