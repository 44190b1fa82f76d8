// Decides which call of a device fails. Pure bookkeeping: it knows names and counts, no device.
//
//   calls     Device.NewStream  Memory.Reserve  Stream.Launch  Stream.Launch  Stream.Launch
//   of all           1                2               3              4              5
//   of name          1                1               1              2              3
//                                                                    ^
//                             FailCall(4, ...)  or  FailCallOf("Stream.Launch", 2, ...)
//
// A code that kills a device (KillsDevice) is sticky as it is on a real one: every later call gets
// the same status, until Clear. Other faults fire once.
//
// Safe from several threads; two short locks a call. Where several threads share a device and each
// needs faults of its own, OnThisThread lets another plan count and fail one thread's calls:
//
//   thread 0   Enter --> plan                  thread 1   Enter --> plan --OnThisThread--> its own
#ifndef GRAPHTREE_DEVICE_FAULT_FAULT_PLAN_H_
#define GRAPHTREE_DEVICE_FAULT_FAULT_PLAN_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "device/error.h"

namespace graphtree {

class FaultPlan {
 public:
  // As long as this object lives, `own` counts and fails the calls of the thread that made it. One
  // at a time for each thread.
  class OnThisThread {
   public:
    OnThisThread(FaultPlan& plan, FaultPlan& own);
    ~OnThisThread();
    OnThisThread(const OnThisThread&) = delete;
    OnThisThread& operator=(const OnThisThread&) = delete;

   private:
    FaultPlan& plan_;
  };

  FaultPlan() = default;
  FaultPlan(const FaultPlan&) = delete;
  FaultPlan& operator=(const FaultPlan&) = delete;

  // The n-th call from now on fails; 1 is the next one. Several faults may be armed.
  void FailCall(uint64_t n, ErrorCode code);
  // The same, counting only calls of one name ("Stream.Launch"). REQUIRES: there is such a call.
  void FailCallOf(absl::string_view name, uint64_t n, ErrorCode code);
  // Every call of that name fails until Clear. REQUIRES: likewise.
  void FailEveryCallOf(absl::string_view name, ErrorCode code);
  // Disarms every fault and forgets a lost device. The counts go on.
  void Clear();

  // Counts one call. The status is what the call must return instead of doing its work.
  absl::Status Enter(absl::string_view name);

  // The status that lost the device, or OK.
  absl::Status lost() const;
  // Faults that have fired. A lost device's later calls are not counted.
  uint64_t fired() const;
  // The name of the call in which the last fault fired; empty if none did.
  std::string fired_in() const;
  uint64_t calls() const;
  uint64_t calls_of(absl::string_view name) const;
  // Every name that was called, and how often.
  std::map<std::string, uint64_t> counts() const;

 private:
  struct Fault {
    std::string name;  // empty: any call
    uint64_t left;     // fires when this comes down to 0; 0 from the start: at every call
    ErrorCode code;
  };

  void Arm(absl::string_view name, uint64_t n, ErrorCode code);
  // The fault that fires at this call, taken out of the list unless it fires always.
  const Fault* Match(absl::string_view name);
  // The calling thread's own plan; null: this one.
  FaultPlan* Own() const;

  mutable std::mutex mutex_;
  std::map<std::thread::id, FaultPlan*> own_;
  std::vector<Fault> armed_;
  Fault matched_ = {};
  absl::Status lost_;
  uint64_t fired_ = 0;
  std::string fired_in_;
  uint64_t calls_ = 0;
  std::map<std::string, uint64_t> counts_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_FAULT_FAULT_PLAN_H_
