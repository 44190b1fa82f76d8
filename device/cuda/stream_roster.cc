// Destroys retired streams once they are idle. REQUIRES of callers: the context is current, and the
// thread's capture mode is relaxed, as querying a stream is forbidden during some captures.
#include "device/cuda/stream_roster.h"

#include <algorithm>

namespace graphtree {
namespace {

bool IsCapturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess) cudaGetLastError();
  return status != cudaStreamCaptureStatusNone;
}

// A capturing stream counts as busy: asking it would spoil the capture. An error counts as idle:
// nothing will run on the stream any more.
bool IsIdle(cudaStream_t stream) {
  if (IsCapturing(stream)) return false;
  const cudaError_t error = cudaStreamQuery(stream);
  if (error != cudaSuccess) cudaGetLastError();
  return error != cudaErrorNotReady;
}

void Destroy(cudaStream_t stream) {
  if (cudaStreamDestroy(stream) != cudaSuccess) cudaGetLastError();
}

}  // namespace

void StreamRoster::Joined(cudaStream_t stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  in_use_.insert(stream);
}

void StreamRoster::Retire(cudaStream_t stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  in_use_.erase(stream);
  retired_.push_back(stream);
  const auto idle = std::partition(retired_.begin(), retired_.end(),
                                   [](cudaStream_t one) { return !IsIdle(one); });
  std::for_each(idle, retired_.end(), Destroy);
  retired_.erase(idle, retired_.end());
}

cudaError_t StreamRoster::DrainAll() {
  std::lock_guard<std::mutex> lock(mutex_);
  cudaError_t first = cudaSuccess;
  const auto wait = [&first](cudaStream_t stream) {
    if (IsCapturing(stream)) return;
    const cudaError_t error = cudaStreamSynchronize(stream);
    if (first == cudaSuccess) first = error;
  };
  std::for_each(in_use_.begin(), in_use_.end(), wait);
  for (cudaStream_t stream : retired_) {
    wait(stream);
    Destroy(stream);
  }
  retired_.clear();
  return first;
}

}  // namespace graphtree
