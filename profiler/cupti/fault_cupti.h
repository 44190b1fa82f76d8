// A CuptiApi that wraps another, fails the n-th call that changes something, and knows what is on.
#ifndef GRAPHTREE_PROFILER_CUPTI_FAULT_CUPTI_H_
#define GRAPHTREE_PROFILER_CUPTI_FAULT_CUPTI_H_

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "profiler/cupti/cupti_api.h"

namespace graphtree::cupti {

// What the calls of one FaultCupti have done. Outlives it.
struct CuptiCalls {
  int fail_at = 0;  // the number of the call, from 1; 0: none fails
  int made = 0;
  std::string failed = {};  // its name
  CuptiEvents* events = nullptr;
  bool tells_launches = false;
  std::set<RecordKind> enabled = {};
  int finalized = 0;
  int unsubscribed = 0;

  bool all_off() const { return events == nullptr && !tells_launches && enabled.empty(); }
  void Gone() {
    events = nullptr;
    tells_launches = false;
    enabled.clear();
  }
};

class FaultCupti final : public CuptiApi {
 public:
  FaultCupti(std::unique_ptr<CuptiApi> wrapped, CuptiCalls* calls)
      : wrapped_(std::move(wrapped)), calls_(*calls) {}

  std::string name() const override { return wrapped_->name(); }
  absl::Status Subscribe(CuptiEvents* events) override {
    GRAPHTREE_RETURN_IF_ERROR(Enter("Subscribe"));
    GRAPHTREE_RETURN_IF_ERROR(wrapped_->Subscribe(events));
    calls_.events = events;
    return absl::OkStatus();
  }
  absl::Status Unsubscribe() override {
    GRAPHTREE_RETURN_IF_ERROR(Enter("Unsubscribe"));
    ++calls_.unsubscribed;
    calls_.Gone();
    return wrapped_->Unsubscribe();
  }
  absl::Status RegisterBuffers() override {
    GRAPHTREE_RETURN_IF_ERROR(Enter("RegisterBuffers"));
    return wrapped_->RegisterBuffers();
  }
  absl::Status EnableLaunches(bool on) override {
    GRAPHTREE_RETURN_IF_ERROR(Enter("EnableLaunches"));
    calls_.tells_launches = on;
    return wrapped_->EnableLaunches(on);
  }
  absl::Status EnableKind(RecordKind kind) override {
    GRAPHTREE_RETURN_IF_ERROR(Enter("EnableKind"));
    calls_.enabled.insert(kind);
    return wrapped_->EnableKind(kind);
  }
  absl::Status DisableKind(RecordKind kind) override {
    GRAPHTREE_RETURN_IF_ERROR(Enter("DisableKind"));
    calls_.enabled.erase(kind);
    return wrapped_->DisableKind(kind);
  }
  absl::Status Flush(bool all) override {
    GRAPHTREE_RETURN_IF_ERROR(Enter("Flush"));
    return wrapped_->Flush(all);
  }
  uint64_t TakeDropped() override { return wrapped_->TakeDropped(); }
  absl::Status Finalize() override {
    GRAPHTREE_RETURN_IF_ERROR(Enter("Finalize"));
    ++calls_.finalized;
    calls_.Gone();
    return wrapped_->Finalize();
  }
  absl::StatusOr<int64_t> NowNs() override { return wrapped_->NowNs(); }
  absl::StatusOr<uint32_t> IdOf(const void* executable) override {
    return wrapped_->IdOf(executable);
  }
  absl::StatusOr<uint32_t> IdOf(const Stream& stream) override { return wrapped_->IdOf(stream); }
  Step Next(uint8_t* buffer, size_t valid_bytes, uint8_t** record) override {
    return wrapped_->Next(buffer, valid_bytes, record);
  }

 private:
  absl::Status Enter(const char* call) {
    if (++calls_.made != calls_.fail_at) return absl::OkStatus();
    calls_.failed = call;
    return absl::InternalError(absl::StrCat(call, " fails, as call ", calls_.made));
  }

  const std::unique_ptr<CuptiApi> wrapped_;
  CuptiCalls& calls_;
};

}  // namespace graphtree::cupti

#endif  // GRAPHTREE_PROFILER_CUPTI_FAULT_CUPTI_H_
