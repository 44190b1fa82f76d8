// Asks again and again, on a thread that ends with the last one.
#include "profiler/lingering.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "device/base/guarded_call.h"

namespace graphtree {
namespace {

constexpr auto kEvery = std::chrono::milliseconds(100);

}  // namespace

// Never destroyed: its thread may be there to the end of the process.
LingeringSources& LingeringSources::OfProcess() {
  static auto* const sources = new LingeringSources;
  return *sources;
}

// Where the system has no thread, it is asked by the next profile alone.
bool LingeringSources::Take(std::unique_ptr<activity::ActivitySource> source) {
  if (source->Poll() != activity::SourceState::kLingering) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  kept_.push_back(std::move(source));
  if (is_watched_) return true;
  if (thread_.joinable()) thread_.join();  // it is about to end, and wants no lock any more
  is_watched_ = GuardedBy("starting the thread that asks whether CUPTI may leave", [this] {
                  thread_ = std::thread([this] { Watch(); });
                }).ok();
  return true;
}

std::unique_ptr<activity::ActivitySource> LingeringSources::TakeBack() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (kept_.empty()) return nullptr;
  std::unique_ptr<activity::ActivitySource> source = std::move(kept_.back());
  kept_.pop_back();
  return source;
}

absl::Status LingeringSources::Force() {
  Sources gone;  // destroyed without the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  absl::Status first;
  for (const auto& kept : kept_) {
    if (kept->state() != activity::SourceState::kLingering) continue;
    first.Update(kept->Detach({.how = activity::DetachHow::kForce}));
  }
  gone = Gone();
  return first;
}

size_t LingeringSources::count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return kept_.size();
}

LingeringSources::Sources LingeringSources::Gone() {
  const auto gone = std::stable_partition(kept_.begin(), kept_.end(), [](const auto& kept) {
    return kept->Poll() == activity::SourceState::kLingering;
  });
  Sources left(std::make_move_iterator(gone), std::make_move_iterator(kept_.end()));
  kept_.erase(gone, kept_.end());
  return left;
}

void LingeringSources::Watch() {
  for (;;) {
    std::this_thread::sleep_for(kEvery);
    Sources gone;  // destroyed without the lock
    const std::lock_guard<std::mutex> lock(mutex_);
    gone = Gone();
    is_watched_ = !kept_.empty();
    if (!is_watched_) return;
  }
}

}  // namespace graphtree
