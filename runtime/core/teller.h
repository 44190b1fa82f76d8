// Tells people what a log should have: through RuntimeOptions::log, or, without one, warnings
// through TreeOptions::warn. What is told once is told once for each key.
//
// Threads: any. Cost: a lock; nothing of a step that is well comes here.
#ifndef GRAPHTREE_RUNTIME_CORE_TELLER_H_
#define GRAPHTREE_RUNTIME_CORE_TELLER_H_

#include <mutex>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "device/base/guarded_call.h"
#include "runtime/runtime_options.h"

namespace graphtree {

class Teller {
 public:
  // `options` outlive it.
  explicit Teller(const RuntimeOptions& options) : options_(options) {}
  Teller(const Teller&) = delete;
  Teller& operator=(const Teller&) = delete;

  // The callback may throw, which changes nothing.
  void Say(LogLevel level, const std::string& text) const {
    Guarded([&] {
      if (options_.log) {
        options_.log(level, text);
      } else if (options_.tree.warn && level == LogLevel::kWarning) {
        options_.tree.warn(text);
      }
    }).IgnoreError();
  }
  void WarnOnce(std::string key, const std::string& text) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (told_.size() >= kMostKeys || !told_.insert(std::move(key)).second) return;
    }
    Say(LogLevel::kWarning, text);
  }

 private:
  static constexpr size_t kMostKeys = 4096;

  const RuntimeOptions& options_;
  std::mutex mutex_;
  absl::flat_hash_set<std::string> told_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_TELLER_H_
