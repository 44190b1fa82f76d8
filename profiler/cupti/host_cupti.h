// CUPTI's stand-in for host devices: what CUPTI does for a GPU, it does for the ops that they
// really run. So decoder, buffers, feed and session run where there is no GPU, on true times.
//
//   host device --Launching--> the callback of a launch, with a correlation number
//               --Done-------> a binary record of CUDA 13.0 in the buffer that is being filled
//
// It writes names into memory of its own and frees them when it is finalized, as CUPTI does. Ids of
// executables count from 1, and stay when it comes again.
//
// Threads: as CuptiApi says. The devices must outlive it.
#ifndef GRAPHTREE_PROFILER_CUPTI_HOST_CUPTI_H_
#define GRAPHTREE_PROFILER_CUPTI_HOST_CUPTI_H_

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_set.h"
#include "absl/types/span.h"
#include "device/device.h"
#include "device/host/work_watch.h"
#include "device/stream.h"
#include "profiler/cupti/cupti_api.h"

namespace graphtree::cupti {

class HostCupti final : public CuptiApi {
 public:
  explicit HostCupti(std::vector<Device*> devices);
  ~HostCupti() override;

  std::string name() const override { return "the host's stand-in for CUPTI"; }
  absl::Status Subscribe(CuptiEvents* events) override;
  absl::Status Unsubscribe() override;
  absl::Status RegisterBuffers() override;
  absl::Status EnableLaunches(bool on) override;
  absl::Status EnableKind(RecordKind kind) override;
  absl::Status DisableKind(RecordKind kind) override;
  absl::Status Flush(bool all) override;
  uint64_t TakeDropped() override;
  absl::Status Finalize() override;
  absl::StatusOr<int64_t> NowNs() override;
  absl::StatusOr<uint32_t> IdOf(const void* executable) override;
  absl::StatusOr<uint32_t> IdOf(const Stream& stream) override { return HostStreamNumber(stream); }
  Step Next(uint8_t* buffer, size_t valid_bytes, uint8_t** record) override;

 private:
  struct Watcher;

  void Launch(const void* executable, bool begins, uint64_t* correlation);
  void Done(int device, const HostWorkDone& work);
  // With the lock:
  uint32_t NumberOf(const void* executable);
  template <typename Record>
  void Write(RecordKind kind, const Record& record, size_t bytes);
  void HandOver();

  std::vector<std::unique_ptr<Watcher>> watchers_;
  std::mutex mutex_;
  // Guarded by mutex_:
  CuptiEvents* events_ = nullptr;  // changed only while nobody watches
  bool has_buffers_ = false;
  bool tells_launches_ = false;
  std::set<RecordKind> enabled_;
  absl::Span<uint8_t> buffer_;
  size_t used_ = 0;
  uint64_t dropped_ = 0;
  uint32_t correlation_ = 0;
  absl::flat_hash_map<const void*, uint32_t> ids_;
  absl::node_hash_set<std::string> names_;
};

}  // namespace graphtree::cupti

#endif  // GRAPHTREE_PROFILER_CUPTI_HOST_CUPTI_H_
