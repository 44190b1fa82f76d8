// Counting calls, and the faults armed for them.
#include "device/fault/fault_plan.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"

namespace graphtree {

void FaultPlan::FailCall(uint64_t n, ErrorCode code) { FailCallOf("", n, code); }

void FaultPlan::FailCallOf(absl::string_view name, uint64_t n, ErrorCode code) {
  GRAPHTREE_CHECK(n >= 1) << "calls are counted from 1";
  std::lock_guard<std::mutex> lock(mutex_);
  armed_.push_back({std::string(name), n, code});
}

void FaultPlan::FailEveryCallOf(absl::string_view name, ErrorCode code) {
  std::lock_guard<std::mutex> lock(mutex_);
  armed_.push_back({std::string(name), 0, code});
}

void FaultPlan::Clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  armed_.clear();
  lost_ = absl::OkStatus();
}

const FaultPlan::Fault* FaultPlan::Match(absl::string_view name) {
  const Fault* found = nullptr;
  for (size_t i = 0; i < armed_.size();) {
    Fault& fault = armed_[i];
    const bool counts = fault.name.empty() || fault.name == name;
    const bool once = fault.left != 0;
    const bool fires = counts && (!once || --fault.left == 0);
    if (fires && found == nullptr) {
      matched_ = fault;
      found = &matched_;
    }
    if (fires && once) {
      armed_.erase(armed_.begin() + i);
    } else {
      ++i;
    }
  }
  return found;
}

absl::Status FaultPlan::Enter(absl::string_view name) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++calls_;
  const uint64_t count = ++counts_[std::string(name)];
  if (!lost_.ok()) return lost_;
  const Fault* fault = Match(name);
  if (fault == nullptr) return absl::OkStatus();
  ++fired_;
  fired_in_ = std::string(name);
  const absl::Status status = DeviceError(
      fault->code,
      absl::StrCat("injected fault: call ", calls_, " of the device, call ", count, " of ", name));
  if (KillsDevice(fault->code)) lost_ = status;
  return status;
}

absl::Status FaultPlan::lost() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return lost_;
}

uint64_t FaultPlan::fired() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return fired_;
}

std::string FaultPlan::fired_in() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return fired_in_;
}

uint64_t FaultPlan::calls() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return calls_;
}

uint64_t FaultPlan::calls_of(absl::string_view name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = counts_.find(std::string(name));
  return found == counts_.end() ? 0 : found->second;
}

std::map<std::string, uint64_t> FaultPlan::counts() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

}  // namespace graphtree
