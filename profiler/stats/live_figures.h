// LiveFigures: the figures of a trace that is still being made, for whoever asks on another thread.
//
//   the profile --records--> LiveFigures --records--> a file, if there is one
//                                 |  each second, and at the end
//                                 v
//                         Rows(), and LatestFigures(), which the runtime's metrics show
//
// Threads: as a listener like any; Rows and LatestFigures on any thread. Cost: some tens of
// nanoseconds for each record, in memory with a limit.
#ifndef GRAPHTREE_PROFILER_STATS_LIVE_FIGURES_H_
#define GRAPHTREE_PROFILER_STATS_LIVE_FIGURES_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "profiler/stats/figures.h"
#include "profiler/stats/trace_statistics.h"
#include "profiler/trace/records.h"
#include "profiler/trace/tables.h"

namespace graphtree::trace {

using SharedFigures = std::shared_ptr<const std::vector<FigureRow>>;

// Of the profile that runs or ran last in this process, with figures; null before the first.
SharedFigures LatestFigures();

class LiveFigures : public TraceListener {
 public:
  // `next`, which hears all, too, may be null. All outlive this. `limit` as of FiguresOf.
  LiveFigures(const TraceTables& tables, TraceListener* next, uint64_t limit)
      : statistics_(tables), next_(next), limit_(limit) {}

  void Begin(const TraceHeader& header) override;
  void Op(const DeviceOp& op) override;
  void Span(const HostSpan& span) override;
  void Counter(const CounterSample& sample) override;
  void Instant(const Mark& mark) override;
  void Lane(const LaneName& name) override;
  void Arrow(const ArrowEnd& end) override;
  void Flush() override;
  void End(const TraceNotes& notes) override;

  // As of a second ago; of the whole trace once that has ended. Never null.
  SharedFigures Rows() const;

 private:
  void Publish();

  TraceStatistics statistics_;
  TraceListener* const next_;
  const uint64_t limit_;
  mutable std::mutex mutex_;
  SharedFigures rows_ = std::make_shared<const std::vector<FigureRow>>();  // guarded by mutex_
};

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_STATS_LIVE_FIGURES_H_
