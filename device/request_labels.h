// RequestLabels: what a thread of a server works on, told as a phase to whoever watches all trees.
//
//   Push("request 81")  begin --> "request 81" [ match | launch | ... ] <-- end  Pop()
//
// Labels nest, and each thread has its own. One that was pushed before anybody listened is not
// told, nor is its end.
//
// Threads: any. Cost: a lock and the label's copy, whether somebody listens or not.
#ifndef GRAPHTREE_DEVICE_REQUEST_LABELS_H_
#define GRAPHTREE_DEVICE_REQUEST_LABELS_H_

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "device/observer.h"

namespace graphtree {

class RequestLabels {
 public:
  static RequestLabels& OfProcess();

  RequestLabels() = default;
  RequestLabels(const RequestLabels&) = delete;
  RequestLabels& operator=(const RequestLabels&) = delete;

  // InvalidArgument for an empty label.
  absl::Status Push(absl::string_view label);
  // FailedPrecondition where this thread has pushed none.
  absl::Status Pop();

 private:
  struct Label {
    Label(Observers& observers, absl::string_view text)
        : name(text), told(observers, Phase::kRequest, name) {}
    const std::string name;
    ToldPhase told;
  };

  Observers observers_;  // who watches all trees watches this, too
  std::mutex mutex_;
  // Guarded by mutex_:
  std::unordered_map<std::thread::id, std::vector<std::unique_ptr<Label>>> pushed_;
};

// A label for as long as it lives.
class RequestLabel {
 public:
  explicit RequestLabel(absl::string_view label)
      : is_pushed_(RequestLabels::OfProcess().Push(label).ok()) {}
  ~RequestLabel() {
    if (is_pushed_) RequestLabels::OfProcess().Pop().IgnoreError();
  }
  RequestLabel(const RequestLabel&) = delete;
  RequestLabel& operator=(const RequestLabel&) = delete;

 private:
  const bool is_pushed_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_REQUEST_LABELS_H_
