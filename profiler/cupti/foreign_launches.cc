// Who is inside, and when the last one left.
#include "profiler/cupti/foreign_launches.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace graphtree::cupti {

void ForeignLaunches::Reset() {
  const std::lock_guard<std::mutex> lock(mutex_);
  inside_.clear();
  count_ = 0;
}

bool ForeignLaunches::Begin(std::thread::id thread, Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  last_ = now;
  for (Inside& inside : inside_) {
    if (inside.thread != thread) continue;
    ++inside.depth;
    return false;
  }
  inside_.push_back({thread, 1});
  ++count_;
  return true;
}

// One that began before anybody looked is not known, and ends without a word.
void ForeignLaunches::End(std::thread::id thread, Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  last_ = now;
  const auto found = std::find_if(inside_.begin(), inside_.end(), [&](const Inside& inside) {
    return inside.thread == thread;
  });
  if (found == inside_.end()) {
    ++count_;
  } else if (--found->depth == 0) {
    inside_.erase(found);
  }
}

bool ForeignLaunches::AtRest(Time now, std::chrono::nanoseconds quiet) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return inside_.empty() && (count_ == 0 || now - last_ >= quiet);
}

uint64_t ForeignLaunches::count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return count_;
}

std::string ForeignLaunches::Words() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return absl::StrCat(count_, " launches of graphs by others than this library, ", inside_.size(),
                      " of them under way");
}

}  // namespace graphtree::cupti
