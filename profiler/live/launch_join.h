// Finds out to which launch an op of the device belongs, and what it is.
//
//   launch 81   correlation 7, executable 2     ops of its graph   0 norm   1 attend   2 copy
//
//   the device tells        correlation 7, node 2:1    ->  launch 81, attend
//                           correlation 7, node 2:2    ->  launch 81, copy
//                           correlation 9, node 5:0    ->  nobody's launch: somebody else's graph
//                           correlation 7, node 2:8    ->  a mismatch: the graph has no such op
//
// An op is named by its launch and its place in the graph, and by nothing else: two recordings may
// take turns in one executable. What does not fit is counted, and the op keeps the name that the
// device gave it: nothing is guessed.
//
// Launches and ops come from different threads of the process, in any order: an op whose launch is
// not known waits for two turns, that is until whatever was told before it has been read.
//
//   Op(7) --waits--> Launched(7) --> handed on            Op(9) --waits, Turn, Turn--> handed on
//
// Each launch must have as many ops as its graph has work. A launch that is still short of some
// when it must make room, or when a later one of its stream is whole, is counted as short; one
// that the end of the profile cuts off is not.
//
// Not safe for concurrent use. Cost: a look into a hash table for each op. Memory: bounded.
#ifndef GRAPHTREE_PROFILER_LIVE_LAUNCH_JOIN_H_
#define GRAPHTREE_PROFILER_LIVE_LAUNCH_JOIN_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "profiler/trace/records.h"

namespace graphtree::live {

// A recorded graph, as a trace names it.
struct NamedGraph {
  std::vector<trace::IdentityId> ops = {};  // by their id; 0 for one that nothing is known of
  std::vector<bool> is_work = {};           // by the id: the device tells of it
  size_t work = 0;                          // how many of those that are known do
  bool is_complete = true;                  // all are known: a launch has so many ops
};

struct LaunchedGraph {
  uint64_t launch = 0;       // our number of it
  uint64_t correlation = 0;  // the device's number of it
  uint32_t executable = 0;   // the device's number; 0: not known
  uint64_t stream = 0;       // any number that tells streams apart
  std::shared_ptr<const NamedGraph> graph = nullptr;
};

struct JoinCounts {
  uint64_t joined = 0;          // ops that have their launch and their name
  uint64_t unnamed = 0;         // ops that have their launch, and were not recorded by name
  uint64_t without_launch = 0;  // ops of nobody's launch
  uint64_t mismatched = 0;      // ops that are not in the graph of their launch
  uint64_t short_launches = 0;  // launches with less ops than their graph has
  uint64_t cut_launches = 0;    // launches that the end of the profile has cut off
};

class LaunchJoin {
 public:
  // An op with its launch's number as correlation, or kForeign and the device's.
  using Sink = std::function<void(const trace::DeviceOp&)>;
  explicit LaunchJoin(Sink sink) : sink_(std::move(sink)) {}
  LaunchJoin(const LaunchJoin&) = delete;
  LaunchJoin& operator=(const LaunchJoin&) = delete;

  void Launched(LaunchedGraph launched);
  // An op that the device tells of; its identity is what is known of it without its launch.
  void Op(const trace::DeviceOp& op);
  // What was told before the last turn but one is known by now.
  void Turn();
  // No more comes.
  void End();

  bool Knows(uint64_t correlation) const { return open_.contains(correlation); }
  const JoinCounts& counts() const { return counts_; }

  // So that the device's numbers are never one of ours.
  static constexpr uint64_t kForeign = uint64_t{1} << 63;
  static constexpr size_t kOpenLaunches = 1 << 14;
  static constexpr size_t kWaitingOps = 1 << 16;

 private:
  struct Open {
    LaunchedGraph launched;
    size_t seen = 0;
  };
  struct Waiting {
    uint64_t turn = 0;
    trace::DeviceOp op;
  };

  void Join(Open& open, trace::DeviceOp op);
  void CloseIfWhole(uint64_t correlation, const Open& open);
  void CloseOldest();
  void ForgetClosed();
  void LetGo(const Waiting& waiting);

  const Sink sink_;
  JoinCounts counts_;
  uint64_t turn_ = 0;
  absl::flat_hash_map<uint64_t, Open> open_;           // by correlation
  std::deque<uint64_t> order_;                         // in which these came, some closed since
  absl::flat_hash_map<uint64_t, uint64_t> whole_;      // by stream: its last whole launch
  std::deque<Waiting> waiting_;
  absl::flat_hash_map<uint64_t, size_t> waiting_for_;  // by correlation: how many ops wait
};

}  // namespace graphtree::live

#endif  // GRAPHTREE_PROFILER_LIVE_LAUNCH_JOIN_H_
