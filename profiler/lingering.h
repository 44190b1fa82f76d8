// LingeringSources: sources that could not leave at the end of their profile, until they have left.
//
//   profile --Stop--> lingers --Take--> asked each 100 ms: do the launches of others rest?
//                                          |                     |
//                       the next profile takes it back        it leaves, and is destroyed
//
// A source that lingers costs each launch of a graph some 20 us, so whoever owned it must not just
// drop it: CUPTI would stay for as long as the process. The thread is there while a source is.
//
// Threads: any. Cost: nothing while none lingers.
#ifndef GRAPHTREE_PROFILER_LINGERING_H_
#define GRAPHTREE_PROFILER_LINGERING_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "profiler/activity/activity_source.h"

namespace graphtree {

class LingeringSources {
 public:
  static LingeringSources& OfProcess();

  LingeringSources() = default;
  LingeringSources(const LingeringSources&) = delete;
  LingeringSources& operator=(const LingeringSources&) = delete;

  // True if it lingers, and is kept; else it is destroyed. REQUIRES: it needs nothing that ends
  // before the process.
  bool Take(std::unique_ptr<activity::ActivitySource> source);
  // One that is kept, or null.
  std::unique_ptr<activity::ActivitySource> TakeBack();
  // They leave now, also beside launches of others, whose work may break. The first error.
  absl::Status Force();
  // How many linger.
  size_t count() const;

 private:
  using Sources = std::vector<std::unique_ptr<activity::ActivitySource>>;

  void Watch();
  // With the lock. What has left.
  Sources Gone();

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  Sources kept_;
  bool is_watched_ = false;
  std::thread thread_;  // of Watch
};

}  // namespace graphtree

#endif  // GRAPHTREE_PROFILER_LINGERING_H_
