// A listener that keeps everything, for tests.
#ifndef GRAPHTREE_PROFILER_CUPTI_TEST_LISTENER_H_
#define GRAPHTREE_PROFILER_CUPTI_TEST_LISTENER_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "profiler/activity/activity.h"

namespace graphtree::cupti {

struct KeptOp {
  activity::Activity op;
  std::string name;
};

class TestListener : public activity::ActivityListener {
 public:
  void Op(const activity::Activity& op) override {
    ops.push_back({op, std::string(op.name)});
    ops.back().op.name = {};
  }
  void Dropped(uint64_t records) override { dropped += records; }
  void Note(absl::string_view remark) override { notes.emplace_back(remark); }
  void Launched(const activity::LaunchSeen& launch) override {
    const std::lock_guard<std::mutex> lock(mutex);
    launches.push_back(launch);
  }

  std::vector<KeptOp> ops;
  uint64_t dropped = 0;
  std::vector<std::string> notes;
  std::mutex mutex;
  std::vector<activity::LaunchSeen> launches;  // guarded by mutex
};

}  // namespace graphtree::cupti

#endif  // GRAPHTREE_PROFILER_CUPTI_TEST_LISTENER_H_
