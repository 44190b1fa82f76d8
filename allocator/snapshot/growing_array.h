// GrowingArray: a contiguous array of plain values that grows without copying.
//
// A snapshot's columns reach gigabytes. std::vector doubles by allocating a second array and
// copying, so at its worst moment it holds three times what it stores. This one moves page-table
// entries instead of bytes once it is large (large_memory.h); pages that were reserved and never
// written cost no memory. Values must be trivially copyable.
//
// Not safe for concurrent use. Push is amortised constant time.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_GROWING_ARRAY_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_GROWING_ARRAY_H_

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/types/span.h"
#include "allocator/snapshot/large_memory.h"
#include "device/base/check.h"

namespace graphtree::snapshot {

template <typename T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingArray() = default;
  GrowingArray(const GrowingArray&) = delete;
  GrowingArray& operator=(const GrowingArray&) = delete;
  GrowingArray(GrowingArray&& other) noexcept { Swap(other); }
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    Swap(other);
    return *this;
  }
  ~GrowingArray() { FreeMemory(data_, bytes_); }

  void Push(const T& value) {
    if (__builtin_expect(size_ == capacity_, false)) Grow(size_ + 1);
    data_[size_++] = value;
  }
  void Append(const T* values, size_t count) {
    if (count == 0) return;
    if (count > capacity_ - size_) Grow(size_ + count);
    std::memcpy(static_cast<void*>(data_ + size_), values, count * sizeof(T));
    size_ += count;
  }
  void Resize(size_t size, const T& fill) {
    if (size > capacity_) Grow(size);
    for (size_t i = size_; i < size; ++i) data_[i] = fill;
    size_ = size;
  }
  // Makes room for `size` values; pages cost no memory before values are written there.
  void Reserve(size_t size) {
    if (size > capacity_) Allocate(size);
  }
  void Truncate(size_t size) { size_ = size; }
  void Clear() {
    FreeMemory(data_, bytes_);
    data_ = nullptr;
    size_ = capacity_ = bytes_ = 0;
  }

  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  absl::Span<const T> span() const { return {data_, size_}; }
  size_t bytes() const { return size_ * sizeof(T); }

 private:
  void Swap(GrowingArray& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(bytes_, other.bytes_);
  }
  void Grow(size_t needed) {
    const size_t wanted = capacity_ + capacity_ / 2 + 16;
    Allocate(wanted < needed ? needed : wanted);
  }
  void Allocate(size_t capacity) {
    const size_t bytes = RoundedBytes(capacity * sizeof(T));
    void* const data = GrowMemory(data_, bytes_, bytes);
    GRAPHTREE_CHECK(data != nullptr) << "no memory for " << bytes << " bytes";
    data_ = static_cast<T*>(data);
    bytes_ = bytes;
    capacity_ = bytes / sizeof(T);
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  size_t bytes_ = 0;  // the memory of the capacity
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_GROWING_ARRAY_H_
