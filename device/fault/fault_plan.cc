// Counting calls, and the faults armed for them.
#include "device/fault/fault_plan.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"

namespace graphtree {
namespace {

constexpr absl::string_view kCalls[] = {
    "Device.NewStream",       "Device.AdoptStream",    "Device.NewEvent",
    "Device.Load",            "Device.Close",          "Memory.Info",
    "Memory.Reserve",         "Memory.Release",        "Memory.Create",
    "Memory.Map",             "Memory.Unmap",          "Memory.SetAccess",
    "Memory.AllocateHost",    "Event.IsDone",          "Event.Synchronize",
    "Event.NanosecondsSince", "Stream.Launch",         "Stream.Copy",
    "Stream.Fill",            "Stream.CallHost",       "Stream.Record",
    "Stream.RecordExternal",  "Stream.Wait",           "Stream.IsDone",
    "Stream.Synchronize",     "Stream.BeginCapture",   "Stream.Capture",
    "Stream.EndCapture",      "Stream.CaptureFrontier", "Stream.CapturedOps",
    "Stream.CapturedOpCount",
    "Graph.Instantiate",      "Executable.Launch",     "Executable.Upload",
    "Executable.Update",      "Executable.PatchKernel", "Executable.PatchCopy",
    "Executable.PatchFill",   "Executable.PatchArgumentBytes",
};

// A misspelled name would never fire, and a test that arms it could not fail.
void CheckIsCall(absl::string_view name) {
  GRAPHTREE_CHECK(std::find(std::begin(kCalls), std::end(kCalls), name) != std::end(kCalls))
      << "no call of a device is named \"" << name << "\"";
}

}  // namespace

FaultPlan::OnThisThread::OnThisThread(FaultPlan& plan, FaultPlan& own) : plan_(plan) {
  std::lock_guard<std::mutex> lock(plan_.mutex_);
  const bool first = plan_.own_.emplace(std::this_thread::get_id(), &own).second;
  GRAPHTREE_CHECK(first) << "this thread has a plan of its own already";
}

FaultPlan::OnThisThread::~OnThisThread() {
  std::lock_guard<std::mutex> lock(plan_.mutex_);
  plan_.own_.erase(std::this_thread::get_id());
}

FaultPlan* FaultPlan::Own() const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = own_.find(std::this_thread::get_id());
  return found == own_.end() ? nullptr : found->second;
}

void FaultPlan::FailCall(uint64_t n, ErrorCode code) { Arm("", n, code); }

void FaultPlan::FailCallOf(absl::string_view name, uint64_t n, ErrorCode code) {
  CheckIsCall(name);
  Arm(name, n, code);
}

void FaultPlan::Arm(absl::string_view name, uint64_t n, ErrorCode code) {
  GRAPHTREE_CHECK(n >= 1) << "calls are counted from 1";
  std::lock_guard<std::mutex> lock(mutex_);
  armed_.push_back({std::string(name), n, code});
}

void FaultPlan::FailEveryCallOf(absl::string_view name, ErrorCode code) {
  CheckIsCall(name);
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
  if (FaultPlan* own = Own()) return own->Enter(name);
  std::lock_guard<std::mutex> lock(mutex_);
  ++calls_;
  const uint64_t count = ++counts_[std::string(name)];
  if (count == 1) CheckIsCall(name);
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
  if (const FaultPlan* own = Own()) return own->lost();
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
