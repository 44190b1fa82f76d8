// The class whose virtual methods are torch's: what a newer torch has beside those of 2.11 is asked
// of its header when this is compiled (GRAPHTREE_TORCH_HAS_..., set by build.py).
#ifndef GRAPHTREE_RUNTIME_TORCH_SHIM_CLASS_H_
#define GRAPHTREE_RUNTIME_TORCH_SHIM_CLASS_H_

#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include "runtime/torch/hold.h"
#include "runtime/torch/region.h"
#include "runtime/torch/side_streams.h"

namespace graphtree::torch_adaptor {

namespace cca = c10::cuda::CUDACachingAllocator;
using c10::DeviceIndex;
using c10::MempoolId_t;

class Shim final : public cca::CUDAAllocator {
 public:
  explicit Shim(cca::CUDAAllocator* under) : under_(under) {}
  cca::CUDAAllocator* under() const { return under_; }

  c10::DataPtr allocate(size_t bytes) override;
  void* raw_alloc(size_t bytes) override;
  void* raw_alloc_with_stream(size_t bytes, cudaStream_t stream) override;
  void raw_delete(void* address) override;
  void recordStream(const c10::DataPtr& data, c10::cuda::CUDAStream stream) override;

  // Torch compares deleters with this one, to know blocks of its own allocator.
  c10::DeleterFnPtr raw_deleter() const override { return under_->raw_deleter(); }

  bool is_simple_data_ptr(const c10::DataPtr& data) const override {
    return under_->is_simple_data_ptr(data);
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    under_->copy_data(to, from, bytes);
  }
  bool initialized() override { return under_->initialized(); }
  void emptyCache(MempoolId_t pool) override { under_->emptyCache(pool); }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(DeviceIndex device) override {
    return under_->getDeviceStats(device);
  }
  void resetAccumulatedStats(DeviceIndex device) override {
    under_->resetAccumulatedStats(device);
  }
  void resetPeakStats(DeviceIndex device) override { under_->resetPeakStats(device); }
  std::pair<size_t, size_t> getMemoryInfo(DeviceIndex device) override {
    return under_->getMemoryInfo(device);
  }
  void init(int devices) override { under_->init(devices); }
  double getMemoryFraction(DeviceIndex device) override {
    return under_->getMemoryFraction(device);
  }
  void setMemoryFraction(double fraction, DeviceIndex device) override {
    under_->setMemoryFraction(fraction, device);
  }
  std::vector<cca::StreamSegmentSize> getExpandableSegmentSizes(DeviceIndex device) override {
    return under_->getExpandableSegmentSizes(device);
  }
  void enable(bool value) override { under_->enable(value); }
  bool isEnabled() const override { return under_->isEnabled(); }
  void cacheInfo(DeviceIndex device, size_t* largest) override {
    under_->cacheInfo(device, largest);
  }
  void* getBaseAllocation(void* address, size_t* size) override {
    return under_->getBaseAllocation(address, size);
  }
  void recordStream(const c10::DataPtr& data, c10::Stream stream) override {
    recordStream(data, c10::cuda::CUDAStream(stream));
  }
  cca::SnapshotInfo snapshot(MempoolId_t pool, bool traces) override {
    return under_->snapshot(pool, traces);
  }
  void beginAllocateToPool(DeviceIndex device, MempoolId_t pool,
                           std::function<bool(cudaStream_t)> filter) override {
    under_->beginAllocateToPool(device, pool, std::move(filter));
  }
  void endAllocateToPool(DeviceIndex device, MempoolId_t pool) override {
    under_->endAllocateToPool(device, pool);
  }
  void releasePool(DeviceIndex device, MempoolId_t pool) override {
    under_->releasePool(device, pool);
  }
  int getPoolUseCount(DeviceIndex device, MempoolId_t pool) override {
    return under_->getPoolUseCount(device, pool);
  }
  void createOrIncrefPool(DeviceIndex device, MempoolId_t pool,
                          std::shared_ptr<CUDAAllocator> allocator) override {
    under_->createOrIncrefPool(device, pool, std::move(allocator));
  }
  void setUseOnOOM(DeviceIndex device, MempoolId_t pool, bool use) override {
    under_->setUseOnOOM(device, pool, use);
  }
  void setNoSplit(DeviceIndex device, MempoolId_t pool) override {
    under_->setNoSplit(device, pool);
  }
  bool checkPoolLiveAllocations(DeviceIndex device, MempoolId_t pool,
                                const std::unordered_set<void*>& expected) override {
    return under_->checkPoolLiveAllocations(device, pool, expected);
  }
  cca::ShareableHandle shareIpcHandle(void* address) override {
    return under_->shareIpcHandle(address);
  }
  std::shared_ptr<void> getIpcDevPtr(std::string handle) override {
    return under_->getIpcDevPtr(std::move(handle));
  }
  bool isHistoryEnabled() override { return under_->isHistoryEnabled(); }
  void recordHistory(bool enabled, cca::CreateContextFn recorder, size_t entries,
                     cca::RecordContext when, bool clear,
                     const std::vector<std::string>& skip) override {
    under_->recordHistory(enabled, recorder, entries, when, clear, skip);
  }
  void recordAnnotation(
      const std::vector<std::pair<std::string, std::string>>& metadata) override {
    under_->recordAnnotation(metadata);
  }
  void pushCompileContext(std::string& metadata) override {
    under_->pushCompileContext(metadata);
  }
  void popCompileContext() override { under_->popCompileContext(); }
  void setUserMetadata(const std::string& metadata) override { under_->setUserMetadata(metadata); }
  std::string getUserMetadata() override { return under_->getUserMetadata(); }
  void attachOutOfMemoryObserver(cca::OutOfMemoryObserver observer) override {
    under_->attachOutOfMemoryObserver(std::move(observer));
  }
  void attachAllocatorTraceTracker(cca::AllocatorTraceTracker tracker) override {
    under_->attachAllocatorTraceTracker(std::move(tracker));
  }
  void enablePeerAccess(DeviceIndex from, DeviceIndex to) override {
    under_->enablePeerAccess(from, to);
  }
  cudaError_t memcpyAsync(void* to, int to_device, const void* from, int from_device,
                          size_t count, cudaStream_t stream, bool p2p) override {
    return under_->memcpyAsync(to, to_device, from, from_device, count, stream, p2p);
  }
  std::shared_ptr<cca::AllocatorState> getCheckpointState(DeviceIndex device,
                                                          MempoolId_t pool) override {
    return under_->getCheckpointState(device, pool);
  }
  cca::CheckpointDelta setCheckpointPoolState(
      DeviceIndex device, std::shared_ptr<cca::AllocatorState> state) override {
    return under_->setCheckpointPoolState(device, std::move(state));
  }
  std::string name() override { return under_->name(); }

#if defined(GRAPHTREE_TORCH_HAS_markCaptureBegin)
  void markCaptureBegin(DeviceIndex device) override { under_->markCaptureBegin(device); }
  void markCaptureEnd(DeviceIndex device) override { under_->markCaptureEnd(device); }
#endif
#if defined(GRAPHTREE_TORCH_HAS_getContextForPointer)
  std::shared_ptr<c10::GatheredContext> getContextForPointer(const void* address) override {
    return under_->getContextForPointer(address);
  }
#endif
#if defined(GRAPHTREE_TORCH_HAS_supportsUserMetadata)
  bool supportsUserMetadata() override { return under_->supportsUserMetadata(); }
#endif
#if defined(GRAPHTREE_TORCH_HAS_annotateMemory)
  void annotateMemory(const void* address, const std::string& metadata) override {
    under_->annotateMemory(address, metadata);
  }
#endif
#if defined(GRAPHTREE_TORCH_HAS_attachOomRejectionObserver)
  void attachOomRejectionObserver(cca::OomRejectionObserver observer) override {
    under_->attachOomRejectionObserver(std::move(observer));
  }
#endif
#if defined(GRAPHTREE_TORCH_HAS_allocateWithAddress)
  c10::DataPtr allocateWithAddress(size_t size, void* address) override {
    return under_->allocateWithAddress(size, address);
  }
#endif

 private:
  cca::CUDAAllocator* const under_;
};

}  // namespace graphtree::torch_adaptor

#endif  // GRAPHTREE_RUNTIME_TORCH_SHIM_CLASS_H_
