// LaunchLedger: which launches were begun and ended while a session listened, so that a test under
// load can ask whether each of their ops was told once.
//
// Safe from several threads.
#ifndef GRAPHTREE_PROFILER_CUPTI_LAUNCH_LEDGER_H_
#define GRAPHTREE_PROFILER_CUPTI_LAUNCH_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "profiler/activity/activity.h"
#include "profiler/cupti/test_listener.h"

namespace graphtree::cupti {

struct FinishedLaunch {
  uint64_t correlation = 0;
  uint32_t graph = 0;
};

class LaunchLedger {
 public:
  // Somebody listens from now on, or only until now.
  void Listening(bool listens) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++phase_;
    listens_ = listens;
    finished_.clear();
  }
  // Before a launch; for Note.
  uint64_t phase() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return phase_;
  }
  // The work of a launch is done that was begun in `phase`.
  void Note(uint64_t phase, const FinishedLaunch& launch) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++launches_;
    if (listens_ && phase == phase_) finished_.push_back(launch);
  }
  uint64_t launches() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return launches_;
  }
  void Await(uint64_t more) const {
    const uint64_t wanted = launches() + more;
    while (launches() < wanted) std::this_thread::yield();
  }
  // Those that were begun and ended while somebody listened; call it before Listening(false).
  std::vector<FinishedLaunch> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(finished_, {});
  }

 private:
  mutable std::mutex mutex_;
  uint64_t launches_ = 0;
  uint64_t phase_ = 0;
  bool listens_ = false;
  std::vector<FinishedLaunch> finished_;
};

// Of each finished launch all `ops` were told, and nothing of any launch was told twice.
inline void ExpectAllTold(const TestListener& listener,
                          const std::vector<FinishedLaunch>& finished, size_t ops) {
  EXPECT_EQ(listener.dropped, 0u);
  std::map<uint64_t, std::set<uint64_t>> nodes;  // by correlation
  for (const KeptOp& kept : listener.ops) {
    EXPECT_EQ(kept.op.graph_node >> 32, kept.op.graph);
    if (kept.op.graph == 0 || kept.op.correlation == 0) continue;
    EXPECT_TRUE(nodes[kept.op.correlation].insert(kept.op.graph_node).second)
        << "an op of launch " << kept.op.correlation << " was told twice";
  }
  for (const FinishedLaunch& launch : finished) {
    const std::set<uint64_t>& told = nodes[launch.correlation];
    EXPECT_NE(launch.correlation, 0u);
    EXPECT_EQ(told.size(), ops) << "launch " << launch.correlation;
    if (told.empty()) continue;
    EXPECT_EQ(*told.begin() >> 32, launch.graph);
    EXPECT_EQ(*told.rbegin() >> 32, launch.graph);
  }
}

}  // namespace graphtree::cupti

#endif  // GRAPHTREE_PROFILER_CUPTI_LAUNCH_LEDGER_H_
