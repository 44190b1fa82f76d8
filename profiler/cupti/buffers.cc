// A short list, searched.
#include "profiler/cupti/buffers.h"

#include <algorithm>
#include <new>
#include <utility>

namespace graphtree::cupti {

// Not cleared: CUPTI says how much of it is valid.
std::unique_ptr<uint8_t[]> Buffers::AllocateIfThereIs(size_t bytes) {
  return std::unique_ptr<uint8_t[]>(new (std::nothrow) uint8_t[bytes]);
}

void Buffers::Reset(size_t bytes_each, size_t most) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bytes_each != bytes_each_) buffers_.clear();
  if (buffers_.size() > most) buffers_.resize(most);
  for (Buffer& buffer : buffers_) buffer.is_out = false;
  bytes_each_ = bytes_each;
  most_ = most;
  refused_ = 0;
}

absl::Span<uint8_t> Buffers::Take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto found = std::find_if(buffers_.begin(), buffers_.end(),
                            [](const Buffer& buffer) { return !buffer.is_out; });
  if (found == buffers_.end() && buffers_.size() < most_) {
    std::unique_ptr<uint8_t[]> bytes = allocate_(bytes_each_);
    if (bytes != nullptr) {
      buffers_.push_back({std::move(bytes), false});
      found = buffers_.end() - 1;
    }
  }
  if (found == buffers_.end()) {
    ++refused_;
    return {};
  }
  found->is_out = true;
  return {found->bytes.get(), bytes_each_};
}

void Buffers::GiveBack(const uint8_t* buffer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Buffer& ours : buffers_) {
    if (ours.bytes.get() == buffer) ours.is_out = false;
  }
}

size_t Buffers::out() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<size_t>(std::count_if(buffers_.begin(), buffers_.end(),
                                           [](const Buffer& buffer) { return buffer.is_out; }));
}

size_t Buffers::allocated() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return buffers_.size();
}

uint64_t Buffers::refused() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return refused_;
}

}  // namespace graphtree::cupti
