// Pairs of events: from the free ones onto a stream, and back once they were read.
#include "profiler/live/light_timer.h"

#include <algorithm>
#include <utility>

#include "device/base/status_macros.h"

namespace graphtree::live {

absl::StatusOr<std::unique_ptr<LightTimer>> LightTimer::Make(Device& device,
                                                             const HostClock& host) {
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<DeviceClock> clock, DeviceClock::Make(device, host));
  auto timer = std::unique_ptr<LightTimer>(new LightTimer(device, std::move(clock)));
  timer->free_.reserve(kPairs);
  for (size_t i = 0; i < kPairs; ++i) {
    auto pair = std::make_unique<Pair>();
    GRAPHTREE_ASSIGN_OR_RETURN(pair->begin, device.NewEvent({.timing = true}));
    GRAPHTREE_ASSIGN_OR_RETURN(pair->end, device.NewEvent({.timing = true}));
    timer->free_.push_back(std::move(pair));
  }
  return timer;
}

bool LightTimer::Begin(uint64_t launch, Stream& stream) {
  const bool is_here = &stream.device() == &device_;
  std::unique_ptr<Pair> pair = is_here ? TakeFree() : nullptr;
  if (pair == nullptr || !stream.Record(*pair->begin).ok()) {
    untimed_.fetch_add(1, std::memory_order_relaxed);
    if (pair != nullptr) GiveBack(std::move(pair));
    return false;
  }
  pair->launch = launch;
  const std::lock_guard<std::mutex> lock(mutex_);
  open_.push_back(std::move(pair));
  return true;
}

bool LightTimer::End(uint64_t launch, Stream& stream, bool launched) {
  std::unique_ptr<Pair> pair = TakeOpen(launch);
  if (pair == nullptr) return false;
  if (!launched || !stream.Record(*pair->end).ok()) {
    GiveBack(std::move(pair));
    return false;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  under_way_.push_back(std::move(pair));
  return true;
}

std::unique_ptr<LightTimer::Pair> LightTimer::TakeFree() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (free_.empty() || is_over_) return nullptr;
  std::unique_ptr<Pair> pair = std::move(free_.back());
  free_.pop_back();
  return pair;
}

std::unique_ptr<LightTimer::Pair> LightTimer::TakeOpen(uint64_t launch) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const auto& pair) { return pair->launch == launch; });
  if (found == open_.end()) return nullptr;
  std::unique_ptr<Pair> pair = std::move(*found);
  open_.erase(found);
  return pair;
}

void LightTimer::GiveBack(std::unique_ptr<Pair> pair) {
  const std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(std::move(pair));
}

std::unique_ptr<LightTimer::Pair> LightTimer::TakeUnderWay() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (under_way_.empty()) return nullptr;
  std::unique_ptr<Pair> pair = std::move(under_way_.front());
  under_way_.pop_front();
  return pair;
}

absl::Status LightTimer::HandOver(Pair& pair, const Sink& sink) {
  GRAPHTREE_ASSIGN_OR_RETURN(const int64_t start, clock_->HostTimeOf(*pair.begin));
  GRAPHTREE_ASSIGN_OR_RETURN(const double duration, pair.end->NanosecondsSince(*pair.begin));
  sink({pair.launch, start, static_cast<int64_t>(duration)});
  return absl::OkStatus();
}

// Pairs of several streams are under way, which end in any order: each is asked once.
absl::Status LightTimer::Collect(const Sink& sink) {
  GRAPHTREE_RETURN_IF_ERROR(clock_->Keep());
  std::vector<std::unique_ptr<Pair>> not_done;
  absl::Status first;
  while (std::unique_ptr<Pair> pair = TakeUnderWay()) {
    const absl::StatusOr<bool> done = pair->end->IsDone();
    if (done.ok() && !*done) {
      not_done.push_back(std::move(pair));
      continue;
    }
    first.Update(done.ok() ? HandOver(*pair, sink) : done.status());
    GiveBack(std::move(pair));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto pair = not_done.rbegin(); pair != not_done.rend(); ++pair) {
    under_way_.push_front(std::move(*pair));
  }
  return first;
}

absl::Status LightTimer::Finish(bool waits, const Sink& sink) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_over_ = true;
  }
  absl::Status first;
  while (std::unique_ptr<Pair> pair = TakeUnderWay()) {
    if (!waits && !pair->end->IsDone().value_or(false)) {
      untimed_.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    absl::Status done = pair->end->Synchronize();
    if (done.ok()) done = HandOver(*pair, sink);
    first.Update(done);
  }
  return first;
}

}  // namespace graphtree::live
