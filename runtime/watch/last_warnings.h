// The last warnings of a runtime, for whoever looks in later: a log may be far away, or nobody may
// have asked for one.
//
//   'decode[tokens=8]' runs eagerly: a call that no capture allows spoiled its recording: ...
//
// Of two equal ones the later stays. Each is cut at kMostBytes.
//
// Threads: any. Cost: a lock and a copy; nothing of a step that is well comes here.
#ifndef GRAPHTREE_RUNTIME_WATCH_LAST_WARNINGS_H_
#define GRAPHTREE_RUNTIME_WATCH_LAST_WARNINGS_H_

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace graphtree {

class LastWarnings {
 public:
  static constexpr size_t kMost = 16;
  static constexpr size_t kMostBytes = 2000;

  LastWarnings() = default;
  LastWarnings(const LastWarnings&) = delete;
  LastWarnings& operator=(const LastWarnings&) = delete;

  void Add(const std::string& text) {
    std::string cut = text.substr(0, kMostBytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto equal = std::find(texts_.begin(), texts_.end(), cut);
    if (equal != texts_.end()) texts_.erase(equal);
    if (texts_.size() == kMost) texts_.erase(texts_.begin());
    texts_.push_back(std::move(cut));
  }
  // The oldest first.
  std::vector<std::string> get() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return texts_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WATCH_LAST_WARNINGS_H_
