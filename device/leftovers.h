// What its owner could not give back to the device, as a capture was open: nothing may be unmapped,
// waited for or destroyed then.
//
//   ~Tree, ~Pool, a capture is open --> the leftover waits with its device --> given back once no
//                                                                              capture is open
//
// Threads: safe from several.
#ifndef GRAPHTREE_DEVICE_LEFTOVERS_H_
#define GRAPHTREE_DEVICE_LEFTOVERS_H_

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace graphtree {

class Leftover {
 public:
  virtual ~Leftover() = default;
  // What fails may be called again, and goes on where it failed.
  virtual absl::Status GiveBack() = 0;
};

class Leftovers {
 public:
  void Add(std::unique_ptr<Leftover> leftover) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(leftover));
  }
  // Those that fail stay; the first error is returned.
  absl::Status GiveBack() {
    absl::Status first;
    for (std::unique_ptr<Leftover>& leftover : TakeAll()) {
      const absl::Status status = leftover->GiveBack();
      if (!status.ok()) Add(std::move(leftover));
      first.Update(status);
    }
    return first;
  }
  void Drop() { TakeAll(); }

 private:
  std::vector<std::unique_ptr<Leftover>> TakeAll() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(waiting_, {});
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Leftover>> waiting_;  // guarded by mutex_
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_LEFTOVERS_H_
