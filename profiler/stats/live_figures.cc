// Counts, and hands on.
#include "profiler/stats/live_figures.h"

#include <utility>

namespace graphtree::trace {
namespace {

struct Latest {
  std::mutex mutex;
  SharedFigures rows;  // guarded by mutex

  // Never destroyed: metrics may be asked for as long as the process lives.
  static Latest& OfProcess() {
    static auto* const latest = new Latest;
    return *latest;
  }
};

}  // namespace

SharedFigures LatestFigures() {
  Latest& latest = Latest::OfProcess();
  const std::lock_guard<std::mutex> lock(latest.mutex);
  return latest.rows;
}

void LiveFigures::Begin(const TraceHeader& header) {
  statistics_.Begin(header);
  if (next_ != nullptr) next_->Begin(header);
}

void LiveFigures::Op(const DeviceOp& op) {
  statistics_.Op(op);
  if (next_ != nullptr) next_->Op(op);
}

void LiveFigures::Span(const HostSpan& span) {
  statistics_.Span(span);
  if (next_ != nullptr) next_->Span(span);
}

void LiveFigures::Counter(const CounterSample& sample) {
  statistics_.Counter(sample);
  if (next_ != nullptr) next_->Counter(sample);
}

void LiveFigures::Instant(const Mark& mark) {
  statistics_.Instant(mark);
  if (next_ != nullptr) next_->Instant(mark);
}

void LiveFigures::Lane(const LaneName& name) {
  if (next_ != nullptr) next_->Lane(name);
}

void LiveFigures::Arrow(const ArrowEnd& end) {
  if (next_ != nullptr) next_->Arrow(end);
}

void LiveFigures::Flush() {
  Publish();
  if (next_ != nullptr) next_->Flush();
}

void LiveFigures::End(const TraceNotes& notes) {
  statistics_.End(notes);
  Publish();
  if (next_ != nullptr) next_->End(notes);
}

SharedFigures LiveFigures::Rows() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return rows_;
}

void LiveFigures::Publish() {
  auto rows = std::make_shared<const std::vector<FigureRow>>(FiguresOf(statistics_, limit_));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    rows_ = rows;
  }
  Latest& latest = Latest::OfProcess();
  const std::lock_guard<std::mutex> lock(latest.mutex);
  latest.rows = std::move(rows);
}

}  // namespace graphtree::trace
