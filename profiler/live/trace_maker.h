// TraceMaker: puts together what threads tell (HostEvent), what the device tells (Activity) and
// what timed pairs of events tell (TimedLaunch), and hands it to a listener as one trace.
//
//   HostEvent    launch 81 of decode, thread 12   -->  HostSpan "cudaGraphLaunch decode", 81
//   Activity     kernel, correlation 7, node 2:1  -->  DeviceOp attend, correlation 81
//   TimedLaunch  launch 64 ran for 40 us          -->  DeviceOp decode as a whole, 64
//
// Phases nest on each thread: a begin waits on the thread's stack for its end. An end whose begin
// came before the profile did is left out.
//
// Not safe for concurrent use: the profile calls it under its lock.
#ifndef GRAPHTREE_PROFILER_LIVE_TRACE_MAKER_H_
#define GRAPHTREE_PROFILER_LIVE_TRACE_MAKER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "profiler/activity/activity.h"
#include "profiler/activity/clock_fit.h"
#include "profiler/live/host_event.h"
#include "profiler/live/identity_names.h"
#include "profiler/live/launch_join.h"
#include "profiler/live/light_timer.h"
#include "profiler/trace/records.h"
#include "profiler/trace/tables.h"

namespace graphtree::live {

class TraceMaker {
 public:
  // Both outlive this.
  TraceMaker(trace::TraceTables& tables, trace::TraceListener& listener);
  TraceMaker(const TraceMaker&) = delete;
  TraceMaker& operator=(const TraceMaker&) = delete;

  void Take(HostEvent event);
  // Whether the launch that the activity belongs to was told.
  bool KnowsLaunchOf(const activity::Activity& activity) const {
    return join_.Knows(activity.correlation);
  }
  void Take(const activity::Activity& activity);
  void Take(const TimedLaunch& timed);
  void Count(int64_t time_ns, absl::string_view name, absl::string_view series, double value);
  void Turn() { join_.Turn(); }
  void End() { join_.End(); }

  // From the clock of activities to the host's.
  activity::ClockFit& clock() { return clock_; }
  double clock_drift_ppm() const { return clock_.drift_ppm(); }
  const JoinCounts& counts() const { return join_.counts(); }
  uint64_t launches() const { return launches_; }
  uint64_t ops() const { return ops_; }

 private:
  struct Phased {
    Phase phase = Phase::kMatch;
    int64_t begin_ns = 0;
  };
  // A launch that may be timed, until it was: what it is, and where it ran.
  struct Timeable {
    trace::IdentityId identity = 0;
    uint32_t stream = 0;
    trace::OpKind kind = trace::OpKind::kWholeGraph;
  };

  void TakeLaunch(const HostEvent& event);
  void TakeOp(const HostEvent& event);
  void TakeMoment(const HostEvent& event);
  void BeginPhase(const HostEvent& event);
  void EndPhase(const HostEvent& event);
  trace::HostSpan SpanOf(const HostEvent& event, trace::SpanKind kind, absl::string_view name);
  uint32_t StreamOf(const HostEvent& event);
  uint32_t StreamNumber(uint64_t stream);
  void RememberTimeable(uint64_t launch, const Timeable& timeable);

  trace::TraceTables& tables_;
  trace::TraceListener& listener_;
  const int64_t process_;
  IdentityNames names_;
  LaunchJoin join_;
  activity::ClockFit clock_;
  absl::flat_hash_map<int64_t, std::vector<Phased>> phases_;  // by thread
  absl::flat_hash_map<uint64_t, uint32_t> streams_;
  absl::flat_hash_map<uint64_t, Timeable> timeable_;          // by launch
  // Timed before its launch was told, as both come from different threads.
  absl::flat_hash_map<uint64_t, TimedLaunch> timed_early_;
  uint64_t launches_ = 0;
  uint64_t ops_ = 0;
};

}  // namespace graphtree::live

#endif  // GRAPHTREE_PROFILER_LIVE_TRACE_MAKER_H_
