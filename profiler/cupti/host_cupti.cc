// Writing records as CUPTI does, and walking over them.
#include "profiler/cupti/host_cupti.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "profiler/cupti/record_layout.h"

namespace graphtree::cupti {
namespace {

size_t BytesOf(uint32_t kind) {
  switch (static_cast<RecordKind>(kind)) {
    case RecordKind::kKernel: return kKernelBytes;
    case RecordKind::kCopy: return kCopyBytes;
    case RecordKind::kFill: return kFillBytes;
  }
  return 0;
}

absl::Status NotSubscribed(const char* doing) {
  return absl::FailedPreconditionError(absl::StrCat(doing, " without being subscribed"));
}

// Never given twice in the process: work of an earlier session may still be queued, with its
// number.
std::atomic<uint32_t> last_correlation{0};
std::atomic<uint32_t> last_executable{0};

void SetDims(const Dim3& from, int32_t (&to)[3]) {
  to[0] = static_cast<int32_t>(from.x);
  to[1] = static_cast<int32_t>(from.y);
  to[2] = static_cast<int32_t>(from.z);
}

}  // namespace

// Tells which device it is.
struct HostCupti::Watcher : public HostWorkWatcher {
  Watcher(HostCupti* owner, Device* device, int number)
      : owner(owner), device(device), number(number) {}

  uint64_t Launching(const void* executable) override {
    uint64_t correlation = 0;
    owner->Launch(executable, /*begins=*/true, &correlation);
    return correlation;
  }
  void Launched(const void* executable) override {
    uint64_t correlation = 0;
    owner->Launch(executable, /*begins=*/false, &correlation);
  }
  void Done(const HostWorkDone& work) override { owner->Done(number, work); }

  HostCupti* const owner;
  Device* const device;
  const int number;
  bool watches = false;
};

HostCupti::HostCupti(std::vector<Device*> devices) {
  for (Device* device : devices) {
    const int number = static_cast<int>(watchers_.size());
    watchers_.push_back(std::make_unique<Watcher>(this, device, number));
  }
}

HostCupti::~HostCupti() { Unsubscribe().IgnoreError(); }

// A device is locked while it tells, so nobody may wait for one with mutex_ held.
absl::Status HostCupti::Subscribe(CuptiEvents* events) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (events_ != nullptr) return absl::FailedPreconditionError("subscribing twice");
    events_ = events;
  }
  for (const auto& watcher : watchers_) {
    const absl::Status status = WatchHostWork(*watcher->device, watcher.get());
    watcher->watches = status.ok();
    if (status.ok()) continue;
    Unsubscribe().IgnoreError();
    return status;
  }
  return absl::OkStatus();
}

absl::Status HostCupti::Unsubscribe() {
  for (const auto& watcher : watchers_) {
    if (!std::exchange(watcher->watches, false)) continue;
    GRAPHTREE_RETURN_IF_ERROR(WatchHostWork(*watcher->device, nullptr));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  events_ = nullptr;
  has_buffers_ = false;
  tells_launches_ = false;
  enabled_.clear();
  buffer_ = {};
  used_ = 0;
  return absl::OkStatus();
}

absl::Status HostCupti::RegisterBuffers() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (events_ == nullptr) return NotSubscribed("registering buffers");
  has_buffers_ = true;
  return absl::OkStatus();
}

absl::Status HostCupti::EnableLaunches(bool on) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (events_ == nullptr) return NotSubscribed("enabling callbacks");
  tells_launches_ = on;
  return absl::OkStatus();
}

absl::Status HostCupti::EnableKind(RecordKind kind) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!has_buffers_) return absl::FailedPreconditionError("enabling a kind without buffers");
  enabled_.insert(kind);
  return absl::OkStatus();
}

absl::Status HostCupti::DisableKind(RecordKind kind) {
  const std::lock_guard<std::mutex> lock(mutex_);
  enabled_.erase(kind);
  return absl::OkStatus();
}

absl::Status HostCupti::Flush(bool all) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (events_ == nullptr) return NotSubscribed("flushing");
  HandOver();
  return absl::OkStatus();
}

uint64_t HostCupti::TakeDropped() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(dropped_, 0);
}

absl::Status HostCupti::Finalize() {
  GRAPHTREE_RETURN_IF_ERROR(Unsubscribe());
  const std::lock_guard<std::mutex> lock(mutex_);
  names_.clear();
  return absl::OkStatus();
}

absl::StatusOr<int64_t> HostCupti::NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

absl::StatusOr<uint32_t> HostCupti::IdOf(const void* executable) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return NumberOf(executable);
}

CuptiApi::Step HostCupti::Next(uint8_t* buffer, size_t valid_bytes, uint8_t** record) {
  uint8_t* const end = buffer + valid_bytes;
  uint8_t* next = buffer;
  uint32_t kind = 0;
  if (*record != nullptr) {
    std::memcpy(&kind, *record, sizeof(kind));
    if (BytesOf(kind) == 0) return Step::kBroken;
    next = *record + BytesOf(kind);
  }
  if (next == end) return Step::kEnd;
  if (next > end) return Step::kBroken;
  *record = next;
  return Step::kRecord;
}

uint32_t HostCupti::NumberOf(const void* executable) {
  const auto [place, is_new] = ids_.try_emplace(executable, 0);
  if (is_new) place->second = ++last_executable;
  return place->second;
}

void HostCupti::Launch(const void* executable, bool begins, uint64_t* correlation) {
  CuptiEvents* events = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (begins) correlation_ = ++last_correlation;
    *correlation = correlation_;
    if (tells_launches_) events = events_;
  }
  if (events != nullptr) events->GraphLaunch({begins, *correlation, executable});
}

void HostCupti::HandOver() {
  if (buffer_.empty()) return;
  events_->BufferFull(buffer_.data(), used_, std::exchange(dropped_, 0));
  buffer_ = {};
  used_ = 0;
}

template <typename Record>
void HostCupti::Write(RecordKind kind, const Record& record, size_t bytes) {
  if (enabled_.count(kind) == 0) return;
  if (!buffer_.empty() && used_ + bytes > buffer_.size()) HandOver();
  if (buffer_.empty()) {
    buffer_ = events_->TakeBuffer();
    if (buffer_.size() < bytes) {
      if (!buffer_.empty()) HandOver();
      ++dropped_;
      return;
    }
  }
  uint8_t* const to = buffer_.data() + used_;
  std::memcpy(to, &record, sizeof(record));
  std::memset(to + sizeof(record), 0, bytes - sizeof(record));
  used_ += bytes;
}

void HostCupti::Done(int device, const HostWorkDone& work) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto fill = [&](auto record) {
    record.start = static_cast<uint64_t>(work.start_ns);
    record.end = static_cast<uint64_t>(work.end_ns);
    record.device = static_cast<uint32_t>(device);
    record.context = 1;
    record.stream = work.stream;
    record.correlation = static_cast<uint32_t>(work.launch);
    if (work.executable == nullptr) {
      record.correlation = ++last_correlation;
    } else {
      record.graph = NumberOf(work.executable);
      record.graph_node = uint64_t{record.graph} << 32 | work.op;
    }
    return record;
  };
  if (work.kind == OpKind::kKernel) {
    KernelRecord record = fill(KernelRecord());
    SetDims(work.shape.grid, record.grid);
    SetDims(work.shape.block, record.block);
    record.dynamic_shared = static_cast<int32_t>(work.shape.shared_bytes);
    record.name = names_.emplace(work.name).first->c_str();
    Write(RecordKind::kKernel, record, kKernelBytes);
  } else if (work.kind == OpKind::kCopy) {
    CopyRecord record = fill(CopyRecord());
    record.copy_kind = 9;
    record.bytes = work.bytes;
    Write(RecordKind::kCopy, record, kCopyBytes);
  } else if (work.kind == OpKind::kFill) {
    FillRecord record = fill(FillRecord());
    record.value = work.fill_value;
    record.bytes = work.bytes;
    Write(RecordKind::kFill, record, kFillBytes);
  }
}

}  // namespace graphtree::cupti
