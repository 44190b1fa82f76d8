// A stack for each thread that has labels.
#include "device/request_labels.h"

#include <utility>

namespace graphtree {

// Never destroyed: a thread may have labels to the end of the process.
RequestLabels& RequestLabels::OfProcess() {
  static RequestLabels* const labels = new RequestLabels;
  return *labels;
}

absl::Status RequestLabels::Push(absl::string_view label) {
  if (label.empty()) return absl::InvalidArgumentError("a request's label is empty");
  // Told without the lock: an observer may push a label of its own.
  auto pushed = std::make_unique<Label>(observers_, label);
  const std::lock_guard<std::mutex> lock(mutex_);
  pushed_[std::this_thread::get_id()].push_back(std::move(pushed));
  return absl::OkStatus();
}

absl::Status RequestLabels::Pop() {
  std::unique_ptr<Label> popped;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto of_thread = pushed_.find(std::this_thread::get_id());
    if (of_thread == pushed_.end()) {
      return absl::FailedPreconditionError("this thread has no label that could be popped");
    }
    popped = std::move(of_thread->second.back());
    of_thread->second.pop_back();
    // Threads come and go.
    if (of_thread->second.empty()) pushed_.erase(of_thread);
  }
  return popped->told.Ended(absl::OkStatus());
}

}  // namespace graphtree
