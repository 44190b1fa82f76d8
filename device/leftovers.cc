// Takes one leftover after the other out of the list, and gives it back without the lock.
#include "device/leftovers.h"

#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"

namespace graphtree {

void Leftovers::Add(std::unique_ptr<Leftover> leftover) {
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_.push_back(std::move(leftover));
}

std::unique_ptr<Leftover> Leftovers::TakeFirst() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (waiting_.empty()) return nullptr;
  std::unique_ptr<Leftover> first = std::move(waiting_.front());
  waiting_.pop_front();
  return first;
}

bool Leftovers::Enter() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (absl::c_linear_search(givers_, std::this_thread::get_id())) return false;
  givers_.push_back(std::this_thread::get_id());
  return true;
}

void Leftovers::Leave(std::vector<std::unique_ptr<Leftover>> failed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  givers_.erase(absl::c_find(givers_, std::this_thread::get_id()));
  std::move(failed.begin(), failed.end(), std::back_inserter(waiting_));
}

absl::Status Leftovers::GiveBack(absl::FunctionRef<bool()> may) {
  if (!Enter()) return absl::OkStatus();
  absl::Status first;
  std::vector<std::unique_ptr<Leftover>> failed;
  while (may()) {
    std::unique_ptr<Leftover> leftover = TakeFirst();
    if (leftover == nullptr) break;
    const absl::Status status = leftover->GiveBack();
    if (!status.ok()) failed.push_back(std::move(leftover));
    first.Update(status);
  }
  Leave(std::move(failed));
  return first;
}

void Leftovers::Drop() {
  while (TakeFirst() != nullptr) {
  }
}

}  // namespace graphtree
